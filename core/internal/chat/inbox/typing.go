package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Typing takes a channel's hint that a person is writing, or has stopped. It counts only where a message without a mention would be
// answered: who may not write starts nothing. Nothing is stored, and nobody gets an answer.
func (in *Inbox) Typing(ctx context.Context, channel string, t chat.Typing) error {
	e := chat.Event{Chat: t.Chat, Thread: t.Thread, Sender: t.Sender, At: in.now(), Body: chat.Message{}}
	m := domain.Message{Channel: channel, Chat: e.Chat, Thread: e.Thread, Sender: e.Sender, SentAt: e.At}
	a, err := in.authorise(ctx, e, m)
	if err != nil || a.access.Action != access.Let || in.denies(a.chosen, a.key, a.message) {
		return err
	}
	return in.typing(ctx, a, t.Stopped)
}

// typing expects the turn of a message that is being written, if its conversation goes on with it.
func (in *Inbox) typing(ctx context.Context, a arrival, stopped bool) error {
	if stopped {
		return nil
	}
	s, err := in.store.Session(ctx, a.key)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up a session: %w", err)
	}
	ends := expiry(a.settings.Session, a.name.Type(), in.now(), in.options.Zone)
	if !s.ClaudeStarted || !ends.Reached(s.ResetAt, s.InteractedAt, in.now()) {
		in.options.Early.Expect(a.key, a.message)
	}
	return nil
}

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
// answered: who may not write starts nothing. The hint is not stored, and nobody gets an answer; a message of the person that waits for
// more waits longer.
func (in *Inbox) Typing(ctx context.Context, channel string, t chat.Typing) error {
	a, err := in.writing(ctx, channel, chat.Event{Chat: t.Chat, Thread: t.Thread, Sender: t.Sender, Body: chat.Message{}})
	if err != nil || a == nil {
		return err
	}
	until, waits := in.options.Debounce.Typing(a.settings.Inbound, a.key, channel, t.Sender.ID, t.Stopped, in.options.Turns.Busy(a.key), in.now())
	if waits {
		if err := in.store.Linger(ctx, a.key, string(t.Sender.ID), until); err != nil {
			return fmt.Errorf("wait for more: %w", err)
		}
	}
	if t.Stopped {
		return nil
	}
	return in.expect(ctx, *a)
}

// writing returns a message that somebody may be writing, with what applies to it; nil: it would not be answered.
func (in *Inbox) writing(ctx context.Context, channel string, e chat.Event) (*arrival, error) {
	e.At = in.now()
	m := domain.Message{Channel: channel, Chat: e.Chat, Thread: e.Thread, Sender: e.Sender, SentAt: e.At}
	a, err := in.authorise(ctx, e, m)
	if err != nil || a.access.Action != access.Let || in.denies(a.chosen, a.key, a.message) {
		return nil, err
	}
	return &a, nil
}

// expect expects the turn of a message that is being written, unless its conversation has expired.
func (in *Inbox) expect(ctx context.Context, a arrival) error {
	s, err := in.store.Session(ctx, a.key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("look up a session: %w", err)
	}
	ends := expiry(a.settings.Session, a.name.Type(), in.now(), in.options.Zone)
	if !s.ClaudeStarted || !ends.Reached(s.ResetAt, s.InteractedAt, in.now()) {
		in.options.Early.Expect(a.key, a.message)
	}
	return nil
}

package view

import (
	"context"
	"errors"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxNotified bounds how many notified conversations are remembered.
const maxNotified = 1000

// notified remembers which conversations got a notice.
type notified struct {
	mu     sync.Mutex
	before map[string]bool // by claude session
}

// first records that a conversation gets its notice, and reports whether it is the first.
func (n *notified) first(conversation string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.before[conversation] {
		return false
	}
	if n.before == nil || len(n.before) >= maxNotified {
		n.before = map[string]bool{}
	}
	n.before[conversation] = true
	return true
}

// spoken returns an item with the spoken part of an answer, or with a sentence that it could not be spoken. A chat without
// sound gets nothing.
func (vs *Views) spoken(ctx context.Context, run *conversation.Run, said answer.Answer, limits []chat.MediaLimit) []domain.OutboxItem {
	m := run.Head.Message
	text := speech.Spoken(run.Speech, speech.Heard(m.Media), said)
	if text == "" {
		return nil
	}
	voice, err := vs.options.Speaker.Speak(ctx, m, text, limits)
	switch {
	case err == nil:
		return []domain.OutboxItem{{To: m.Address(), Media: []chat.Media{voice}}}
	case errors.Is(err, speech.ErrNoSound):
		vs.log.Debug("an answer is not spoken", "session", run.Session.Key, "error", err)
		return nil
	}
	vs.log.Warn("an answer could not be spoken", "session", run.Session.Key, "error", err)
	if ctx.Err() != nil || !vs.unspoken.first(run.Head.ClaudeSession) {
		return nil
	}
	return run.Notice(wording.SpeechFailed)
}

package core

import (
	"context"
	"errors"
	"sync"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/sdk/chat"
)

// unspoken is what a chat is told of an answer that the command could not speak.
const unspoken = "I could not speak this answer, because the command in `media.speak` failed; the host's log says why. " +
	"I say so once in a conversation. `/tts off` ends the attempts."

// maxToldOf is how many conversations are remembered that were told.
const maxToldOf = 1000

// once remembers the conversations that were told something.
type once struct {
	mu   sync.Mutex
	told map[string]bool // by claude session
}

// first tells whether a conversation was not told yet, and takes it for told.
func (o *once) first(conversation string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told[conversation] {
		return false
	}
	if o.told == nil || len(o.told) >= maxToldOf {
		o.told = map[string]bool{}
	}
	o.told[conversation] = true
	return true
}

// spoken makes an item of what is to be spoken of an answer, or of a sentence that it could not be. A chat that takes no sound gets
// nothing.
func (h *Host) spoken(ctx context.Context, run *conversation.Turn, said answer.Answer, limits []chat.MediaLimit) []domain.OutboxItem {
	m := run.Message.Message
	text := media.Spoken(run.Speech, media.Heard(m.Media), said)
	if text == "" {
		return nil
	}
	voice, err := h.media.speaker.Speak(ctx, m.Channel, text, limits)
	switch {
	case err == nil:
		return []domain.OutboxItem{{To: m.Address(), Media: []chat.Media{voice}}}
	case errors.Is(err, media.ErrNoSound):
		h.log.Debug("an answer is not spoken", "session", run.Session.Key, "error", err)
		return nil
	}
	h.log.Warn("an answer could not be spoken", "session", run.Session.Key, "error", err)
	if ctx.Err() != nil || !h.mute.first(run.Message.ClaudeSession) {
		return nil
	}
	return run.Notice(unspoken)
}

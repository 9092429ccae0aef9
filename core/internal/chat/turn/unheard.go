package turn

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// tellUnheard tells a run's chat, once in a conversation, that a voice message in a prompt is not transcribed.
func (h *Handler) tellUnheard(ctx context.Context, run *conversation.Run, p prompt.Prompt) error {
	if !p.Unheard {
		return nil
	}
	items := h.notice(run, wording.VoiceUnheard)
	if len(items) == 0 {
		return nil
	}
	if _, err := h.options.Store.Post(ctx, domain.KeyUnheard.Of(run.Head.ClaudeSession), items...); err != nil {
		return fmt.Errorf("tell that voice messages are not transcribed: %w", err)
	}
	return nil
}

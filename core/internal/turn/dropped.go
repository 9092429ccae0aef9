package turn

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/conversation"
)

// tellDropped tells the chat how many of its messages were dropped because too many waited: of each once, whichever runs get the
// notes of it. Claude is told how they began.
func (h *Handler) tellDropped(ctx context.Context, run *conversation.Turn) error {
	if run.Dropped == 0 {
		return nil
	}
	text := fmt.Sprintf("%d messages were dropped, because too many waited. Claude is told how they began.", run.Dropped)
	if run.Dropped == 1 {
		text = "1 message was dropped, because too many waited. Claude is told how it began."
	}
	items := h.notice(run, text)
	if len(items) == 0 {
		return nil
	}
	return h.options.Store.NotifyDropped(ctx, run.ID, items...)
}

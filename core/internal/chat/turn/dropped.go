package turn

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// tellDropped tells the chat how many of its messages were dropped because too many waited, each once, whichever runs
// get their notes. Claude learns how they began.
func (h *Handler) tellDropped(ctx context.Context, run *conversation.Run) error {
	if run.Dropped == 0 {
		return nil
	}
	items := h.notice(run, wording.Dropped(run.Dropped))
	if len(items) == 0 {
		return nil
	}
	return h.options.Store.NotifyDropped(ctx, run.ID, items...)
}

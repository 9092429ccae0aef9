package turn

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// tellDropped tells the chat how many of its messages were dropped because too many waited: once, whichever runs get the notes of
// it, and again where more were dropped since. Claude is told how they began.
func (h *Handler) tellDropped(ctx context.Context, run *conversation.Turn) error {
	dropped := 0
	for _, n := range run.Notes {
		if n.Kind == domain.NoteOverflow {
			dropped += n.Count
		}
	}
	if dropped == 0 {
		return nil
	}
	text := fmt.Sprintf("%d messages were dropped, because too many waited. Claude is told how they began.", dropped)
	if dropped == 1 {
		text = "1 message was dropped, because too many waited. Claude is told how it began."
	}
	pieces := h.notice(run, text)
	if len(pieces) == 0 {
		return nil
	}
	if _, err := h.options.Store.Post(ctx, fmt.Sprintf("dropped:%s:%d", run.Session.Key, run.Dropped), pieces...); err != nil {
		return fmt.Errorf("tell of dropped messages: %w", err)
	}
	return nil
}

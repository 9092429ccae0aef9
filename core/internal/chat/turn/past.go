package turn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/normalise"
	"github.com/clawhost/clawhost/sdk/chat"
)

// pastTimeout bounds how long an answer waits for what was said before the agent came.
const pastTimeout = 3 * time.Second

// recall adds to the first turn of a group or thread what was said there before, within the group's limit.
func (h *Handler) recall(ctx context.Context, run *conversation.Run) error {
	m := run.Head.Message
	if run.History == 0 || m.ID == "" || m.Origin != "" || !run.PreviousAt.IsZero() || !run.Head.ConsumedAt.IsZero() {
		return nil
	}
	limit, known := run.History, map[chat.MessageID]bool{}
	for _, n := range run.Notes {
		if n.Kind == domain.NoteHistory {
			limit--
			known[n.MessageID] = true
		}
	}
	if limit <= 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	events, err := h.options.Plugins.History(within, m.Address(), m.ID, run.History)
	if err != nil {
		h.log.Info("what was said before the agent came cannot be read", "session", run.Session.Key, "error", err)
	}
	notes := slices.DeleteFunc(normalise.History(m.Channel, events), func(n domain.Note) bool { return known[n.MessageID] })
	if notes = notes[max(0, len(notes)-limit):]; len(notes) == 0 {
		return nil
	}
	if err := h.options.Store.NotePast(ctx, run.ID, notes); err != nil {
		return fmt.Errorf("note what was said before: %w", err)
	}
	run.Notes = slices.Concat(notes, run.Notes) // of two of the same time, the past one came first
	return nil
}

package turn

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// watcher follows the turn of a run and has its questions answered.
type watcher struct {
	handler  *Handler
	run      *conversation.Run
	view     *view.View
	tools    *tools.Turn
	consumed atomic.Bool    // Claude has read the message
	marks    sync.WaitGroup // the consumption marks being written
}

// Consumed implements [agent.Watcher]. The mark in the store only speeds up a recovery: its failure does not
// end the turn, and the end of the turn does not cancel it.
func (w *watcher) Consumed(ctx context.Context) {
	w.consumed.Store(true)
	w.marks.Go(func() {
		err := w.handler.options.Store.Consumed(context.WithoutCancel(ctx), w.run.ID)
		if err != nil && !errors.Is(err, domain.ErrFenced) {
			w.handler.log.Warn("cannot mark a message as consumed", "run", w.run.ID, "error", err)
		}
	})
}

// Progress implements [agent.Watcher].
func (w *watcher) Progress(p agent.Progress) { w.view.Progress(p) }

// Ask implements [agent.Asker].
func (w *watcher) Ask(ctx context.Context, q agent.Question) agent.Decision {
	decision := w.handler.options.Questions.Ask(ctx, w.run, q)
	if decision.Allow && q.Tool == tools.JobsTool {
		w.tools.Permit(q.ToolUseID)
	}
	return decision
}

package turn

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// attendant follows the turn of a run and has its questions answered.
type attendant struct {
	handler  *Handler
	run      *conversation.Turn
	view     View
	consumed atomic.Bool    // Claude has read the message
	marks    sync.WaitGroup // the consumption marks being written
}

// Consumed implements [agent.Watcher]. The mark in the store only speeds up a recovery: its failure does not
// end the turn, and the end of the turn does not cancel it.
func (a *attendant) Consumed(ctx context.Context) {
	a.consumed.Store(true)
	a.marks.Go(func() {
		err := a.handler.options.Store.Consumed(context.WithoutCancel(ctx), a.run.ID)
		if err != nil && !errors.Is(err, domain.ErrFenced) {
			a.handler.log.Warn("cannot mark a message as consumed", "run", a.run.ID, "error", err)
		}
	})
}

// Progress implements [agent.Watcher].
func (a *attendant) Progress(p agent.Progress) { a.view.Progress(p) }

// Ask implements [agent.Asker].
func (a *attendant) Ask(ctx context.Context, q agent.Question) agent.Decision {
	return a.handler.options.Questions.Ask(ctx, a.run, q)
}

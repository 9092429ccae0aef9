package turn

import (
	"context"
	"errors"
	"slices"
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
	marks    sync.WaitGroup // the marks and lists being written

	mu      sync.Mutex
	todos   []domain.Todo // the last list
	keeping bool          // it is being written
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
func (w *watcher) Progress(p agent.Progress) {
	w.view.Progress(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Todos == nil || slices.Equal(p.Todos, w.todos) {
		return
	}
	w.todos = p.Todos
	if !w.keeping {
		w.keeping = true
		w.marks.Go(w.keep)
	}
}

// Todos implements [agent.Watcher].
func (w *watcher) Todos() []domain.Todo {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.todos
}

// forget forgets the list: the run is in a new conversation. Nothing is being written.
func (w *watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todos = nil
}

// keep records the last list, until it is the last one. A failure does not end the turn.
func (w *watcher) keep() {
	for {
		list := w.Todos()
		// The list outlives a turn that is stopped. What waits for marks bounds it.
		err := w.handler.options.Store.SetTodos(context.Background(), w.run.ID, list)
		if err != nil && !errors.Is(err, domain.ErrFenced) {
			w.handler.log.Warn("cannot record what the agent plans to do", "run", w.run.ID, "error", err)
		}
		w.mu.Lock()
		last := slices.Equal(list, w.todos)
		if last {
			w.keeping = false
		}
		w.mu.Unlock()
		if last {
			return
		}
	}
}

// Ask implements [agent.Asker].
func (w *watcher) Ask(ctx context.Context, q agent.Question) agent.Decision {
	decision := w.handler.options.Questions.Ask(ctx, w.run, q)
	if decision.Allow && q.Tool == tools.JobsTool {
		w.tools.Permit(q.ToolUseID, q.Input)
	}
	return decision
}

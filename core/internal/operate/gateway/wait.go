package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// question identifies the turn of a question.
type question struct {
	session string
	channel string
	key     domain.Key
}

// waiters are the callers that wait for the turns of questions. The zero waiters are none. They are safe for concurrent use.
type waiters struct {
	count atomic.Int64 // spares other turns the lock

	mu  sync.Mutex
	all map[string][]*waiter // by session
}

// waiter waits for the turn of a question, whenever it runs, and follows its progress.
type waiter struct {
	question
	message string        // the question's, by its id for Claude
	news    chan struct{} // receives when there is new progress; one value may stand for many

	// Guarded by the mutex of the waiters.
	latest agent.Progress
	hold   hold
	ending chan struct{} // closed when the turn has been stopped because no other caller waits; nil: it is not being stopped
}

// hold is why a session's turns cannot begin or end yet; zero: nothing prevents it.
type hold struct {
	why  string
	wait time.Duration // until it is tried again
}

// join adds a caller. If the turn is being stopped, join first waits for the end of that.
func (ws *waiters) join(ctx context.Context, of question) (*waiter, error) {
	w := &waiter{question: of, message: domain.MessageUUID(of.channel, of.key.EventID()), news: make(chan struct{}, 1)}
	for {
		ending := ws.enter(w)
		if ending == nil {
			return w, nil
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// enter adds a caller, unless it returns a channel to wait for.
func (ws *waiters) enter(w *waiter) (ending <-chan struct{}) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, other := range ws.all[w.session] {
		if other.question == w.question && other.ending != nil {
			return other.ending
		}
	}
	if ws.all == nil {
		ws.all = map[string][]*waiter{}
	}
	ws.all[w.session] = append(ws.all[w.session], w)
	ws.count.Add(1)
	return nil
}

// leave removes a caller, unless it returns true: the turn is unwanted, and no other caller waits for it. Then the caller has to stop
// the turn and to call stopped.
func (ws *waiters) leave(w *waiter, unwanted bool) (last bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	another := func(other *waiter) bool { return other != w && other.question == w.question }
	if unwanted && !slices.ContainsFunc(ws.all[w.session], another) {
		w.ending = make(chan struct{})
		return true
	}
	ws.remove(w)
	return false
}

// stopped removes a caller that has stopped its turn.
func (ws *waiters) stopped(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	close(w.ending)
	ws.remove(w)
}

func (ws *waiters) remove(w *waiter) {
	ws.count.Add(-1)
	left := slices.DeleteFunc(ws.all[w.session], func(other *waiter) bool { return other == w })
	if ws.all[w.session] = left; len(left) == 0 {
		delete(ws.all, w.session)
	}
}

// progress returns the latest progress of a caller's turn, and why the turn, or one before it, cannot begin or end yet.
func (ws *waiters) progress(w *waiter) (agent.Progress, hold) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return w.latest, w.hold
}

// Progress passes the progress of a message's turn on, by the message's id for Claude. It does not block.
func (ws *waiters) Progress(session, message string, p agent.Progress) {
	ws.tell(session, func(w *waiter) bool {
		freed := w.hold != hold{}
		if w.hold = (hold{}); w.message != message {
			return freed
		}
		w.latest = p
		return true
	})
}

// Held passes on why a session's turns cannot begin or end yet. That holds until the next progress of one of them. It does not
// block.
func (ws *waiters) Held(session, why string, wait time.Duration) {
	ws.tell(session, func(w *waiter) bool {
		w.hold = hold{why, wait}
		return true
	})
}

// tell calls note for each caller that waits in a session. If note returns true, the caller's news receive a value.
func (ws *waiters) tell(session string, note func(*waiter) (news bool)) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.all[session] {
		if !note(w) {
			continue
		}
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
}

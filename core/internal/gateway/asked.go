package gateway

import (
	"context"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// question identifies the turn of a question.
type question struct {
	session string
	channel string
	key     domain.Key
}

// asked counts the callers that wait for each question. The zero value is ready for use.
type asked struct {
	mu   sync.Mutex
	open map[question]*askers
}

// askers are the callers that wait for the answer to one question.
type askers struct {
	count  int
	ending chan struct{} // closed when its turn has been stopped because nobody waits any more; nil: it is not being stopped
}

// join adds a caller. If the turn is being stopped, join first waits for the end of that.
func (a *asked) join(ctx context.Context, of question) error {
	for {
		ending := a.enter(of)
		if ending == nil {
			return nil
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enter adds a caller, unless it returns a channel to wait for.
func (a *asked) enter(of question) (ending <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	there := a.open[of]
	switch {
	case there == nil:
		if a.open == nil {
			a.open = map[question]*askers{}
		}
		a.open[of] = &askers{count: 1}
	case there.ending != nil:
		return there.ending
	default:
		there.count++
	}
	return nil
}

// leave removes a caller. For the last one it calls stop to end the turn; nil: the turn goes on, or has ended.
func (a *asked) leave(of question, stop func()) {
	a.mu.Lock()
	there := a.open[of]
	if there.count--; there.count > 0 {
		a.mu.Unlock()
		return
	}
	if stop != nil {
		there.ending = make(chan struct{})
		a.mu.Unlock()
		stop()
		close(there.ending)
		a.mu.Lock()
	}
	delete(a.open, of)
	a.mu.Unlock()
}

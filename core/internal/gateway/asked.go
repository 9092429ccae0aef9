package gateway

import (
	"context"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/store"
)

// question identifies the turn of a question.
type question struct {
	session string
	channel string
	key     domain.Key
}

// message is the id of the question's message for Claude.
func (q question) message() string { return store.MessageUUID(q.channel, q.key.EventID()) }

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

// leave removes a caller. It returns true if the turn is unwanted and this was the last one, who then has to stop the turn and to
// call stopped.
func (a *asked) leave(of question, unwanted bool) (last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	there := a.open[of]
	there.count--
	switch {
	case there.count > 0:
		return false
	case unwanted:
		there.ending = make(chan struct{})
		return true
	}
	delete(a.open, of)
	return false
}

// stopped notes that the turn of a question was stopped.
func (a *asked) stopped(of question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.open[of].ending)
	delete(a.open, of)
}

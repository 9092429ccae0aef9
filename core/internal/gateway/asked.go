package gateway

import (
	"context"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// question names the turn of a question.
type question struct {
	session string
	channel string
	id      chat.EventID
}

// asked are the questions that programs wait for. The zero asked are none.
type asked struct {
	mu   sync.Mutex
	open map[question]*askers
}

// askers are those who wait for the answer to one question.
type askers struct {
	count  int
	ending chan struct{} // closed once its turn is stopped, because nobody waits any more; nil: it goes on
}

// join counts one more who waits. While the turn is being stopped, it waits for the end of that.
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

// leave counts one less. If it is the last one, stop ends the turn; nil: it goes on, or has ended.
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

package program

import (
	"context"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Person is whom a program runs for: a person or, for messages that no person wrote, a chat.
type Person struct {
	name  string
	owner bool
}

// PersonOf returns whom a message is read and answered for.
func PersonOf(m domain.Message) Person {
	name := m.Channel + "/person/" + string(m.Sender.ID)
	if m.Sender.ID == "" {
		name = m.Channel + "/chat/" + string(m.Chat.ID)
	}
	return Person{name, m.Authority == chat.Owner}
}

// atOnce limits the concurrent programs of one kind, besides the one that is reserved for owners.
const atOnce = 2

// Slots limit how many programs of one kind run at the same time: one for each person, and two in total. One more is reserved for
// owners. Waiting callers get slots in the order of their calls, as far as these limits allow.
type Slots struct {
	mu      sync.Mutex
	running []Person
	waiting []*waiter
}

// waiter waits for a slot.
type waiter struct {
	Person
	granted chan struct{} // closed when it gets the slot
}

// Take waits for a slot. The error is the cause of ctx, if it ends before. The caller must call release.
func (s *Slots) Take(ctx context.Context, p Person) (release func(), err error) {
	w := &waiter{p, make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.grant()
	s.mu.Unlock()
	select {
	case <-w.granted:
		return func() { s.leave(w) }, nil
	case <-ctx.Done():
		s.leave(w)
		return nil, context.Cause(ctx)
	}
}

// leave releases a slot, or stops waiting for one.
func (s *Slots) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.granted:
		i := slices.Index(s.running, w.Person)
		s.running = slices.Delete(s.running, i, i+1)
		s.grant()
	default:
		s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
	}
}

// grant gives free slots to waiting callers. The caller holds the lock.
func (s *Slots) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		others, same := 0, false
		for _, p := range s.running {
			same = same || p.name == w.name
			if !p.owner {
				others++
			}
		}
		if same || len(s.running) > atOnce || !w.owner && others == atOnce {
			return false
		}
		s.running = append(s.running, w.Person)
		close(w.granted)
		return true
	})
}

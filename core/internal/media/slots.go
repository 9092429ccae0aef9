package media

import (
	"context"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// person is whom a program runs for: a person or, for messages that no person wrote, a chat.
type person struct {
	name  string
	owner bool
}

// personOf returns whom a message is read and answered for.
func personOf(m domain.Message) person {
	name := m.Channel + "/person/" + string(m.Sender.ID)
	if m.Sender.ID == "" {
		name = m.Channel + "/chat/" + string(m.Chat.ID)
	}
	return person{name, m.Authority == chat.Owner}
}

// slots limit how many programs of one kind run at the same time: one for each person, and a fixed number in total. One more is
// reserved for owners. Waiting callers get slots in the order of their calls, as far as these limits allow.
type slots struct {
	others int // the number of slots besides the one that is reserved for owners

	mu      sync.Mutex
	running []person
	waiting []*waiter
}

// waiter waits for a slot.
type waiter struct {
	person
	granted chan struct{} // closed when it gets the slot
}

// take waits for a slot. The error is the cause of ctx, if it ends before. The caller must call release.
func (s *slots) take(ctx context.Context, p person) (release func(), err error) {
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
func (s *slots) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.granted:
		i := slices.Index(s.running, w.person)
		s.running = slices.Delete(s.running, i, i+1)
		s.grant()
	default:
		s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
	}
}

// grant gives free slots to waiting callers. The caller holds the lock.
func (s *slots) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		others, same := 0, false
		for _, p := range s.running {
			same = same || p.name == w.name
			if !p.owner {
				others++
			}
		}
		if same || len(s.running) > s.others || !w.owner && others == s.others {
			return false
		}
		s.running = append(s.running, w.person)
		close(w.granted)
		return true
	})
}

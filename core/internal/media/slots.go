package media

import (
	"context"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// person is for whom a program runs: one person, and each chat of messages that no person wrote.
type person struct {
	name  string
	owner bool
}

// personOf returns the person for whom a message is read and answered.
func personOf(m domain.Message) person {
	name := m.Channel + "/person/" + string(m.Sender.ID)
	if m.Sender.ID == "" {
		name = m.Channel + "/chat/" + string(m.Chat.ID)
	}
	return person{name, m.Authority == chat.Owner}
}

// slots limit how many programs of one kind run at the same time: one for each person, and a few for all. Another one is
// reserved for owners. What waits gets a slot in the order in which it came.
type slots struct {
	others int // how many people who are not owners may have one

	mu      sync.Mutex
	running []person
	waiting []*waiter
}

// waiter waits for a slot.
type waiter struct {
	person
	granted chan struct{} // closed when it has one
}

// take waits for a slot, until ctx ends. Its error is ctx's cause. The caller must call release.
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

// leave ends a wait, or gives a slot back.
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

// grant gives free slots to those that wait. The caller holds the lock.
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

package engine

import (
	"slices"
	"sync"
)

// Hub passes announcements to those who watch. The zero Hub is ready. An engine uses it.
type Hub struct {
	mu       sync.Mutex
	watchers map[Topic][]chan struct{}
}

// Watch implements the method of [Engine], for any of several topics.
func (h *Hub) Watch(topics ...Topic) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[Topic][]chan struct{})
	}
	for _, topic := range topics {
		h.watchers[topic] = append(h.watchers[topic], c)
	}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, topic := range topics {
			rest := slices.DeleteFunc(h.watchers[topic], func(other chan struct{}) bool { return other == c })
			if h.watchers[topic] = rest; len(rest) == 0 {
				delete(h.watchers, topic)
			}
		}
	}
}

// Announce wakes those who watch one of the topics.
func (h *Hub) Announce(topics []Topic) {
	if len(topics) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		h.wake(topic)
	}
}

// AnnounceAll wakes all who watch a topic: what was announced meanwhile is unknown.
func (h *Hub) AnnounceAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic := range h.watchers {
		h.wake(topic)
	}
}

// wake wakes those who watch a topic. The caller holds the lock.
func (h *Hub) wake(topic Topic) {
	for _, c := range h.watchers[topic] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

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

// Watch implements the method of [Engine].
func (h *Hub) Watch(topic Topic) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[Topic][]chan struct{})
	}
	h.watchers[topic] = append(h.watchers[topic], c)
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		rest := slices.DeleteFunc(h.watchers[topic], func(other chan struct{}) bool { return other == c })
		if len(rest) == 0 {
			delete(h.watchers, topic)
			return
		}
		h.watchers[topic] = rest
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
		for _, c := range h.watchers[topic] {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

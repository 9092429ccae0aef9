package main

import (
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxReacted is how many messages are remembered that the bot reacted to.
const maxReacted = 1000

// reacted remembers the bot's reactions: Discord takes many for a message, the host means one.
type reacted struct {
	mu sync.Mutex
	by map[chat.MessageID]string
}

// swap remembers a message's reaction, empty for none, and returns those before, where they are known.
func (r *reacted) swap(id chat.MessageID, emoji string) (before []string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.by[id]
	if old != "" {
		before = []string{old}
	}
	if r.by == nil || !known && len(r.by) >= maxReacted {
		r.by = map[chat.MessageID]string{}
	}
	r.by[id] = emoji
	return before, known
}

// forget makes a message's reactions unknown.
func (r *reacted) forget(id chat.MessageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, id)
}

package main

import (
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxReacted limits the messages whose reactions are remembered.
const maxReacted = 1000

// reacted remembers the bot's reactions: Discord allows several per message, the host sets one.
type reacted struct {
	mu sync.Mutex
	by map[chat.MessageID]string
}

// swap stores a message's reaction, empty for none, and returns the previous ones, if they are known.
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

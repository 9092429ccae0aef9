package main

import (
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxReacted is how many messages with a reaction of the bot are remembered.
const maxReacted = 1000

// reacted remembers the bot's reactions: Discord takes many for a message, the host means one.
type reacted struct {
	mu sync.Mutex
	by map[chat.MessageID]string
}

// swap remembers a reaction and returns the one before; empty is none.
func (r *reacted) swap(id chat.MessageID, emoji string) (before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.by[id]
	delete(r.by, id)
	if emoji == "" {
		return before
	}
	if r.by == nil || len(r.by) >= maxReacted {
		r.by = map[chat.MessageID]string{}
	}
	r.by[id] = emoji
	return before
}

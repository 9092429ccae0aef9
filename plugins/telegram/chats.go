package main

import (
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	// maxChats limits the chats about which something is remembered.
	maxChats = 1000
	// crowd is the number of chats that Telegram must limit at the same time for the limit to apply to the bot as a whole.
	crowd = 3
)

// chats records what refusals have shown about chats.
type chats struct {
	now func() time.Time

	mu     sync.Mutex
	moved  map[string]string  // group id to the id of the supergroup that replaced it
	quiet  map[lane]time.Time // until when Telegram accepts nothing in it
	silent time.Time          // until when it accepts nothing in any
}

func newChats() *chats {
	return &chats{now: time.Now, moved: map[string]string{}, quiet: map[lane]time.Time{}}
}

// current returns the id that now replaces a chat's.
func (c *chats) current(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to, ok := c.moved[id]; ok {
		return to
	}
	return id
}

func (c *chats) move(from, to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.moved) >= maxChats {
		clear(c.moved)
	}
	c.moved[from] = to
}

// lane is the unit of Telegram's rate limits: a chat's messages, or its transient signals. Limits on signals must not delay
// messages.
type lane struct {
	chat    string
	signals bool
}

func laneOf(chat, method string) lane {
	return lane{chat: chat, signals: method == "sendChatAction" || strings.HasSuffix(method, "Draft")}
}

// patience returns how much longer Telegram accepts nothing for a chat; further requests would extend that.
func (c *chats) patience(id, method string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.silent
	for _, lane := range []lane{{chat: id}, laneOf(id, method)} {
		if t := c.quiet[lane]; t.After(until) {
			until = t
		}
	}
	return max(0, until.Sub(c.now()))
}

// limited records that Telegram accepts nothing for a chat for a while.
func (c *chats) limited(id, method string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	maps.DeleteFunc(c.quiet, func(_ lane, until time.Time) bool { return !until.After(now) })
	if len(c.quiet) >= maxChats {
		clear(c.quiet)
	}
	if d <= 0 {
		return
	}
	limited := laneOf(id, method)
	c.quiet[limited] = now.Add(d)
	if !limited.signals && c.crowded() && now.Add(d).After(c.silent) {
		c.silent = now.Add(d)
	}
}

// crowded reports whether so many chats are limited that the limit must apply to the bot. The lock is held.
func (c *chats) crowded() bool {
	n := 0
	for lane := range c.quiet {
		if !lane.signals {
			n++
		}
	}
	return n >= crowd
}

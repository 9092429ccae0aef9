package main

import (
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	// maxChats is how many chats something is remembered of.
	maxChats = 1000
	// crowd is how many chats Telegram must limit at the same time for the limit to be taken for the bot's as a whole.
	crowd = 3
)

// chats is what the plugin has learnt of chats by being refused.
type chats struct {
	now func() time.Time

	mu     sync.Mutex
	moved  map[string]string  // a group's id to that of the supergroup that it became
	quiet  map[lane]time.Time // until when Telegram takes nothing in it
	silent time.Time          // until when it takes nothing for any
}

func newChats() *chats {
	return &chats{now: time.Now, moved: map[string]string{}, quiet: map[lane]time.Time{}}
}

// current is the id under which a chat goes on.
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

// lane is what Telegram limits together: a chat's messages, or what shows in it for a moment only. Limits of the second
// must not keep messages back.
type lane struct {
	chat    string
	signals bool
}

func laneOf(chat, method string) lane {
	return lane{chat: chat, signals: method == "sendChatAction" || strings.HasSuffix(method, "Draft")}
}

// patience is how long Telegram still takes nothing for a chat; to ask all the same would make it longer.
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

// limited notes that Telegram takes nothing for a chat for a while.
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

// crowded tells whether the messages of so many chats are limited that it must be the bot that is. The lock is held.
func (c *chats) crowded() bool {
	n := 0
	for lane := range c.quiet {
		if !lane.signals {
			n++
		}
	}
	return n >= crowd
}

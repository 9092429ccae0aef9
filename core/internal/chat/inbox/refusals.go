package inbox

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxAdvised bounds the log lines about refused chats, per hour.
const maxAdvised = 50

// refusals logs, once an hour for each refused chat, what to add to the config to permit it.
type refusals struct {
	mu      sync.Mutex
	since   time.Time
	advised map[refused]bool
}

type refused struct {
	channel string
	id      string
}

// advise logs how to permit an event's chat, if a line of the config can do that.
func (r *refusals) advise(log hclog.Logger, channel string, e chat.Event, reason string, now time.Time) {
	if _, said := e.Body.(chat.Message); !said {
		return
	}
	switch reason {
	case access.GroupNotListed:
		if r.first(refused{channel, string(e.Chat.ID)}, now) {
			log.Info(fmt.Sprintf("a message of a group that is not listed was refused; to allow the group, add group %.80q {} under access", e.Chat.ID), "channel", channel)
		}
	case access.SenderNotListed:
		if r.first(refused{channel, string(e.Sender.ID)}, now) {
			log.Info(fmt.Sprintf("a message of a person who is not listed was refused; to allow them, add %.120q to access.allow", channel+":"+string(e.Sender.ID)), "channel", channel)
		}
	}
}

// first reports whether a refusal is the first of its chat in this hour and within the bound.
func (r *refusals) first(which refused, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Hour || now.Before(r.since) {
		r.since, r.advised = now, map[refused]bool{}
	}
	if r.advised[which] || len(r.advised) >= maxAdvised {
		return false
	}
	r.advised[which] = true
	return true
}

package main

import (
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxRecent is how many messages are remembered.
const maxRecent = 1000

// recent remembers messages: a reply on WhatsApp brings a copy of the message that it answers, and WhatsApp does not say
// that a message which is to be edited is too old or gone.
type recent struct {
	mu       sync.Mutex
	messages map[place]*remembered
	order    []place // the oldest first
}

// place is where a message is.
type place struct {
	chat chat.ID
	id   chat.MessageID
}

type remembered struct {
	text string
	at   time.Time
	own  bool // the channel has sent it
	gone bool
}

func newRecent() *recent { return &recent{messages: map[place]*remembered{}} }

// keep remembers a message that has come or was sent now. What is known is only given another text.
func (r *recent) keep(in chat.ID, id chat.MessageID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry(in, id).text = text
}

// keepOwn remembers a message that the channel sends now.
func (r *recent) keepOwn(in chat.ID, id chat.MessageID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.entry(in, id)
	m.text, m.own = text, true
}

// forget remembers that a message is gone.
func (r *recent) forget(in chat.ID, id chat.MessageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.entry(in, id)
	m.text, m.gone = "", true
}

// entry returns a message's entry, a new one if need be. It is called with the lock held.
func (r *recent) entry(in chat.ID, id chat.MessageID) *remembered {
	at := place{in, id}
	if m, known := r.messages[at]; known {
		return m
	}
	m := &remembered{at: time.Now()}
	r.messages[at] = m
	r.order = append(r.order, at)
	if len(r.order) > maxRecent {
		delete(r.messages, r.order[0])
		r.order = r.order[1:]
	}
	return m
}

// text is what a message says; empty for one that is not remembered.
func (r *recent) text(in chat.ID, id chat.MessageID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, known := r.messages[place{in, id}]; known {
		return m.text
	}
	return ""
}

// own tells whether the channel has sent a message, if that is remembered.
func (r *recent) own(in chat.ID, id chat.MessageID) (own, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.messages[place{in, id}]
	return known && m.own, known
}

// editable refuses an edit that phones would pass over in silence. What is not remembered may be edited, as far as is known
// here: a message of an earlier life of the plugin, whose age the host knows.
func (r *recent) editable(in chat.ID, id chat.MessageID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.messages[place{in, id}]
	switch {
	case known && m.gone:
		return network.Refuse(chat.TargetGone, "the message is deleted")
	case known && time.Since(m.at) >= editWindow:
		return network.Refuse(chat.Invalid, "the message is older than WhatsApp lets one be edited")
	default:
		return nil
	}
}

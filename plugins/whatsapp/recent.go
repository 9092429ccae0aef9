package main

import (
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxRecent limits the messages that are remembered.
const maxRecent = 1000

// recent remembers messages: a reply on WhatsApp contains a copy of the message that it replies to, and WhatsApp does not
// report that an edited message is too old or deleted.
type recent struct {
	mu       sync.Mutex
	messages map[place]*remembered
	order    []place // oldest first
}

// place identifies a message.
type place struct {
	chat chat.ID
	id   chat.MessageID
}

type remembered struct {
	text string
	at   time.Time
	own  bool // whether the channel has sent it
	gone bool
}

func newRecent() *recent { return &recent{messages: map[place]*remembered{}} }

// keep stores a message that was just received or sent. For a known one it only updates the text.
func (r *recent) keep(in chat.ID, id chat.MessageID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry(in, id).text = text
}

// keepOwn stores a message that the channel is sending.
func (r *recent) keepOwn(in chat.ID, id chat.MessageID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.entry(in, id)
	m.text, m.own = text, true
}

// forget records that a message was deleted.
func (r *recent) forget(in chat.ID, id chat.MessageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.entry(in, id)
	m.text, m.gone = "", true
}

// entry returns a message's entry, and creates it if necessary. The lock is held.
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

// text returns a message's text; empty if it is not remembered.
func (r *recent) text(in chat.ID, id chat.MessageID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, known := r.messages[place{in, id}]; known {
		return m.text
	}
	return ""
}

// own reports whether the channel has sent a message, if that is remembered.
func (r *recent) own(in chat.ID, id chat.MessageID) (own, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.messages[place{in, id}]
	return known && m.own, known
}

// editable returns an error for an edit that phones would silently ignore. A message that is not remembered may be edited:
// it is of a previous process, and the host knows its age.
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

package main

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// record is one message: what the page shows, and a line of the journal's file.
type record struct {
	// Seq is the message's position. It never changes.
	Seq int64 `json:"seq"`
	// Rev is the journal's revision of the message's last change: pages request all above the one they have.
	Rev int64 `json:"rev"`
	// ID is created by the page for the user's messages, and "m<seq>" for the agent's.
	ID chat.MessageID `json:"id"`
	// Thread is the conversation that the message belongs to; empty: the first one.
	Thread chat.ThreadID `json:"thread,omitempty"`
	From   author        `json:"from"`
	At     time.Time     `json:"at"`
	Text   string        `json:"text,omitempty"`
	Files  []file        `json:"files,omitempty"`
	// Agent is the label of the agent that wrote the message; empty: there is only one, or none did.
	Agent string `json:"agent,omitempty"`
	// Key is the host's idempotency key of an agent's message.
	Key      string          `json:"key,omitempty"`
	ReplyTo  chat.MessageID  `json:"reply_to,omitempty"`
	Buttons  [][]chat.Button `json:"buttons,omitempty"`
	Silent   bool            `json:"silent,omitempty"`   // without a notification
	Reaction string          `json:"reaction,omitempty"` // the agent's
	State    state           `json:"state,omitempty"`
	Edited   bool            `json:"edited,omitempty"`
	Deleted  bool            `json:"deleted,omitempty"`
}

// author is the author of a message.
type author string

const (
	user  author = "user"
	agent author = "agent"
)

// state is the state of a user's message.
type state string

const (
	pending  state = "pending" // stored here, not yet by the host
	accepted state = "accepted"
	rejected state = "rejected" // permanently refused by the host
)

// file is a file of a message. The host stores its content.
type file struct {
	Ref  chat.MediaRef `json:"ref"`
	Kind string        `json:"kind"` // image, audio, voice, video, sticker or file
	Type string        `json:"type,omitempty"`
	Name string        `json:"name,omitempty"`
	Size int64         `json:"size,omitempty"`
}

// size is the record's share of the journal's size limit.
func (r record) size() int {
	n := len(r.Text) + len(r.ID) + len(r.Thread) + len(r.Key) + len(r.ReplyTo) + len(r.Reaction) + len(r.Agent)
	for _, f := range r.Files {
		n += len(f.Ref) + len(f.Kind) + len(f.Type) + len(f.Name)
	}
	for _, row := range r.Buttons {
		for _, b := range row {
			n += len(b.Label) + len(b.Data)
		}
	}
	return n
}

// hasButton reports whether the message has a button with this data.
func (r record) hasButton(data string) bool {
	for _, row := range r.Buttons {
		for _, b := range row {
			if b.Data == data {
				return true
			}
		}
	}
	return false
}

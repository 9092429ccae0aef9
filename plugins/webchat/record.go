package main

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// record is one message: what the page shows, and one line of the journal's file.
type record struct {
	// Seq is the message's place among all. It never changes.
	Seq int64 `json:"seq"`
	// Rev is the journal's revision at which the message became what it is: pages ask for all above the one they have.
	Rev int64 `json:"rev"`
	// ID is minted by the page for what the user says, and "m<seq>" for what the agent says.
	ID chat.MessageID `json:"id"`
	// Thread is the conversation that the message belongs to; empty: the first one.
	Thread chat.ThreadID `json:"thread,omitempty"`
	From   author        `json:"from"`
	At     time.Time     `json:"at"`
	Text   string        `json:"text,omitempty"`
	Files  []file        `json:"files,omitempty"`
	// Key is the host's idempotency key of what the agent says.
	Key      string          `json:"key,omitempty"`
	ReplyTo  chat.MessageID  `json:"reply_to,omitempty"`
	Buttons  [][]chat.Button `json:"buttons,omitempty"`
	Silent   bool            `json:"silent,omitempty"`   // nobody is to be called for it
	Reaction string          `json:"reaction,omitempty"` // the agent's
	State    state           `json:"state,omitempty"`
	Edited   bool            `json:"edited,omitempty"`
	Deleted  bool            `json:"deleted,omitempty"`
}

// author is who said a message.
type author string

const (
	user  author = "user"
	agent author = "agent"
)

// state is how far a message of the user has come.
type state string

const (
	pending  state = "pending" // kept here, not yet with the host
	accepted state = "accepted"
	rejected state = "rejected" // the host will never take it
)

// file is a file beside a message. The host has its bytes.
type file struct {
	Ref  chat.MediaRef `json:"ref"`
	Kind string        `json:"kind"` // image, audio, voice, video, sticker or file
	Type string        `json:"type,omitempty"`
	Name string        `json:"name,omitempty"`
	Size int64         `json:"size,omitempty"`
}

// size is what a record counts for in the journal's limit of bytes.
func (r record) size() int {
	n := len(r.Text) + len(r.ID) + len(r.Thread) + len(r.Key) + len(r.ReplyTo) + len(r.Reaction)
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

// hasButton tells whether the message offers a button with this data.
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

package main

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// record is one message of the conversation: what the page shows, and one line of the journal's file.
type record struct {
	// Seq is the message's place in the conversation. It never changes.
	Seq int64 `json:"seq"`
	// Rev is the journal's revision at which the message became what it is: pages ask for all above the one they have.
	Rev int64 `json:"rev"`
	// ID is minted by the page for what the user says, and "m<seq>" for what the agent says.
	ID   chat.MessageID `json:"id"`
	From author         `json:"from"`
	At   time.Time      `json:"at"`
	Text string         `json:"text,omitempty"`
	// Key is the host's idempotency key of what the agent says.
	Key     string          `json:"key,omitempty"`
	Buttons [][]chat.Button `json:"buttons,omitempty"`
	State   state           `json:"state,omitempty"`
	Edited  bool            `json:"edited,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
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

// size is what a record counts for in the journal's limit of bytes.
func (r record) size() int {
	n := len(r.Text) + len(r.ID) + len(r.Key)
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

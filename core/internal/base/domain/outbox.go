package domain

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// DestinationStatus is a destination with undelivered items.
type DestinationStatus struct {
	To        chat.Address `json:"to"`
	Pending   int          `json:"pending"`
	NextAt    time.Time    `json:"next_at,omitzero"` // zero: being sent
	Attempts  int          `json:"attempts"`
	LastError string       `json:"last_error,omitempty"`
}

// OutboxItem is a message for a chat, or a change of one.
type OutboxItem struct {
	To      chat.Address
	Text    string
	ReplyTo chat.MessageID
	Media   []chat.Media
	Buttons [][]chat.Button
	Silent  bool // without a notification, if the network supports that
	// Poll, if not nil, is sent in place of the text, which says the same in words.
	Poll *chat.Poll
	// Kept is set if other items may edit this one.
	Kept bool
	// Edits is the kept item, of the same destination, whose message gets this item's text and buttons; an item
	// without content deletes it. Zero: this item is a new message. If an item is edited before it is sent, or after it was given up, it is
	// not sent any more.
	Edits int64
	// OrSend is set if a message that cannot be edited, for whatever reason, is to be sent as a new message, replacing the
	// old one if that can be deleted; otherwise it is left unchanged. Files cannot be added by an edit.
	OrSend bool
	// Target is the network's id of the message that this item changes or reacts to, if that is not a kept item.
	Target chat.MessageID
	// React, if not nil, is an emoji for the message that Edits or Target names, which stays as it is; the empty one
	// removes the agent's reaction. The item is dropped if the network refuses it.
	React *string
	// Pin, if not nil, has the message that Edits names pinned, or no longer pinned; it stays as it is. The item is dropped if that fails
	// for any reason.
	Pin *bool
	// Agent is the label of the agent that wrote the item; empty: there is only one, or none did.
	Agent string
}

// SignedBy returns items as written by an agent.
func SignedBy(agent string, items []OutboxItem) []OutboxItem {
	for i := range items {
		items[i].Agent = agent
	}
	return items
}

// HasContent reports whether the item shows anything. One without content, and without a reaction, deletes what it edits.
func (p OutboxItem) HasContent() bool { return p.Text != "" || len(p.Media) > 0 }

// Changes reports whether the item is not a message of its own.
func (p OutboxItem) Changes() bool { return p.Edits != 0 || p.Target != "" }

// Delivery is an item that was claimed for sending.
type Delivery struct {
	ID        int64
	Key       string // the idempotency key, unique to this database and item
	Item      OutboxItem
	RunID     int64 // zero: not from a run
	CreatedAt time.Time
	Attempts  int  // previous sends, without excused ones
	Uncertain bool // the outcome of a previous send is unknown
	// Target is the message that the item edits; empty if it was deleted or never sent.
	Target chat.MessageID
	// More are further messages that the item to delete has become.
	More []chat.MessageID
	// TargetSentAt is when that message was sent, regardless of later edits; zero without a target.
	TargetSentAt time.Time
	// TargetRepeated is set if that message was sent again because the outcome of a previous send was unknown.
	TargetRepeated bool
}

// Retry says how a failed delivery is retried.
type Retry struct {
	At        time.Time // not before
	Cause     string    // for the operator
	Uncertain bool      // the item may have arrived in spite of the error
	Excused   bool      // the send does not count as an attempt: the item was not at fault
}

// DeadLetter is an item whose delivery was given up.
type DeadLetter struct {
	ID        int64
	To        chat.Address
	Text      string
	CreatedAt time.Time
	DiedAt    time.Time
	Attempts  int
	Error     string
	RunID     int64  // zero: no run's
	Session   string // the run's
	Media     []chat.Media
}

// Stage is the progress of a message, as shown in its chat.
type Stage string

// The stages. The last three are final.
const (
	StageWaiting Stage = "waiting"
	StageRunning Stage = "running" // a turn has it, or retries it
	StageDone    Stage = "done"
	StageFailed  Stage = "failed"
	StageDropped Stage = "dropped" // withdrawn, stopped, interrupted or over the queue's limit
)

// Reaction is a message whose reaction does not show its current stage.
type Reaction struct {
	EventID   chat.EventID
	To        chat.Address
	Message   chat.MessageID
	Stage     Stage // the stage to show
	ChangedAt time.Time
}

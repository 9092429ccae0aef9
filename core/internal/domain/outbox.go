package domain

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// DestinationStatus is a destination with undelivered items.
type DestinationStatus struct {
	To        chat.Address `json:"to"`
	Pending   int          `json:"pending"`
	NextAt    time.Time    `json:"next_at"` // zero: being sent
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
	Silent  bool // without a notification, where the network can
	// Kept says that another item may edit this one.
	Kept bool
	// Edits is the kept item, of the same destination, whose message gets this text and these buttons instead; without a text
	// it is deleted. Zero: this is a message of its own. An item that waits when another one that edits it is posted is not
	// sent any more, nor is one that was given up.
	Edits int64
	// OrSend says that what cannot be edited, for whatever reason, is sent as a message of its own, in the place of the old one
	// where that can be deleted; else it is let be. Files cannot be edited in.
	OrSend bool
}

// Delivery is an item that was claimed for sending.
type Delivery struct {
	ID        int64
	Key       string // the idempotency key, unique to this database and item
	Item      OutboxItem
	RunID     int64 // zero: no run's
	CreatedAt time.Time
	Attempts  int  // sends before this one, those not that were excused
	Uncertain bool // an earlier send's outcome is unknown
	// Target is the message that the item edits; empty where it is gone, or was never sent.
	Target chat.MessageID
	// TargetSentAt is when that message was sent, not when it was edited last; zero without a target.
	TargetSentAt time.Time
}

// Retry is how a claimed delivery that failed is tried again.
type Retry struct {
	At        time.Time // not before
	Cause     string    // for the operator
	Uncertain bool      // the item may have arrived all the same
	Excused   bool      // the send does not count as an attempt: it failed by no fault of the item
}

// DeadLetter is an item that was given up.
type DeadLetter struct {
	ID        int64        `json:"id"`
	To        chat.Address `json:"to"`
	Text      string       `json:"text"`
	CreatedAt time.Time    `json:"created_at"`
	DiedAt    time.Time    `json:"died_at"`
	Attempts  int          `json:"attempts"`
	Error     string       `json:"error"`
	RunID     int64        `json:"run_id,omitempty"`  // zero: no run's
	Session   string       `json:"session,omitempty"` // the run's
	Media     []chat.Media `json:"media,omitempty"`
}

// Stage is how far a message is on its way to an answer, as its chat is shown it.
type Stage string

// The stages. The last three are ends.
const (
	StageWaiting Stage = "waiting"
	StageRunning Stage = "running" // a turn has it, or had it and tries again
	StageDone    Stage = "done"
	StageFailed  Stage = "failed"
	StageDropped Stage = "dropped" // it was taken back, stopped or interrupted, or was one too many: nobody waits for it
)

// Reaction is a message that does not show how far its answer is.
type Reaction struct {
	EventID   chat.EventID
	To        chat.Address
	Message   chat.MessageID
	Stage     Stage // what it is to show
	ChangedAt time.Time
}

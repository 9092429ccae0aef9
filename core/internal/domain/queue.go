package domain

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Whose says which lanes a claim is of.
type Whose int

// The zero Whose is all lanes.
const (
	Anybodys Whose = iota // whoever wrote the message at the head
	Owners                // those with an owner's message at the head
)

// Held is a message at the head of a turn lane that could be claimed and was not.
type Held struct {
	Session Session
	Message Message
	EventID chat.EventID
	ReadyAt time.Time
}

// Burst joins messages that come in quick succession into one turn. The zero Burst joins none.
type Burst struct {
	Window time.Duration // a message that comes within it of the one before joins it
	By     string        // who wrote: only messages of the same are joined; "": none
	// The bounds of a burst; a message that goes beyond one begins another.
	Messages int
	Bytes    int
	Wait     time.Duration // from the first message
	// Now says that the message ends the burst: what it joins, and itself, are claimed at once.
	Now bool
}

// Expiry is when a session begins a new claude session by itself: at a message of a person who comes back to it. The zero
// Expiry is never.
type Expiry struct {
	Idle  time.Duration // without a person's message for so long; zero: never
	Since time.Time     // claude sessions that were begun before are over; zero: none
}

// LaneStatus is a lane with work.
type LaneStatus struct {
	Session  string    `json:"session"`
	Lane     Lane      `json:"lane"`
	Waiting  int       `json:"waiting"`
	Running  bool      `json:"running"`
	Since    time.Time `json:"since"` // when the head was received
	Attempts int       `json:"attempts"`
}

// Lane is one of a session's queues. Each runs one message at a time, in order, where urgent commands come first and then
// owners'; they run side by side.
type Lane string

// The lanes.
const (
	TurnLane    Lane = "turn"    // messages for the agent
	ControlLane Lane = "control" // the host's own commands, which must work whatever else runs
	CommandLane Lane = "command" // the commands of plugins, which may take their time
)

// WaitingMessage is a message that waits in a session's turn lane.
type WaitingMessage struct {
	Seq        int64 // of its acceptance, by which the store brings it forward and withdraws it
	Message    Message
	ReceivedAt time.Time
}

// MaxSkew is how far the clock may be behind what came last. What is farther ahead of it came before it was set back.
const MaxSkew = time.Second

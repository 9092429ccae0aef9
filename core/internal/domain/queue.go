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

// Mode is what becomes of a message that arrives while its session's turn runs.
type Mode string

// The modes. Any other, the zero one among them, counts as Followup.
const (
	Followup     Mode = "followup"      // it waits for a turn of its own, which begins when the lane has been quiet
	Queue        Mode = "queue"         // the same, without the wait for quiet
	Collect      Mode = "collect"       // it waits for a turn together with others
	Steer        Mode = "steer"         // it is told to the running turn, or waits like Followup
	SteerBacklog Mode = "steer-backlog" // the same
	Interrupt    Mode = "interrupt"     // it ends the running turn and drops what waits, or waits where any of that is of a higher authority
)

// Drop is which message is dropped when too many wait.
type Drop string

// The ways to drop. Any other, the zero one among them, counts as DropSummarize.
const (
	DropOld       Drop = "old"       // the one that has waited for the longest
	DropNew       Drop = "new"       // the new one
	DropSummarize Drop = "summarize" // the oldest, of which the next turn is told a line
)

// Queueing is how a message waits in the turn lane.
type Queueing struct {
	Mode Mode
	// Quiet is how long after it came a message is claimed that came to others, or to a running turn. What is collected
	// waits for the quiet after the last of it, for five times as long at most.
	Quiet time.Duration
	Cap   int // more waiting messages are dropped, where a burst is one; zero: no limit
	Drop  Drop
}

// Waits reports whether a message that is not the only one waits for quiet.
func (q Queueing) Waits() bool {
	switch q.Mode {
	case Queue, Steer, SteerBacklog, Interrupt:
		return false
	default:
		return q.Quiet > 0
	}
}

// Steers reports whether a message may be told to the running turn.
func (q Queueing) Steers() bool { return q.Mode == Steer || q.Mode == SteerBacklog }

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

// Lane is one of a session's queues. Each runs one message at a time, in order; they run side by side.
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

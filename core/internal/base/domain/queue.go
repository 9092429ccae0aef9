package domain

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Whose selects the lanes of a claim.
type Whose int

// The zero Whose selects all lanes.
const (
	Anybodys Whose = iota // any author of the head message
	Owners                // lanes with an owner's message at the head
)

// Held is a head message of a turn lane that could be claimed and was not.
type Held struct {
	Session Session
	Message Message
	EventID chat.EventID
	ReadyAt time.Time
}

// Burst joins messages in quick succession into one turn. The zero Burst joins none.
type Burst struct {
	Gap   time.Duration // maximum time since the message before
	Pause time.Duration // how long the burst waits for a message after this one, at most Gap
	By    string        // the author: only messages of the same author are joined; "": none
	// Limits of a burst; a message that exceeds one starts another burst.
	Messages int
	Bytes    int
	Wait     time.Duration // from the first message
	// Now is set if the message ends the burst: the burst including the message is claimed at once.
	Now bool
}

// Wait is how long a message has waited for more of its writer.
type Wait struct {
	For time.Duration // at most
	Why WaitReason
}

// WaitReason is why a message has waited as long as it has.
type WaitReason int

// The reasons. The zero WaitReason is not a valid one.
const (
	WaitConfig     WaitReason = iota + 1 // the config has a fixed time
	WaitSentence                         // it ends as a sentence does
	WaitUsual                            // nothing says that more comes
	WaitUnfinished                       // it looks unfinished
	WaitPieces                           // its writer writes in pieces
	WaitTyping                           // its writer was seen typing
	WaitFile                             // it has a file, and did not wait
)

// Expiry says when a session starts a new claude session by itself: at a message of a person who returns to it. The zero
// Expiry means never.
type Expiry struct {
	Idle  time.Duration // time without a person's message; zero: never
	Since time.Time     // claude sessions started before this time have expired; zero: none
}

// Reached reports whether a claude session has expired that began at a time and was last used by a person at another, or never.
func (e Expiry) Reached(began, used, now time.Time) bool {
	last := began
	if used.After(last) {
		last = used
	}
	return e.Idle > 0 && !now.Before(last.Add(e.Idle)) || !e.Since.IsZero() && began.Before(e.Since)
}

// LaneStatus is a lane with work.
type LaneStatus struct {
	Session  string    `json:"session"`
	Lane     Lane      `json:"lane"`
	Waiting  int       `json:"waiting"`
	Running  bool      `json:"running"`
	Since    time.Time `json:"since,omitzero"` // when the head was received
	Attempts int       `json:"attempts"`
}

// Lane is one of a session's queues. Each runs one message at a time: urgent commands first, then owners', otherwise in
// order. Lanes run concurrently.
type Lane string

// The lanes.
const (
	TurnLane    Lane = "turn"    // messages for the agent
	ControlLane Lane = "control" // the host's own commands, which must always work
	CommandLane Lane = "command" // the commands of plugins, and the host's own that may take long
	ShellLane   Lane = "shell"   // the owners' lines for the shell, which may take minutes
)

// WaitingMessage is a waiting message in a session's turn lane.
type WaitingMessage struct {
	Seq        int64 // from its acceptance; identifies it for the store
	Message    Message
	ReceivedAt time.Time
}

// MaxSkew is the maximum by which the clock may be behind the latest message. A message further ahead was received before
// the clock was set back.
const MaxSkew = time.Second

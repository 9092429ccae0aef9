package store

import (
	"cmp"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Message is what an inbox row holds: an event, finalised.
type Message struct {
	Channel   string         `json:"channel"`
	Chat      chat.Chat      `json:"chat"`
	Thread    chat.ThreadID  `json:"thread,omitempty"`
	ID        chat.MessageID `json:"id,omitempty"` // the network's; empty for commands from a menu and for turns of plugins
	Sender    chat.Sender    `json:"sender"`
	Authority chat.Authority `json:"authority"`
	SentAt    time.Time      `json:"sent_at"`
	Text      string         `json:"text"`          // for the agent: without mentions of it and directives
	Raw       string         `json:"raw,omitempty"` // as it was written, where Text is not
	Media     []chat.Media   `json:"media,omitempty"`
	ReplyTo   *chat.Quote    `json:"reply_to,omitempty"`
	Forwarded *chat.Forward  `json:"forwarded,omitempty"`
	Starter   string         `json:"-"`                  // what its thread began with, which the session keeps; empty: it is not told
	Overrides Overrides      `json:"overrides,omitzero"` // of its directives
	Origin    Origin         `json:"origin,omitempty"`
	Command   *Command       `json:"command,omitempty"` // set: a command, which claude does not see
	Fresh     bool           `json:"fresh,omitempty"`   // begin a new claude session before this message, or where it is dropped
	Silent    bool           `json:"silent,omitempty"`  // the answer is not sent to the chat (a plugin's turn)
	Timeout   time.Duration  `json:"timeout,omitempty"` // zero: the configured one
	// Edition is the edit that the message is of, where claude was told it as it was before and has not read that: the UUID is
	// the edit's then, as claude does not take the old one again. Empty: none.
	Edition chat.EventID `json:"edition,omitempty"`
}

// Written is the text as it was written.
func (m Message) Written() string { return cmp.Or(m.Raw, m.Text) }

// Origin is what a message comes from that no person wrote.
type Origin string

// The origins. The zero Origin is a person's.
const (
	OriginPlugin    Origin = "plugin"
	OriginFlush     Origin = "memory_flush"
	OriginHeartbeat Origin = "heartbeat"
	OriginCompact   Origin = "compact" // the text is what the compaction should keep
)

// Command is a parsed slash command.
type Command struct {
	Name string    `json:"name"` // lower case, without a slash
	Args string    `json:"args,omitempty"`
	And  []Command `json:"and,omitempty"` // further ones of the same message: several directives and nothing else
	// Plain says that the host has made it of a message that is none: the answer to a question.
	Plain bool `json:"plain,omitempty"`
}

// Address is where the message came from and where its answer goes.
func (m Message) Address() chat.Address {
	return chat.Address{Channel: m.Channel, Chat: m.Chat.ID, Thread: m.Thread}
}

// Inbound is an event to accept.
type Inbound struct {
	EventID    chat.EventID // with the message's channel the dedupe key
	Session    string       // the session key
	Lane       Lane
	Message    Message
	ReadyAt    time.Time // not claimed before; zero: at once
	MaxWaiting int       // more waiting messages in the lane are ErrLaneFull; zero: no limit
	// Reset begins a new claude session with the event: what is claimed from then on runs in it.
	Reset bool
	// Parent is the session whose conversation a session that this event makes goes on with at its first turn, as a thread does
	// with its chat's; empty: none.
	Parent string
	Queue  Queueing
	Burst  Burst
	Expiry Expiry
	// Model becomes the session's, where "" is the config's; nil: it stays.
	Model *string
	// Hint is what the next turn is told if the event ends a running one; nil: nothing.
	Hint *Note
	// Receipt makes the piece that shows that the message waits, where it does so behind others than its own burst in the turn
	// lane, and cannot be told to the running turn. It is kept, and its message is deleted when the message waits no longer. It may be called twice; nil: there is none.
	Receipt func(Acceptance) Piece
	// Reacts says that the message, which has an id and waits in the turn lane, shows how far its answer is: see [Store.Reactions].
	Reacts bool
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

// Acceptance is what became of an accepted event.
type Acceptance struct {
	Duplicate bool
	Seq       int64  // zero: the event was dropped, for too many wait
	Waiting   int    // messages before it in the lane, the running one included
	Running   bool   // a run holds the lane
	Replaced  string // the claude session that a reset left behind, or its expiry
	// Superseded is the run that the event took the lane from, which must end; zero: none.
	Superseded int64
}

// Standing is how far a message is on its way to an answer.
type Standing string

// The standings.
const (
	StandingNone    Standing = ""        // it is not known, was answered, or was dropped
	StandingWaiting Standing = "waiting" // no turn has it
	StandingRunning Standing = "running" // a turn has it, or had it and tries again
	StandingTold    Standing = "told"    // it was written to a running turn, which may have read it
)

// Overheard is an event that starts no turn and is kept all the same: what a group says among itself, or what a session
// is told that must not answer.
type Overheard struct {
	EventID chat.EventID
	Channel string
	Session string
	// Note is told to the session's next turn, among the newest Limit of its kind; nil: nothing is.
	Note  *Note
	Limit int
	// Transcript is what the session's history gets.
	Transcript []chat.TranscriptEntry
	Starter    string // what the session's thread began with; empty: it is not told
}

package domain

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

// ByPerson reports whether somebody wrote the message who can come back to a session.
func (m Message) ByPerson() bool {
	return m.Origin == "" && m.Sender.ID != "" && !m.Sender.IsBot && !m.Sender.IsSelf
}

// FromChat reports whether the message came from where it says, as a person's does: a plugin, and the host itself, may only
// think that there is such a chat.
func (m Message) FromChat() bool { return m.Origin == "" || m.Origin == OriginCompact }

// Written is the text as it was written.
func (m Message) Written() string { return cmp.Or(m.Raw, m.Text) }

// Address is where the message came from and where its answer goes.
func (m Message) Address() chat.Address {
	return chat.Address{Channel: m.Channel, Chat: m.Chat.ID, Thread: m.Thread}
}

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

// Inbound is an event to accept.
type Inbound struct {
	EventID    chat.EventID // with the message's channel the dedupe key
	Session    string       // the session key
	Lane       Lane
	Message    Message
	Urgent     bool      // it comes before other commands that wait in its lane, as a stop does
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
	// Receipt makes the item that shows that the message waits, where it does so behind others than its own burst in the turn
	// lane, and cannot be told to the running turn. It is kept, and its message is deleted when the message waits no longer. It may be called twice; nil: there is none.
	Receipt func(Acceptance) OutboxItem
	// Reacts says that the message, which has an id and waits in the turn lane, shows how far its answer is: the store lists it under Reactions.
	Reacts bool
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
	StandingSteered Standing = "told"    // it was written to a running turn, which may have read it
)

// Passive is an event that starts no turn and is kept all the same: what a group says among itself, or what a session
// is told that must not answer.
type Passive struct {
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

// Elsewhere is what a session is told of a message to its chat that did not come from it. The zero Elsewhere tells nothing.
type Elsewhere struct {
	Session string               // who says it; empty: no session does
	Said    chat.TranscriptEntry // without a time; a text that is empty is not told
	Note    string               // what the session's next turn is told
}

// Queued is an inbox row.
type Queued struct {
	Seq           int64
	Burst         int64 // the Seq of the first message of its burst; its own if it is alone
	Message       Message
	UUID          string    // the message's id for claude, derived from channel and event id, or Edition
	ClaudeSession string    // the claude session that it was first claimed for
	ConsumedAt    time.Time // when claude echoed the uuid; zero: not known to be consumed
	ReceivedAt    time.Time
	Attempts      int // how often it was claimed and not released
}

// CameBefore reports whether a message came before a command that is carried out now.
func (q Queued) CameBefore(command time.Time) bool {
	return q.ReceivedAt.Before(command) || time.Until(q.ReceivedAt) > MaxSkew
}

// Found is a message of the turn lanes that was found by the network's id. The zero Found is none.
type Found struct {
	Session  string
	Standing Standing
	Message  Message
	UUID     string // the message's for claude
	// Run is the one that the message was told to, and ClaudeSession that run's; zero: it was told to none.
	Run           int64
	ClaudeSession string
}

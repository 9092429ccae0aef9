package domain

import (
	"cmp"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Message is the content of an inbox row: a finalised event.
type Message struct {
	Channel   string         `json:"channel"`
	Chat      chat.Chat      `json:"chat"`
	Thread    chat.ThreadID  `json:"thread,omitempty"`
	ID        chat.MessageID `json:"id,omitempty"` // the network's; empty for commands from a menu and for turns of plugins
	Sender    chat.Sender    `json:"sender"`
	Authority chat.Authority `json:"authority"`
	SentAt    time.Time      `json:"sent_at"`
	Text      string         `json:"text"`             // for the agent: without mentions of it and directives
	Raw       string         `json:"raw,omitempty"`    // as it was written, if that differs from Text
	Beside    string         `json:"beside,omitempty"` // what others have written, for the agent to know and not to follow
	Media     []chat.Media   `json:"media,omitempty"`
	ReplyTo   *chat.Quote    `json:"reply_to,omitempty"`
	Forwarded *chat.Forward  `json:"forwarded,omitempty"`
	Starter   string         `json:"-"`                  // the start of its thread, which the session stores; empty: unknown
	Overrides Overrides      `json:"overrides,omitzero"` // from its directives
	Origin    Origin         `json:"origin,omitempty"`
	// Pressed is set if the message is a press on a button of the agent's, whose label is the text; nil: it is not
	Pressed *Press   `json:"pressed,omitempty"`
	Command *Command `json:"command,omitempty"` // a command, which claude does not see; nil: none
	Named   bool     `json:"named,omitempty"`   // it names its agent, so it is for that one, whichever answers in the conversation
	// Fresh begins a new claude session when this message is claimed, even if it is dropped; [Inbound.Reset] begins one at once.
	Fresh bool `json:"fresh,omitempty"`
	Apart bool `json:"apart,omitempty"` // it is for a conversation beside that of the chat's people
	// Conversation is which one, as [session.OfPlugin] has it; empty: the heartbeat's.
	Conversation string        `json:"conversation,omitempty"`
	Silent       bool          `json:"silent,omitempty"`  // do not send the answer to the chat (a plugin's turn)
	Timeout      time.Duration `json:"timeout,omitempty"` // zero: the configured one
	// SameText says that a repetition of the event must have the same text.
	SameText bool `json:"-"`
	// Edition is the edit that the message contains, if claude had been sent the previous text and has not read it: the
	// UUID is then derived from the edit, because claude does not accept the old one again. Empty: none.
	Edition chat.EventID `json:"edition,omitempty"`
}

// Press is a press on a button that the agent has sent.
type Press struct {
	Number int64 `json:"number"` // of the [AgentMessage]; zero: it was sent from another conversation
}

// PressData begins the data of the agent's buttons. The token of their message and the index of the label follow, each after
// a colon.
const PressData = "press:"

// ByPerson reports whether the message was written by a person who can return to a session.
func (m Message) ByPerson() bool {
	return m.Origin == "" && m.Sender.ID != "" && !m.Sender.IsBot && !m.Sender.IsSelf
}

// Uses reports whether the message counts as use of its session. No people use one that is apart.
func (m Message) Uses() bool { return m.ByPerson() || m.Apart }

// FromChat reports whether the message really came from its chat, as a person's does: a plugin, and the host itself, may
// only assume that the chat exists.
func (m Message) FromChat() bool { return m.Origin == "" || m.Origin == OriginCompact }

// Written returns the text as it was written.
func (m Message) Written() string { return cmp.Or(m.Raw, m.Text) }

// Address returns where the message came from and where its answer is sent.
func (m Message) Address() chat.Address {
	return chat.Address{Channel: m.Channel, Chat: m.Chat.ID, Thread: m.Thread}
}

// Origin is the origin of a message that no person wrote.
type Origin string

// The origins. The zero Origin is a person's.
const (
	OriginPlugin    Origin = "plugin"
	OriginFlush     Origin = "memory_flush"
	OriginHeartbeat Origin = "heartbeat"
	OriginCompact   Origin = "compact" // the text says what the compaction should keep
	OriginJob       Origin = "job"     // the text says what a job has to tell
)

// Awaited reports whether someone waits for the answer: a person, a program, or the person for whom a job was started.
func (o Origin) Awaited() bool { return o == "" || o == OriginPlugin || o == OriginJob }

// Command is a parsed slash command.
type Command struct {
	Name string    `json:"name"` // lower case, without a slash
	Args string    `json:"args,omitempty"`
	And  []Command `json:"and,omitempty"` // further commands of the same message: several directives and nothing else
	// Plain is set if the host derived the command from an ordinary message: the answer to a question.
	Plain bool `json:"plain,omitempty"`
}

// Inbound is an event to accept.
type Inbound struct {
	EventID    chat.EventID // the dedupe key, together with the message's channel
	Session    string       // the session key
	Lane       Lane
	Message    Message
	Urgent     bool      // goes before other waiting commands of its lane, as a stop does
	ReadyAt    time.Time // not claimed before this time; zero: at once
	MaxWaiting int       // maximum waiting messages in the lane, else ErrLaneFull; zero: no limit
	// Reset starts a new claude session when the event is accepted: messages claimed from then on run in it. With
	// [Message.Fresh] it starts when the message is claimed.
	Reset bool
	// Parent is the session whose conversation a session created by this event continues at its first turn, as a thread
	// does with its chat's; empty: none.
	Parent string
	Queue  Queueing
	Burst  Burst
	Expiry Expiry
	// Model is the session's new model, where "" is the config's; nil: unchanged.
	Model *string
	// Folder is the folder in which the session's agent works from then on, "" for its workspace; nil: unchanged. The conversation
	// that the session had there continues, or else a new one begins.
	Folder *string
	// Resume is the claude session in which the session continues from then on; empty: unchanged.
	Resume string
	// Fork has the session continue in a copy of its claude session from then on.
	Fork bool
	// Choice is the agent that answers in the conversation from then on; nil: unchanged.
	Choice *AgentChoice
	// Hint is a note for the next turn if the event ends a running one; nil: none.
	Hint *Note
	// Reacts is set if the message, which has an id and waits in the turn lane, shows the progress of its answer: the store
	// lists it in Reactions.
	Reacts bool
}

// Author is who wrote a message in a channel.
type Author struct {
	Channel string
	ID      chat.UserID
}

// By reports whether a person wrote the message: not the host, nor a plugin, in their name.
func (m Message) By(a Author) bool {
	return m.Origin == "" && m.Sender.ID != "" && m.Sender.ID == a.ID && m.Channel == a.Channel
}

// AgentChoice is the agent that people choose for a conversation.
type AgentChoice struct {
	Conversation string // the key of its session with the main agent
	Agent        string // empty: the one that the config says
}

// Acceptance is the result of accepting an event.
type Acceptance struct {
	Duplicate bool
	Seq       int64 // zero: the event was dropped because too many wait
	Waiting   int   // messages before it in the lane, including the running one
	Running   bool  // whether a run holds the lane
	// Behind is set for a message that waits in the turn lane behind messages of other bursts, and cannot be steered into the
	// running turn.
	Behind   bool
	Replaced string // the claude session that was ended by a reset or by expiry
}

// Standing is the progress of a message towards its answer.
type Standing string

// The standings.
const (
	StandingNone    Standing = ""        // unknown, answered or dropped
	StandingWaiting Standing = "waiting" // waits for a turn
	StandingRunning Standing = "running" // a turn has it, or retries it
	StandingSteered Standing = "told"    // it was written to a running turn, which may have read it
)

// Passive is an event that starts no turn but is recorded: group messages that are not for the agent, or messages of a
// session that must not answer.
type Passive struct {
	EventID chat.EventID
	Channel string
	Session string
	// Note is added to the session's next turn, among the newest Limit of its kind; nil: none.
	Note  *Note
	Limit int
	// Transcript is added to the session's history.
	Transcript []chat.TranscriptEntry
	Starter    string // the start of the session's thread; empty: unknown
}

// Elsewhere informs a session of a message to its chat that another session sent. The zero Elsewhere has no effect.
type Elsewhere struct {
	Session string               // that has sent it, and is not informed; empty: none
	To      string               // the session to inform; empty: the one that received its last message from the chat
	Said    chat.TranscriptEntry // without a time; an empty text is skipped
	Note    string               // a note for the session's next turn
}

// SentElsewhere informs a session, or that of the chat, of what the agent has sent to its chat from another one.
func SentElsewhere(session, to, said string) Elsewhere {
	return Elsewhere{
		Session: session, To: to, Said: chat.TranscriptEntry{Role: chat.Assistant, Text: said},
		Note: "From another conversation you have sent to this chat: " + said,
	}
}

// Queued is an inbox row.
type Queued struct {
	Seq           int64
	Number        int64 // the Seq of its acceptance, by which people name it while it waits
	Burst         int64 // the Number of the first message of its burst; its own if it is alone
	Message       Message
	EventID       chat.EventID // of the event that the message was accepted with
	UUID          string       // the message's id for claude, derived from channel and event id, or Edition
	ClaudeSession string       // the claude session of its first claim
	ConsumedAt    time.Time    // when the host noted that claude has read it; zero: not known
	ReceivedAt    time.Time
	Attempts      int // number of claims, without those that ended with a Hold
}

// CameBefore reports whether a message was received before a command that is being executed.
func (q Queued) CameBefore(command time.Time) bool {
	return q.ReceivedAt.Before(command) || time.Until(q.ReceivedAt) > MaxSkew
}

// Found is a message of the turn lanes that was found by the network's id. The zero Found means that no message was found.
type Found struct {
	Session  string
	Standing Standing
	Message  Message
	UUID     string // the message's for claude
	// Run is the run into which the message was steered, and ClaudeSession that run's; zero: none.
	Run           int64
	ClaudeSession string
}

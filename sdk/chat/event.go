package chat

import "time"

// Event is one thing that happened in a chat: what a channel submits to the host.
type Event struct {
	ID     EventID
	Chat   Chat
	Thread ThreadID
	// Isolated marks the thread as a conversation of its own. Otherwise the agent knows in the thread what was said in its
	// chat before.
	Isolated bool
	Sender   Sender
	At       time.Time // when it happened, according to the network
	Body     Body
}

// Body is what happened: one of [Message], [Edited], [Deleted], [Reaction], [ButtonPress], [NativeCommand],
// [StopRequest], [MemberChange] and [Migrated].
type Body interface{ isBody() }

// Message is a new message.
type Message struct {
	ID            MessageID
	Text          string
	Media         []Media
	ReplyTo       *Quote
	Forwarded     *Forward
	Mentions      []Mention
	MentionsSelf  bool   // mentions the plugin's own account, or replies to one of its messages
	ThreadStarter string // the text that started its thread; set at least for the first message of a thread that the plugin sees
}

// Quote is the message that another one replies to.
type Quote struct {
	ID         MessageID
	SenderName string
	Text       string
	IsSelf     bool // the quoted message is the plugin's own
	// Media are its files, at most 64 together with the message's own. A person's file has a Token, by which the host
	// fetches it if the message is for the agent. A channel that cannot fetch files by tokens uploads the files of messages
	// for the agent, and sets the Problem of the others.
	Media []Media
}

// Forward is the origin of a forwarded message.
type Forward struct {
	From string
	At   time.Time // zero if unknown
}

// Mention is a range of a message's text that mentions a person. Without a User it refers to something else, such as a
// channel or a role, or is text that the sender did not write, such as a link preview or an address card. The host looks
// for commands in no mention other than those of the agent itself. A range outside the text makes the host reject the
// message.
type Mention struct {
	Offset, Length int    // in bytes of the text
	User           UserID // may be empty
	IsSelf         bool
	// Name is the person's name if the text contains only a number or an id; otherwise it is empty. The agent reads both.
	// The host looks for commands, and for the agent's name, in the text only.
	Name string
}

// Edited says that the text of a message was changed.
type Edited struct {
	ID       MessageID
	Text     string
	Mentions []Mention // of the new text
}

// Deleted says that a message was deleted.
type Deleted struct{ ID MessageID }

// Reaction is an emoji added to a message; an empty Emoji removes it.
type Reaction struct {
	MessageID MessageID
	Emoji     string
}

// ButtonPress is a press on a button that was sent with a message.
type ButtonPress struct {
	MessageID MessageID
	Data      string
}

// NativeCommand is a command from the network's own command menu.
type NativeCommand struct {
	Name string // without a slash
	Args string
}

// StopRequest is a press of the network's own stop control.
type StopRequest struct{}

// MemberChange says that a person joined or left a chat.
type MemberChange struct {
	Joined bool // false: left
	Member Sender
}

// Migrated says that a group now has another id. It is rejected in a direct chat, whose id is a person's.
type Migrated struct{ To ID }

func (Message) isBody()       {}
func (Edited) isBody()        {}
func (Deleted) isBody()       {}
func (Reaction) isBody()      {}
func (ButtonPress) isBody()   {}
func (NativeCommand) isBody() {}
func (StopRequest) isBody()   {}
func (MemberChange) isBody()  {}
func (Migrated) isBody()      {}

// Verdict is the result of submitting an event. With every verdict the event may be acknowledged upstream.
type Verdict int

// The verdicts.
const (
	Accepted  Verdict = iota + 1 // durable
	Duplicate                    // the host had it already
	Rejected                     // permanently refused: not allowed, too old, or malformed
)

// String returns the verdict's name in lower case.
func (v Verdict) String() string {
	switch v {
	case Accepted:
		return "accepted"
	case Duplicate:
		return "duplicate"
	case Rejected:
		return "rejected"
	default:
		return "unknown"
	}
}

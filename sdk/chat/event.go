package chat

import "time"

// Event is one thing that happened in a chat: what a channel submits to the host.
type Event struct {
	ID     EventID
	Chat   Chat
	Thread ThreadID
	// Apart says that the thread is a conversation of its own. Else the agent knows in it, from the beginning, what was said
	// in its chat before.
	Apart  bool
	Sender Sender
	At     time.Time // when it happened, by the network's clock
	Body   Body
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
	MentionsSelf  bool   // names the plugin's own account, or answers one of its messages
	ThreadStarter string // what its thread began with, at least for the first message of a thread that the plugin sees
}

// Quote is the message that another one answers.
type Quote struct {
	ID         MessageID
	SenderName string
	Text       string
	IsSelf     bool // the quoted message is the plugin's own
	// Media are its files, at most 64 together with the message's own. One of somebody's has a Token, by which the host fetches it
	// if the message is for the agent. A channel that cannot fetch files by tokens uploads those that the agent is asked about,
	// and gives the others a Problem.
	Media []Media
}

// Forward tells where a forwarded message comes from.
type Forward struct {
	From string
	At   time.Time // zero if unknown
}

// Mention is a range of a message's text that names somebody. Without a User it names something else, such as a channel or a
// role, or holds words that the sender did not write: a preview of a link, an address card. In none but the agent's own does the
// host look for commands. A range that ends outside the text costs the whole message.
type Mention struct {
	Offset, Length int    // in bytes of the text
	User           UserID // may be empty
	IsSelf         bool
	// Name is what the person is called, where the text says only a number or an id; else it is empty. The host tells the agent
	// both. Commands, and its own name, it looks for in the text alone.
	Name string
}

// Edited says that a message's text is now another one.
type Edited struct {
	ID       MessageID
	Text     string
	Mentions []Mention // of the new text
}

// Deleted says that a message is gone.
type Deleted struct{ ID MessageID }

// Reaction is an emoji put on a message; an empty Emoji takes it back.
type Reaction struct {
	MessageID MessageID
	Emoji     string
}

// ButtonPress is a press on a button that was sent with a message.
type ButtonPress struct {
	MessageID MessageID
	Data      string
}

// NativeCommand comes from the network's own command menu.
type NativeCommand struct {
	Name string // without a slash
	Args string
}

// StopRequest comes from a native stop control.
type StopRequest struct{}

// MemberChange says that somebody joined or left.
type MemberChange struct {
	Joined bool // false: left
	Member Sender
}

// Migrated says that a group goes on under another id. In a direct chat, whose id is a person's, it is rejected.
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

// Verdict is what became of a submitted event. In each case it may be acknowledged upstream.
type Verdict int

// The verdicts.
const (
	Accepted  Verdict = iota + 1 // durable
	Duplicate                    // the host had it already
	Rejected                     // will never be taken: not allowed, too old, or malformed
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

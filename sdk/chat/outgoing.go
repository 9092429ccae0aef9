package chat

import (
	"errors"
	"fmt"
	"time"
)

// Outgoing is a message for a channel to send.
type Outgoing struct {
	// Key is the host's idempotency key. A repeated key means that the outcome of the first attempt is unknown; a channel
	// whose network can send idempotently must show only one message for it. For other channels the text of a repeat may begin with a
	// line that says so.
	Key     string
	To      Address
	Text    string // CommonMark; fits the channel's text limit
	Media   []Media
	ReplyTo MessageID // empty: no reply
	Buttons [][]Button
	Silent  bool // without a notification, if the network supports that
	// Poll, if not nil, is sent in place of the text, which says the same in words. It comes alone, and fits the limits.
	Poll *Poll
	// Agent is the label of the agent that wrote the message, as [Caller].Agent has it. It is empty if there is only one agent, if the
	// message is the host's own or a program's, and if the host is too old to tell.
	Agent string
}

// Poll is a question with answers to vote for.
type Poll struct {
	Question  string
	Options   []string
	Multiple  bool // voters may choose several options
	Anonymous bool // no one sees who voted for what
}

// Button is a button that readers may press. Data is returned in a [ButtonPress].
type Button struct{ Label, Data string }

// Receipt is the network's confirmation of a sent message.
type Receipt struct {
	IDs []MessageID // several if the channel split the message; empty if the network has no ids
}

// Markup is the text formatting that a channel supports.
type Markup int

// The markups.
const (
	Plain    Markup = iota + 1 // none: the host sends plain text
	Markdown                   // the Markdown that the host sends
)

// Draft is how a channel shows an answer while it is being written.
type Draft int

// The drafts.
const (
	NoDraft     Draft = iota + 1
	NativeDraft       // the network has a transient message for it
	DraftByEdit       // a message that is edited
)

// Limits describes what a channel supports in one kind of chat.
type Limits struct {
	Text   TextLimit
	Markup Markup // zero: Plain

	Edit      EditLimits
	TypingTTL time.Duration // how long a typing signal is shown; zero: not supported
	Draft     Draft         // zero: NoDraft
	Buttons   ButtonLimits  // zero: no buttons
	Polls     PollLimits    // zero: no polls
	Replies   bool
	// MediaIn lists the files from people that the channel accepts; none if empty. The channel enforces it itself: an
	// upload has no kind of chat, so the host applies only its config's limits to it. Package sdktest uses it as well.
	MediaIn  []MediaLimit
	MediaOut []MediaLimit // which files the host sends

	// IdempotentSend says that a channel shows one message if the same key is sent twice. For other channels the host warns
	// its operator when it resends a message whose outcome is unknown, because the message may appear twice, and tells its readers.
	IdempotentSend bool
}

// EditLimits limits how a channel may edit what it has sent. Whether it can edit at all is decided by its interfaces.
type EditLimits struct {
	Window      time.Duration // zero: no limit
	MinInterval time.Duration
}

// ButtonLimits limits the buttons of a message. The host never exceeds them.
type ButtonLimits struct{ Rows, Columns, DataBytes int }

// Check returns an error if a message's buttons exceed the limits. The zero limits accept everything, because no one sees
// the buttons.
func (l ButtonLimits) Check(buttons [][]Button) error {
	if l == (ButtonLimits{}) {
		return nil
	}
	if len(buttons) > l.Rows {
		return fmt.Errorf("there are %d rows of buttons; at most %d are allowed", len(buttons), l.Rows)
	}
	data := map[string]bool{}
	for _, row := range buttons {
		if len(row) > l.Columns {
			return fmt.Errorf("there are %d buttons in a row; at most %d are allowed", len(row), l.Columns)
		}
		for _, b := range row {
			switch {
			case b.Label == "" || b.Data == "":
				return errors.New("a button has no label or no data")
			case len(b.Data) > l.DataBytes:
				return fmt.Errorf("a button's data has %d bytes; at most %d are allowed", len(b.Data), l.DataBytes)
			case data[b.Data]:
				return errors.New("two buttons have the same data")
			}
			data[b.Data] = true
		}
	}
	return nil
}

// PollLimits limits polls. The host never exceeds them.
type PollLimits struct {
	Options   int // at most
	Question  TextLimit
	Option    TextLimit
	Anonymous bool // a poll can hide who voted for what
}

// Check returns an error if a poll exceeds the limits.
func (l PollLimits) Check(p Poll) error {
	switch {
	case l.Options == 0:
		return errors.New("there are no polls")
	case len(p.Options) < 2 || len(p.Options) > l.Options:
		return fmt.Errorf("a poll has 2 to %d options, this one has %d", l.Options, len(p.Options))
	case p.Question == "" || !l.Question.Fits(p.Question):
		return fmt.Errorf("a poll's question has 1 to %d characters", l.Question.Max)
	case p.Anonymous && !l.Anonymous:
		return errors.New("a poll cannot be anonymous")
	}
	seen := map[string]bool{}
	for _, option := range p.Options {
		switch {
		case option == "" || !l.Option.Fits(option):
			return fmt.Errorf("an option of a poll has 1 to %d characters", l.Option.Max)
		case seen[option]:
			return errors.New("two options of the poll are the same")
		}
		seen[option] = true
	}
	return nil
}

// MediaLimit is the maximum size of a kind of file.
type MediaLimit struct {
	Kind     MediaKind
	MaxBytes int64
}

// State is the state of a channel's connection.
type State int

// The states. BadCredentials and LoggedOut are terminal: a restart does not help.
const (
	Connecting State = iota + 1
	Connected
	Disconnected // temporarily
	BadCredentials
	LoggedOut
)

// String returns the state's name as logs and `clawhost plugin list` print it.
func (s State) String() string {
	switch s {
	case Connecting:
		return "connecting"
	case Connected:
		return "connected"
	case Disconnected:
		return "disconnected"
	case BadCredentials:
		return "bad credentials"
	case LoggedOut:
		return "logged out"
	default:
		return "unknown"
	}
}

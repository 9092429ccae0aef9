package chat

import (
	"errors"
	"fmt"
	"time"
)

// Outgoing is a message for a channel to send.
type Outgoing struct {
	// Key is the host's name of this message. The same key again means that the outcome of the first try is unknown; a
	// channel whose network can send idempotently must show one message for it.
	Key     string
	To      Address
	Text    string // CommonMark; fits the channel's text limit
	Media   []Media
	ReplyTo MessageID // empty: no reply
	Buttons [][]Button
	Silent  bool // without a notification, where the network can
}

// Button is a press that a reader may answer with. Data comes back in a [ButtonPress].
type Button struct{ Label, Data string }

// Receipt is what a network says of a sent message.
type Receipt struct {
	IDs []MessageID // more than one where the channel had to split; empty where the network gives no ids
}

// Markup is what a channel shows of how a text looks.
type Markup int

// The markups.
const (
	Plain    Markup = iota + 1 // nothing: the host sends plain text
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

// Limits is what a channel can in one kind of chat.
type Limits struct {
	Text   TextLimit
	Markup Markup // zero: Plain

	Edit      EditLimits
	TypingTTL time.Duration // how long one typing signal shows; zero: there is none
	Draft     Draft
	Buttons   ButtonLimits // zero: no buttons
	Replies   bool
	// MediaIn is which files of people's the channel hands over; none: it hands none over. The channel itself keeps to it: an
	// upload is of no kind of chat, so that the host bounds it by its config alone. It says what sdktest may expect.
	MediaIn  []MediaLimit
	MediaOut []MediaLimit // which files the host sends

	// IdempotentSend says that the same key sent twice shows one message. Of any other channel the host warns its operator where
	// a message whose outcome is unknown is sent again, and may be shown twice.
	IdempotentSend bool
}

// EditLimits is how a channel may change what it has sent. Whether it can at all is a question of its interfaces.
type EditLimits struct {
	Window      time.Duration // zero: no limit
	MinInterval time.Duration
}

// ButtonLimits is how many buttons a message may have. A channel is given none that exceed them.
type ButtonLimits struct{ Rows, Columns, DataBytes int }

// Check returns what is wrong with a message's buttons; nil: nothing is. The zero limits let all pass, for nobody sees them.
func (l ButtonLimits) Check(buttons [][]Button) error {
	if l == (ButtonLimits{}) {
		return nil
	}
	if len(buttons) > l.Rows {
		return fmt.Errorf("there are %d rows of buttons; %d are taken", len(buttons), l.Rows)
	}
	data := map[string]bool{}
	for _, row := range buttons {
		if len(row) > l.Columns {
			return fmt.Errorf("there are %d buttons in a row; %d are taken", len(row), l.Columns)
		}
		for _, b := range row {
			switch {
			case b.Label == "" || b.Data == "":
				return errors.New("a button has no label or no data")
			case len(b.Data) > l.DataBytes:
				return fmt.Errorf("a button's data has %d bytes; %d are taken", len(b.Data), l.DataBytes)
			case data[b.Data]:
				return errors.New("two buttons have the same data")
			}
			data[b.Data] = true
		}
	}
	return nil
}

// MediaLimit is the size of a kind of file that a channel takes.
type MediaLimit struct {
	Kind     MediaKind
	MaxBytes int64
}

// State is the state of a channel's connection.
type State int

// The states. BadCredentials and LoggedOut are terminal: a restart would not help.
const (
	Connecting State = iota + 1
	Connected
	Disconnected // for now
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

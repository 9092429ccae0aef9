// Package chat is the vocabulary of conversations that the host and its plugins share: who wrote what, where, and what
// a network can show. It imports the standard library only.
//
// Ids are opaque strings. A plugin mints them from its network's ids and is the only one that may take them apart; each
// type's comment says in which scope it is unique. Everything else compares and stores them.
package chat

import "time"

// ID is a chat's id, unique within one plugin instance.
type ID string

// ThreadID is a thread's id, unique within its chat. Empty: the message is in no thread.
type ThreadID string

// UserID is a person's or bot's id, unique within one plugin instance.
type UserID string

// MessageID is a message's id, unique within its chat.
type MessageID string

// EventID is what the host de-duplicates events by, unique within one plugin instance and the same at every redelivery.
// A plugin builds it from the network's ids and the event's version, such as "tg:<bot>:<update_id>" or
// "dc:<message_id>:edit:<n>". At most [MaxEventID] bytes.
type EventID string

// MediaRef names bytes in the host's media store. Minted by the host, unique within one plugin instance.
type MediaRef string

// FileToken is what a channel fetches a file by that is still with its network, in this life of the plugin or a later one. The
// channel mints it; to the host it means nothing. Text of at most [MaxFileToken] bytes; the host keeps it with
// the message, as private as the message's text.
type FileToken string

// MaxFileToken is the longest token of a file that the host takes, in bytes.
const MaxFileToken = 2 << 10

// MaxEventID is the longest event id that the host takes, in bytes.
const MaxEventID = 200

// Address names a conversation.
type Address struct {
	// Channel is the plugin instance: the label of its block in the config. The host fills it in for a plugin's own
	// events and a plugin may leave it empty.
	Channel string `json:"channel"`
	// Chat is the chat's id. In what the host sends it may be a person's, of whom it knows no chat yet: it is meant for
	// their direct chat.
	Chat   ID       `json:"chat"`
	Thread ThreadID `json:"thread,omitempty"`
}

// Kind is what sort of conversation a chat is.
type Kind int

// The kinds of chat. The zero Kind is not a valid one.
const (
	Direct    Kind = iota + 1 // two people
	Group                     // many people
	Broadcast                 // many readers, few writers
)

// String returns the name that session settings and logs use.
func (k Kind) String() string {
	switch k {
	case Direct:
		return "direct"
	case Group:
		return "group"
	case Broadcast:
		return "channel"
	default:
		return "unknown"
	}
}

// Chat is a conversation as its network describes it.
type Chat struct {
	ID     ID
	Kind   Kind
	Title  string // empty where the network has none
	Parent ID     // the guild or forum that it belongs to, if any
}

// Sender is who caused an event.
type Sender struct {
	ID          UserID
	Aliases     []UserID // other ids of the same person on the same network
	DisplayName string
	Username    string // without "@"
	IsSelf      bool   // the account that the plugin itself is logged in as
	IsBot       bool
}

// IDs returns the id and the aliases.
func (s Sender) IDs() []UserID { return append([]UserID{s.ID}, s.Aliases...) }

// Name returns the best name for people to read: the display name, else the username, else the id.
func (s Sender) Name() string {
	switch {
	case s.DisplayName != "":
		return s.DisplayName
	case s.Username != "":
		return s.Username
	default:
		return string(s.ID)
	}
}

// Authority is what the host knows of a sender. A larger one may do all that a smaller one may.
type Authority int

// The authorities. The zero Authority is nobody's.
const (
	Other      Authority = iota + 1 // may chat, may not use commands
	Authorised                      // may chat and use commands
	Owner                           // may do everything
)

// String returns the name that logs and /status use.
func (a Authority) String() string {
	switch a {
	case Other:
		return "other"
	case Authorised:
		return "authorised"
	case Owner:
		return "owner"
	default:
		return "none"
	}
}

// Caller is who asks a plugin for something on behalf of a chat, and with what authority.
type Caller struct {
	Session   string // the session key
	Address   Address
	Kind      Kind
	Sender    Sender
	Authority Authority
}

// MediaKind is what sort of file a [Media] is.
type MediaKind int

// The kinds of media.
const (
	File MediaKind = iota + 1
	Image
	Audio
	Voice
	Video
	Sticker
)

// String returns the kind's name in lower case.
func (k MediaKind) String() string {
	switch k {
	case File:
		return "file"
	case Image:
		return "image"
	case Audio:
		return "audio"
	case Voice:
		return "voice"
	case Video:
		return "video"
	case Sticker:
		return "sticker"
	default:
		return "media"
	}
}

// Media is a file beside a message. Its bytes are in the host's media store, by the Ref, or still with the network, by the Token.
type Media struct {
	Ref      MediaRef
	Kind     MediaKind
	MIMEType string
	FileName string // as the sender named it: untrusted
	Size     int64  // bytes
	// Problem is why the file cannot be had, to be read behind "it", such as "is larger than 20 MB". The agent is told, or, where
	// a message is nothing else, who sent it. Empty: it can, or nobody knows.
	Problem string
	// Token has the host fetch the file from the channel when a turn needs it. It counts only without a Ref and a Problem.
	Token FileToken `json:",omitempty"`
}

// Role is who said a [TranscriptEntry].
type Role int

// The roles.
const (
	User Role = iota + 1
	Assistant
	System // a notice of the host
)

// String returns the role's name in lower case.
func (r Role) String() string {
	switch r {
	case User:
		return "user"
	case Assistant:
		return "assistant"
	case System:
		return "system"
	default:
		return "unknown"
	}
}

// TranscriptEntry is one message of a session's history.
type TranscriptEntry struct {
	ID   int64 // rises within a session
	Role Role
	Text string
	At   time.Time
}

// Package chat defines the vocabulary of conversations that the host and its plugins share: who wrote what, where, and what
// a network can show. It imports the standard library only.
//
// Ids are opaque strings. A plugin derives them from its network's ids, and only that plugin may parse them; everything
// else compares and stores them. The comment of each type says in which scope its ids are unique.
package chat

import "time"

// ID is a chat's id, unique within one plugin instance.
type ID string

// ThreadID is a thread's id, unique within its chat. Empty means that the message is in no thread.
type ThreadID string

// UserID is a person's or bot's id, unique within one plugin instance.
type UserID string

// MessageID is a message's id, unique within its chat.
type MessageID string

// EventID identifies an event for deduplication. It is unique within one plugin instance and the same at every redelivery.
// A plugin builds it from the network's ids and the event's version, such as "tg:<bot>:<update_id>" or
// "dc:<message_id>:edit:<n>". At most [MaxEventID] bytes.
type EventID string

// MediaRef identifies a file in the host's media store. The host creates it; it is unique within one plugin instance.
type MediaRef string

// FileToken identifies a file that is still on the network, so that this or a later process of the plugin can fetch it. The
// channel creates it and it is opaque to the host. It is text of at most [MaxFileToken] bytes. The host stores it with the
// message, with the same privacy as the message's text.
type FileToken string

// MaxFileToken is the maximum length of a file token, in bytes.
const MaxFileToken = 2 << 10

// MaxEventID is the maximum length of an event id, in bytes.
const MaxEventID = 200

// Address identifies a conversation.
type Address struct {
	// Channel is the plugin instance: the label of its block in the config. The host sets it for a plugin's own events, so
	// a plugin may leave it empty.
	Channel string `json:"channel"`
	// Chat is the chat's id. In an outgoing message it may be a person's id, if the host knows no chat of theirs yet; it
	// then means their direct chat.
	Chat   ID       `json:"chat"`
	Thread ThreadID `json:"thread,omitempty"`
}

// Kind is the kind of a chat.
type Kind int

// The kinds of chat. The zero Kind is invalid.
const (
	Direct    Kind = iota + 1 // two people
	Group                     // many people
	Broadcast                 // many readers, few writers
)

// String returns the name used in session settings and logs.
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
	Title  string // empty if the network has none
	Parent ID     // the guild or forum that it belongs to, if any
}

// Sender is the person or bot that caused an event.
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

// Name returns the name to show to people: the display name, else the username, else the id.
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

// Authority is what a sender may do. A greater authority includes the smaller ones.
type Authority int

// The authorities. The zero Authority permits nothing.
const (
	Other      Authority = iota + 1 // may chat, may not use commands
	Authorised                      // may chat and use commands
	Owner                           // may do everything
)

// String returns the name used in logs and by /status.
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

// Caller is the person on whose behalf a plugin is called, with the chat and the person's authority.
type Caller struct {
	Session   string // the session key
	Address   Address
	Kind      Kind
	Sender    Sender
	Authority Authority
	// Agent is the label of the agent whose session it is, such as "main"; empty if the host is too old to tell. It has at most 32
	// lower-case ASCII letters, digits, underscores and hyphens, so it can be the name of a folder.
	Agent string
	// Workspace is the agent's working folder, an absolute path; empty if the host is too old to tell.
	Workspace string
}

// MediaKind is the kind of a [Media].
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

// Media is a file of a message. Its content is in the host's media store, identified by Ref, or still on the network,
// identified by Token.
type Media struct {
	Ref      MediaRef
	Kind     MediaKind
	MIMEType string
	FileName string // as the sender named it: untrusted
	Size     int64  // bytes
	// Problem says why the file is not available, as the continuation of "it", such as "is larger than 20 MB". The agent
	// reads it, or the sender does if the message has no other content. Empty means that the file is available or that
	// it is unknown.
	Problem string
	// Token lets the host fetch the file from the channel when a turn needs it. It is ignored if Ref or Problem is set.
	Token FileToken `json:",omitempty"`
}

// Role is the author of a [TranscriptEntry].
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
	ID   int64 // increases within a session
	Role Role
	Text string
	At   time.Time
}

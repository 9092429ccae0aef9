// Package gateway does what programs outside of the host ask of it. They are the operator's: whoever reaches the control
// socket may do all that an owner may.
package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/follow"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// MaxFiles bounds the files of a message.
const MaxFiles = 10

// Store is what the gateway needs of the store.
type Store interface {
	Session(ctx context.Context, key string) (domain.Session, error)
	Outcome(ctx context.Context, channel string, id chat.EventID) (state domain.RunState, answer, errText string, done bool, err error)
	Watch(channel string, id chat.EventID) (completed <-chan struct{}, stop func())
	WithdrawEvent(ctx context.Context, session, channel string, id chat.EventID) error
	PostFrom(ctx context.Context, key domain.Key, from domain.Elsewhere, items ...domain.OutboxItem) (firstID int64, err error)
}

// Chats know what chats take. conversation.Resolver implements it.
type Chats interface {
	// Notice makes messages of a text, of which none exceeds the limit of the chat.
	Notice(to chat.Address, kind chat.Kind, text string) []domain.OutboxItem
	// Limits returns what a channel can do; zero until it has told.
	Limits(channel string, kind chat.Kind) chat.Limits
}

// Channels know which plugins messages can be sent to.
type Channels interface {
	// ChannelNames lists the channels by the labels of their blocks.
	ChannelNames() []string
}

// Files keep what is sent. media.Files implements it.
type Files interface {
	// Keep stores a file for a channel, as the kind that a chat with these limits takes; false: it takes none like this.
	Keep(ctx context.Context, channel string, limits []chat.MediaLimit, file chat.Media, content io.Reader) (kept chat.Media, ok bool, err error)
}

// Intake accepts turns. inbox.Intake implements it.
type Intake interface {
	// Turn accepts a prompt with an owner's authority, once for an id.
	Turn(ctx context.Context, id domain.Key, m domain.Message) (inbox.Outcome, error)
	// Session returns the key of the session of a chat.
	Session(ctx context.Context, channel string, c chat.Chat, thread chat.ThreadID) (string, error)
}

// Turns stop turns. dispatch.Dispatcher implements it.
type Turns interface {
	// StopMessage ends the session's running turn, if it is that of a message, by its id for Claude.
	StopMessage(ctx context.Context, session, message string) (bool, error)
}

// Options are a gateway's collaborators.
type Options struct {
	Store    Store
	Chats    Chats
	Files    Files
	Channels Channels
	Intake   Intake
	Turns    Turns
	Followed *follow.Turns
	Closing  <-chan struct{} // closed when the host shuts down
}

// Gateway sends messages and runs turns for programs. It is safe for concurrent use.
type Gateway struct {
	options Options
	log     hclog.Logger
	asked   asked
}

// New returns a gateway.
func New(options Options, log hclog.Logger) *Gateway { return &Gateway{options: options, log: log} }

// Refusal is an error in a request. Its text is for the person who made it, and says what to do.
type Refusal string

// Error returns the text.
func (r Refusal) Error() string { return string(r) }

// ParseAddress reads the address of a chat that is written as channel:chat, such as telegram:-100123, and of a thread in it,
// which may be empty. The chat may contain colons.
func ParseAddress(s, thread string) (chat.Address, error) {
	channel, id, ok := strings.Cut(s, ":")
	if !ok || channel == "" || id == "" {
		return chat.Address{}, Refusal(fmt.Sprintf("%q is not an address; one looks like telegram:1001", s))
	}
	return chat.Address{Channel: channel, Chat: chat.ID(id), Thread: chat.ThreadID(thread)}, nil
}

// Message is a message to a chat.
type Message struct {
	To    chat.Address
	Text  string       // Markdown, at most [wire.MaxText] bytes; may be empty beside files
	Files []chat.Media // that [Gateway.Keep] has kept for the channel; at most [MaxFiles]
}

// Keep stores a file that a message to a chat will carry. The error is a [Refusal] for one that the channel does not take.
func (g *Gateway) Keep(ctx context.Context, to chat.Address, name string, content io.Reader) (chat.Media, error) {
	if err := g.check(to); err != nil {
		return chat.Media{}, err
	}
	limits := g.options.Chats.Limits(to.Channel, chat.Direct)
	if limits.Text.Max == 0 && len(limits.MediaOut) == 0 { // it has not told, or takes none
		return chat.Media{}, Refusal(fmt.Sprintf("%s is not connected yet, so that nobody knows which files it takes; try again later", to.Channel))
	}
	kept, ok, err := g.options.Files.Keep(ctx, to.Channel, limits.MediaOut, chat.Media{FileName: name}, content)
	switch {
	case err != nil:
		return chat.Media{}, err
	case !ok:
		return chat.Media{}, Refusal(fmt.Sprintf("%s takes no file of this type and size: %s", to.Channel, name))
	}
	return kept, nil
}

// Send puts a message into the outbox and returns the id of its first item. Once it has returned, the message is delivered
// whatever dies meanwhile. The same key again sends nothing and returns the id of the first time; the empty key never
// repeats. The conversation of the chat knows of the message. The error is a [Refusal] for a message that cannot be sent.
func (g *Gateway) Send(ctx context.Context, key string, m Message) (int64, error) {
	switch {
	case strings.TrimSpace(m.Text) == "" && len(m.Files) == 0:
		return 0, Refusal("the message is empty")
	case len(m.Text) > wire.MaxText:
		return 0, Refusal(fmt.Sprintf("the text has %d bytes, and at most %d can be sent", len(m.Text), wire.MaxText))
	case len(m.Files) > MaxFiles:
		return 0, Refusal(fmt.Sprintf("a message has at most %d files", MaxFiles))
	}
	if err := g.check(m.To); err != nil {
		return 0, err
	}
	said := m.Text
	items := g.options.Chats.Notice(m.To, chat.Direct, m.Text)
	for _, file := range m.Files {
		items = append(items, domain.OutboxItem{To: m.To, Media: []chat.Media{file}})
		said = strings.TrimSpace(said + "\n<file:" + file.FileName + ">")
	}
	if len(items) == 0 { // a text of markup only
		return 0, Refusal("the message is empty")
	}
	var once domain.Key
	if key != "" {
		once = hashed(domain.KeyOperatorPost, key)
	}
	return g.options.Store.PostFrom(ctx, once, domain.Elsewhere{
		Said: chat.TranscriptEntry{Role: chat.System, Text: "sent by a program: " + said},
		Note: "A program of the operator has sent to this chat: " + said,
	}, items...)
}

// hashed makes a program's key one of the host's: plugins choose keys, too.
func hashed(kind domain.KeyKind, key string) domain.Key {
	sum := sha256.Sum256([]byte(key))
	return kind.Of("gateway", hex.EncodeToString(sum[:]))
}

// check refuses an address of no channel.
func (g *Gateway) check(to chat.Address) error {
	switch names := g.options.Channels.ChannelNames(); {
	case slices.Contains(names, to.Channel):
		return nil
	case len(names) == 0:
		return Refusal(fmt.Sprintf("there is no channel %q, nor any other", to.Channel))
	default:
		return Refusal(fmt.Sprintf("there is no channel %q; there are %s", to.Channel, strings.Join(names, ", ")))
	}
}

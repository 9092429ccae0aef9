package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Message is a message to a chat.
type Message struct {
	To    chat.Address
	Text  string       // Markdown; may be empty with files
	Files []chat.Media // that [Gateway.Keep] has kept for the channel
	// Buttons are shown below the text. Their data are commands of the plugin that posts the message.
	Buttons [][]chat.Button
}

// ErrEmpty refuses a message without text and files.
var ErrEmpty = Refusal{Invalid, "the message is empty"}

// Keep stores a file that a message to a chat will carry, as which it is described. The error is a [Refusal] for one that the channel
// does not take.
func (g *Gateway) Keep(ctx context.Context, c Caller, to chat.Address, m chat.Media, content io.Reader) (chat.Media, error) {
	if err := g.sendable(c, to.Channel); err != nil {
		return chat.Media{}, err
	}
	limits := g.options.Conversations.Limits(to.Channel, chat.Direct)
	if limits.Text.Max == 0 && len(limits.MediaOut) == 0 { // it is not known, or takes none
		return chat.Media{}, Refusal{
			Invalid,
			fmt.Sprintf("%s is not connected yet, so that nobody knows which files it takes; try again later", to.Channel),
		}
	}
	kept, ok, err := g.options.Files.Keep(ctx, to.Channel, limits.MediaOut, m, content)
	switch {
	case err != nil:
		return chat.Media{}, err
	case !ok:
		return chat.Media{}, Refusal{Invalid, fmt.Sprintf("%s takes no file of this type and size: %s", to.Channel, m.FileName)}
	}
	return kept, nil
}

// Attach stores a file that a prompt in a chat will carry. The error is a [Refusal] for one that the config does not accept.
func (g *Gateway) Attach(ctx context.Context, c Caller, to chat.Address, m chat.Media, content io.Reader) (chat.Media, error) {
	if err := c.Reach(to.Channel); err != nil {
		return chat.Media{}, err
	}
	kept, err := g.options.Files.Put(ctx, to.Channel, m, content)
	if errors.Is(err, files.ErrTooLarge) || errors.Is(err, files.ErrNotAccepted) {
		err = Refusal{Invalid, fmt.Sprintf("%s: %v", m.FileName, err)}
	}
	return kept, err
}

// Post puts a message into the outbox and returns the id of its first item. Once it has returned, the message is delivered
// whatever dies meanwhile. The same key again sends nothing and returns the id of the first time; the empty key never
// repeats. The conversation of the chat knows of the message. The error is a [Refusal] for a message that cannot be sent.
func (g *Gateway) Post(ctx context.Context, c Caller, key string, m Message) (int64, error) {
	if err := g.sendable(c, m.To.Channel); err != nil {
		return 0, err
	}
	if len(m.Buttons) > 0 && !g.options.Commands.Serves(c.plugin, m.Buttons) {
		return 0, Refusal{Denied, "the data of each button must be a line with one of the plugin's own commands, such as \"/remind delete 3\""}
	}
	said := m.Text
	items := g.options.Conversations.Notice(m.To, chat.Direct, m.Text)
	if n := len(items); n > 0 && len(m.Buttons) > 0 {
		items[n-1].Buttons = conversation.Arrange(g.options.Conversations.Limits(m.To.Channel, chat.Direct).Buttons, m.Buttons)
	}
	for _, file := range m.Files {
		items = append(items, domain.OutboxItem{To: m.To, Media: []chat.Media{file}})
		said = strings.TrimSpace(said + "\n<file:" + file.FileName + ">")
	}
	if len(items) == 0 { // there is no text, or one of markup only
		return 0, ErrEmpty
	}
	var once domain.Key
	if key != "" {
		once = c.key(domain.KeyOperatorPost, domain.KeyPluginPost, key)
	}
	from := domain.Elsewhere{
		Said: chat.TranscriptEntry{Role: chat.System, Text: "sent by a program: " + said},
		Note: "A program of the operator has sent to this chat: " + said,
	}
	if c.plugin != "" {
		from.Said.Text, from.Note = c.plugin+": "+said, "The plugin "+c.plugin+" has sent to this chat: "+said
	}
	return g.options.Store.PostFrom(ctx, once, from, items...)
}

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
	// Uploads are files of the plugin that posts the message.
	Uploads []chat.MediaRef
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
			Early,
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

// Post puts a message into the outbox and returns the id of its first item. Once it has returned, the message is delivered
// whatever dies meanwhile. The same key again sends nothing and returns the id of the first time; the empty key never
// repeats. The conversation of the chat knows of the message. The error is a [Refusal] for a message that cannot be sent.
func (g *Gateway) Post(ctx context.Context, c Caller, key string, m Message) (int64, error) {
	if err := g.sendable(c, m.To.Channel); err != nil {
		return 0, err
	}
	var once domain.Key
	if key != "" {
		once = c.key(domain.KeyOperatorPost, domain.KeyPluginPost, key)
	}
	if c.plugin != "" { // what it needs may be gone when it repeats a message
		if id, err := g.options.Store.Posted(ctx, once); err != nil || id > 0 {
			return id, err
		}
	}
	limits := g.options.Conversations.Limits(m.To.Channel, chat.Direct)
	if err := g.checkButtons(c, m, limits); err != nil {
		return 0, err
	}
	said := m.Text
	items := g.options.Conversations.Notice(m.To, chat.Direct, m.Text)
	if len(items)+len(m.Files)+len(m.Uploads) == 0 { // there is no text, or one of markup only
		return 0, ErrEmpty
	}
	if n := len(items); n > 0 && len(m.Buttons) > 0 {
		items[n-1].Buttons = conversation.Arrange(limits.Buttons, m.Buttons)
	}
	kept, err := g.copied(ctx, c, m.To.Channel, m.Uploads, func(about chat.Media, content io.Reader) (chat.Media, error) {
		return g.Keep(ctx, c, m.To, about, content)
	})
	if err != nil {
		return 0, err
	}
	m.Files = append(m.Files, kept...)
	for _, file := range m.Files {
		items = append(items, domain.OutboxItem{To: m.To, Media: []chat.Media{file}})
		said = strings.TrimSpace(said + "\n<file:" + file.FileName + ">")
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

// checkButtons refuses buttons that the plugin may not put below a message.
func (g *Gateway) checkButtons(c Caller, m Message, limits chat.Limits) error {
	switch {
	case len(m.Buttons) == 0:
		return nil
	case !g.options.Plugins.Running(c.plugin):
		return Refusal{Early, "buttons can be sent once the plugin runs; try again"}
	case !g.options.Commands.Serves(c.plugin, m.Buttons):
		return Refusal{Invalid, "the data of each button must be a line with one of the plugin's own commands, such as \"/remind delete 3\""}
	case limits.Text.Max == 0 && limits.Buttons == (chat.ButtonLimits{}) && !g.options.Plugins.Running(m.To.Channel):
		return Refusal{Early, fmt.Sprintf("%s is not connected yet, so that nobody knows which buttons it shows; try again later", m.To.Channel)}
	case strings.TrimSpace(m.Text) == "":
		return Refusal{Invalid, "a message with buttons needs a text"}
	default:
		return nil
	}
}

// copied has files of a plugin kept for a channel, and returns them as they are kept. After an error none is.
func (g *Gateway) copied(
	ctx context.Context, c Caller, channel string, uploads []chat.MediaRef, keep func(chat.Media, io.Reader) (chat.Media, error),
) (kept []chat.Media, err error) {
	defer func() {
		if err != nil {
			g.drop(ctx, channel, kept)
			kept = nil
		}
	}()
	for _, ref := range uploads {
		about, content, err := g.options.Files.Open(ctx, c.plugin, ref)
		if err != nil {
			return kept, err
		}
		about.Ref = ""
		file, err := keep(about, content)
		content.Close()
		if err != nil {
			return kept, err
		}
		kept = append(kept, file)
	}
	return kept, nil
}

// drop deletes files that were kept for a channel, and that nothing names.
func (g *Gateway) drop(ctx context.Context, channel string, kept []chat.Media) {
	for _, file := range kept {
		g.options.Files.Drop(ctx, channel, file.Ref)
	}
}

// attached keeps the files of a plugin's prompt for its chat's channel.
func (g *Gateway) attached(ctx context.Context, c Caller, p Prompt) ([]chat.Media, error) {
	return g.copied(ctx, c, p.To.Channel, p.Uploads, func(m chat.Media, content io.Reader) (chat.Media, error) {
		kept, err := g.options.Files.Put(ctx, p.To.Channel, m, content)
		if errors.Is(err, files.ErrTooLarge) || errors.Is(err, files.ErrNotAccepted) {
			err = Refusal{Invalid, fmt.Sprintf("%s: %v", m.FileName, err)}
		}
		return kept, err
	})
}

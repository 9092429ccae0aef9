package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/network"
)

// post is a message in Discord's format. The library's own type has no nonce.
type post struct {
	Content    string      `json:"content,omitempty"`
	Nonce      string      `json:"nonce,omitempty"`
	Enforce    bool        `json:"enforce_nonce,omitempty"`
	Flags      int         `json:"flags"`
	Mentions   mentions    `json:"allowed_mentions"`
	Reference  *reference  `json:"message_reference,omitempty"`
	Components []row       `json:"components,omitzero"`
	Enclosures []enclosure `json:"attachments,omitempty"` // for files with further properties

	Poll *discordgo.Poll `json:"poll,omitempty"`
}

// mentions says whom a text may ping. The zero value marshals as null, which lets Discord ping everybody.
type mentions struct {
	Parse   []string `json:"parse"`
	Replied bool     `json:"replied_user"`
}

type reference struct {
	MessageID string `json:"message_id"`
	Strict    bool   `json:"fail_if_not_exists"`
}

// row is a row of buttons.
type row struct {
	Type       int      `json:"type"`
	Components []button `json:"components"`
}

type button struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	Data  string `json:"custom_id"`
}

// Discord's limits for buttons.
const (
	maxLabel   = 80 // characters
	maxRows    = 5
	maxColumns = 5
	maxData    = 100 // characters; the host counts bytes
)

// newPost returns a post for sending or editing. The agent's texts do not ping people.
func newPost(text string, buttons [][]chat.Button, files bool) (post, error) {
	if strings.TrimSpace(text) == "" && !files {
		return post{}, network.Refuse(chat.Invalid, "the message has no text")
	}
	p := post{Content: markdown.ToDiscord(text, textLimit), Mentions: mentions{Parse: []string{}}, Components: []row{}}
	for _, line := range buttons {
		r := row{Type: int(discordgo.ActionsRowComponent), Components: []button{}}
		for _, b := range line {
			label := []rune(b.Label)
			r.Components = append(r.Components, button{
				Type: int(discordgo.ButtonComponent), Style: int(discordgo.SecondaryButton),
				Label: string(label[:min(len(label), maxLabel)]), Data: b.Data,
			})
		}
		if len(r.Components) > 0 {
			p.Components = append(p.Components, r)
		}
	}
	return p, nil
}

// Send implements sdk.Channel. A text and up to ten files are one message, more files are further messages, and a voice
// message is always separate. A repeated key gives the same messages: Discord recognises each by its nonce for some
// minutes.
func (c *channel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	first, err := newPost(out.Text, out.Buttons, len(out.Media) > 0)
	if err != nil {
		return chat.Receipt{}, err
	}
	if out.Poll != nil {
		first.Content, first.Poll = "", ballot(*out.Poll)
	}
	files, err := bundles(out.Media)
	if err != nil {
		return chat.Receipt{}, err
	}
	if len(files) > 0 && alone(files[0][0]) && strings.TrimSpace(out.Text) != "" {
		files = slices.Insert(files, 0, nil) // the text is sent before it
	}
	if parseID(string(out.ReplyTo)) != 0 {
		first.Reference = &reference{MessageID: string(out.ReplyTo)} // a missing message does not prevent the reply
	}
	var receipt chat.Receipt
	err = c.at(ctx, out.To, func(channel string) error {
		receipt, err = c.send(ctx, channel, out, first, files)
		return err
	})
	return receipt, err
}

func (c *channel) send(ctx context.Context, channel string, out chat.Outgoing, first post, files [][]chat.Media) (chat.Receipt, error) {
	var receipt chat.Receipt
	for nth := range max(1, len(files)) {
		p := post{Mentions: first.Mentions, Components: []row{}}
		if nth == 0 {
			p = first
		}
		p.Flags = c.flags
		if out.Key != "" {
			p.Nonce, p.Enforce = nonceOf(out.Key, nth), true
		}
		if out.Silent {
			p.Flags |= int(discordgo.MessageFlagsSuppressNotifications)
		}
		var enclosed []chat.Media
		if len(files) > 0 {
			enclosed = files[nth]
		}
		sent, err := c.post(ctx, "channels/"+channel+"/messages", p, enclosed)
		if err != nil {
			return chat.Receipt{}, err
		}
		receipt.IDs = append(receipt.IDs, chat.MessageID(sent.ID))
	}
	return receipt, nil
}

// postMessage is the name of the call that sends a message.
const postMessage = "POST message"

func (c *channel) post(ctx context.Context, path string, p post, files []chat.Media) (sent discordgo.Message, err error) {
	switch {
	case len(files) == 0:
		return sent, c.rest.call(ctx, postMessage, http.MethodPost, path, p, &sent)
	case alone(files[0]) && p.plain():
		return c.speak(ctx, path, p, files[0])
	default:
		return c.enclose(ctx, path, p, files)
	}
}

// enclose sends a message with files.
func (c *channel) enclose(ctx context.Context, path string, p post, files []chat.Media) (sent discordgo.Message, err error) {
	form, err := formOf(ctx, c.env.Media, p, files)
	if err != nil {
		return sent, c.rest.unread(postMessage, err)
	}
	defer form.Close()
	return sent, c.rest.upload(ctx, postMessage, path, form, &sent)
}

// of calls do with the path of a message.
func (c *channel) of(ctx context.Context, to chat.Address, id chat.MessageID, do func(path string) error) error {
	return c.at(ctx, to, func(channel string) error {
		if parseID(string(id)) == 0 {
			return network.Refuse(chat.TargetGone, "this is not the id of a Discord message")
		}
		return do("channels/" + channel + "/messages/" + string(id))
	})
}

// Edit implements sdk.Editor.
func (c *channel) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	p, err := newPost(text, buttons, false)
	if err != nil {
		return err
	}
	p.Flags = c.flags
	return c.of(ctx, to, id, func(path string) error { return c.rest.call(ctx, "PATCH message", http.MethodPatch, path, p, nil) })
}

// Delete implements sdk.Deleter. Deleting a missing message succeeds.
func (c *channel) Delete(ctx context.Context, to chat.Address, id chat.MessageID) error {
	return c.of(ctx, to, id, func(path string) error {
		err := c.rest.call(ctx, "DELETE message", http.MethodDelete, path, nil, nil)
		if e, ok := errors.AsType[*callError](err); ok && e.code == unknownMessage {
			return nil
		}
		return err
	})
}

// React implements sdk.Reactor. An emoji replaces all of the bot's previous reactions to the message; an empty one removes
// them.
func (c *channel) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	return c.of(ctx, to, id, func(path string) error {
		err := c.react(ctx, path, id, emoji)
		if err != nil {
			c.reacted.forget(id)
		}
		return err
	})
}

func (c *channel) react(ctx context.Context, path string, id chat.MessageID, emoji string) error {
	before, known := c.reacted.swap(id, emoji)
	if !known {
		var err error
		if before, err = c.put(ctx, path); err != nil {
			return err
		}
	}
	for _, old := range before {
		if old == emoji {
			continue
		}
		if err := c.rest.call(ctx, "DELETE reaction", http.MethodDelete, path+"/reactions/"+url.PathEscape(old)+"/@me", nil,
			nil); err != nil {
			return err
		}
	}
	if emoji == "" {
		return nil
	}
	return c.rest.call(ctx, "PUT reaction", http.MethodPut, path+"/reactions/"+url.PathEscape(emoji)+"/@me", nil, nil)
}

// put returns the bot's reactions to a message: a previous process may have added some.
func (c *channel) put(ctx context.Context, path string) ([]string, error) {
	var m discordgo.Message
	if err := c.rest.call(ctx, "GET message", http.MethodGet, path, nil, &m); err != nil {
		return nil, err
	}
	var mine []string
	for _, r := range m.Reactions {
		if r != nil && r.Me && r.Emoji != nil {
			mine = append(mine, r.Emoji.APIName())
		}
	}
	return mine, nil
}

// Typing implements sdk.Typer. It is shown for 10 seconds or until a message arrives; it cannot be cancelled.
func (c *channel) Typing(ctx context.Context, to chat.Address, active bool) error {
	if !active {
		return nil
	}
	return c.at(ctx, to, func(channel string) error {
		return c.rest.call(ctx, "POST typing", http.MethodPost, "channels/"+channel+"/typing", nil, nil)
	})
}

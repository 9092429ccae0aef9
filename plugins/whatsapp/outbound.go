package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// sendTimeout bounds one message. The library answers a broken connection by sending the same again on the next one.
const sendTimeout = 75 * time.Second

// Send implements sdk.Channel.
func (c *channel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	to, client, err := c.reach(ctx, out.To)
	if err != nil {
		return chat.Receipt{}, err
	}
	parts, err := plan(out)
	if err != nil {
		return chat.Receipt{}, err
	}
	var receipt chat.Receipt
	for n, p := range parts {
		content, err := c.compose(ctx, client, out.To.Chat, p)
		if err != nil {
			return chat.Receipt{}, err
		}
		if n == 0 && out.ReplyTo != "" {
			c.quote(content, out)
		}
		id := client.GenerateMessageID()
		if out.Key != "" {
			id = sendID(c.instance, out.Key, n)
		}
		own := messageID(id, types.EmptyJID)
		c.recent.keep(out.To.Chat, own, p.text)
		if err := c.send(ctx, client, to, content, id); err != nil {
			return chat.Receipt{}, err
		}
		receipt.IDs = append(receipt.IDs, own)
	}
	return receipt, nil
}

// part is one message of those that an outgoing one becomes.
type part struct {
	text string      // in WhatsApp's marks
	file *chat.Media // nil: a text
}

// plan takes an outgoing message apart: each file is a message, and the text is the caption of the first, if it can have
// one.
func plan(out chat.Outgoing) ([]part, error) {
	var parts []part
	text := markdown.ToWhatsApp(out.Text)
	if strings.TrimSpace(text) == "" {
		text = ""
	}
	for i := range out.Media {
		m := &out.Media[i]
		switch {
		case m.Ref == "":
			return nil, refuse(chat.MediaRejected, errors.New("a file has no bytes"))
		case m.Size > maxFile:
			return nil, refuse(chat.MediaRejected, fmt.Errorf("a file has %d bytes; %d are sent at most", m.Size, maxFile))
		}
		if text != "" && !shapeOf(*m).captioned {
			parts = append(parts, part{text: text})
			text = ""
		}
		parts = append(parts, part{text: text, file: m})
		text = ""
	}
	if text != "" {
		parts = append(parts, part{text: text})
	}
	if len(parts) == 0 {
		return nil, refuse(chat.Invalid, errors.New("the message has no text"))
	}
	return parts, nil
}

// compose makes the content of a message. The file, if any, is uploaded.
func (c *channel) compose(ctx context.Context, client *whatsmeow.Client, to chat.ID, p part) (*waE2E.Message, error) {
	text, mentioned := c.mention(ctx, client.Store.LIDs, p.text)
	if p.file != nil {
		return c.attach(ctx, client, *p.file, text)
	}
	if len(mentioned) == 0 {
		return &waE2E.Message{Conversation: proto.String(text)}, nil
	}
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String(text), ContextInfo: &waE2E.ContextInfo{MentionedJID: mentioned},
	}}, nil
}

// quote has a message quote the one that it answers. WhatsApp wants a copy of it. What can be no message is not quoted.
func (c *channel) quote(content *waE2E.Message, out chat.Outgoing) {
	id, author, err := parseMessage(out.ReplyTo)
	if err != nil {
		return
	}
	if author.IsEmpty() {
		author = c.account().own()
	}
	info := contextOf(content)
	info.StanzaID = proto.String(id)
	info.Participant = proto.String(author.String())
	info.QuotedMessage = &waE2E.Message{Conversation: proto.String(c.recent.text(out.To.Chat, out.ReplyTo))}
}

// contextOf returns what a message has beside its content, to be filled in.
func contextOf(m *waE2E.Message) *waE2E.ContextInfo {
	if m.Conversation != nil {
		m.ExtendedTextMessage = &waE2E.ExtendedTextMessage{Text: m.Conversation}
		m.Conversation = nil
	}
	var at **waE2E.ContextInfo
	switch {
	case m.ExtendedTextMessage != nil:
		at = &m.ExtendedTextMessage.ContextInfo
	case m.ImageMessage != nil:
		at = &m.ImageMessage.ContextInfo
	case m.VideoMessage != nil:
		at = &m.VideoMessage.ContextInfo
	case m.AudioMessage != nil:
		at = &m.AudioMessage.ContextInfo
	case m.StickerMessage != nil:
		at = &m.StickerMessage.ContextInfo
	case m.DocumentMessage != nil:
		at = &m.DocumentMessage.ContextInfo
	default:
		return &waE2E.ContextInfo{}
	}
	if *at == nil {
		*at = &waE2E.ContextInfo{}
	}
	return *at
}

// Edit implements sdk.Editor.
func (c *channel) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, _ [][]chat.Button) error {
	jid, client, err := c.reach(ctx, to)
	if err != nil {
		return err
	}
	plain, err := c.mine(id)
	if err != nil {
		return err
	}
	if err := c.recent.editable(to.Chat, id); err != nil {
		return err
	}
	rendered, _ := c.mention(ctx, client.Store.LIDs, markdown.ToWhatsApp(text))
	if strings.TrimSpace(rendered) == "" {
		return refuse(chat.Invalid, errors.New("the message has no text"))
	}
	edit := client.BuildEdit(jid, plain, &waE2E.Message{Conversation: proto.String(rendered)})
	if err := c.send(ctx, client, jid, edit, client.GenerateMessageID()); err != nil {
		return err
	}
	c.recent.keep(to.Chat, id, rendered)
	return nil
}

// Delete implements sdk.Deleter.
func (c *channel) Delete(ctx context.Context, to chat.Address, id chat.MessageID) error {
	jid, client, err := c.reach(ctx, to)
	if err != nil {
		return err
	}
	plain, err := c.mine(id)
	if err != nil {
		return err
	}
	if err := c.send(ctx, client, jid, client.BuildRevoke(jid, types.EmptyJID, plain), client.GenerateMessageID()); err != nil {
		return err
	}
	c.recent.forget(to.Chat, id)
	return nil
}

// mine reads the id of a message of this account: others cannot be changed.
func (*channel) mine(id chat.MessageID) (types.MessageID, error) {
	plain, author, err := parseMessage(id)
	if err == nil && !author.IsEmpty() {
		err = errors.New("only messages of this account can be changed")
	}
	if err != nil {
		return "", refuse(chat.TargetGone, err)
	}
	return plain, nil
}

// React implements sdk.Reactor.
func (c *channel) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	jid, client, err := c.reach(ctx, to)
	if err != nil {
		return err
	}
	plain, author, err := parseMessage(id)
	if err != nil {
		return refuse(chat.TargetGone, err)
	}
	if author.IsEmpty() {
		author = c.account().own()
	}
	return c.send(ctx, client, jid, client.BuildReaction(jid, author, plain, emoji), client.GenerateMessageID())
}

// Typing implements sdk.Typer. Phones show typing only of those who are online; who is online all the time has a phone
// that does not ring, so the account is as long as it types.
func (c *channel) Typing(ctx context.Context, to chat.Address, active bool) error {
	jid, client, err := c.reach(ctx, to)
	if err != nil {
		return err
	}
	state, presence := types.ChatPresencePaused, types.PresenceUnavailable
	if active {
		state, presence = types.ChatPresenceComposing, types.PresenceAvailable
	}
	online := func() {
		if !c.config.ShowOnline {
			_ = client.SendPresence(ctx, presence) // Without a name, which comes later, it cannot be said.
		}
	}
	if active {
		online()
	}
	if err := client.SendChatPresence(ctx, jid, state, types.ChatPresenceMediaText); err != nil {
		return failure(err)
	}
	if !active {
		online()
	}
	return nil
}

// reach finds the chat and the connection.
func (c *channel) reach(ctx context.Context, to chat.Address) (types.JID, *whatsmeow.Client, error) {
	jid, err := parseChat(to.Chat)
	if err != nil {
		return jid, nil, refuse(chat.ChatNotFound, err)
	}
	client, err := c.connected(ctx)
	return jid, client, err
}

func (c *channel) send(ctx context.Context, client *whatsmeow.Client, to types.JID, m *waE2E.Message, id types.MessageID) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	sent, err := client.SendMessage(ctx, to, m, whatsmeow.SendRequestExtra{ID: id})
	if err != nil {
		return failure(err)
	}
	return c.readable(ctx, client, sent.Chat)
}

var errNobody = errors.New("WhatsApp gives no keys for a device of this person, so nobody could read the message")

// readable tells whether what was sent to a person was encrypted for a device of theirs. The library sends to nobody where
// it gets no keys, which WhatsApp acknowledges. In groups whoever cannot read a message asks for it.
func (c *channel) readable(ctx context.Context, client *whatsmeow.Client, to types.JID) error {
	if to.Server == types.GroupServer {
		return nil
	}
	devices, err := client.GetUserDevices(ctx, []types.JID{to}) // The library has just asked, and remembers.
	if err != nil {
		return failure(err)
	}
	self := c.account()
	for _, device := range devices {
		if self.is(device) && device.Device == self.device {
			continue
		}
		if begun, err := client.Store.ContainsSession(ctx, device.SignalAddress()); begun || err != nil {
			return nil // What the store cannot tell now it could when the message was encrypted.
		}
	}
	return &chat.Failure{Reason: chat.Temporary, Err: errNobody}
}

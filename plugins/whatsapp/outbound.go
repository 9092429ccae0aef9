package main

import (
	"context"
	"errors"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// sendTimeout bounds one message. The library answers a broken connection by sending the same again on the next one.
const sendTimeout = 75 * time.Second

// Send implements sdk.Channel. All files are uploaded before the first message goes out: an album is announced whole, and
// what cannot be uploaded has shown nothing.
func (c *channel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	to, client, err := c.reach(ctx, out.To)
	if err != nil {
		return chat.Receipt{}, err
	}
	parts, err := plan(out)
	if err != nil {
		return chat.Receipt{}, err
	}
	messages := make([]message, len(parts))
	for n, p := range parts {
		if messages[n], err = c.compose(ctx, client, p); err != nil {
			return chat.Receipt{}, err
		}
		messages[n].id = c.newID(client, out.Key, n)
	}
	if out.ReplyTo != "" {
		c.quote(messages[0].content, out)
	}
	var receipt chat.Receipt
	var albums []chat.MessageID
	for _, m := range c.inAlbums(client, to, out, messages) {
		own := messageID(m.id, types.EmptyJID)
		c.recent.keepOwn(out.To.Chat, own, m.text)
		if err := c.send(ctx, client, to, m.content, m.id); err != nil {
			return chat.Receipt{}, err
		}
		if m.content.AlbumMessage != nil {
			albums = append(albums, own)
		} else {
			receipt.IDs = append(receipt.IDs, own)
		}
	}
	receipt.IDs = append(receipt.IDs, albums...) // People answer them too, but the first id is one with text.
	return receipt, nil
}

// newID is the id of the n-th message that the host sends under a key. Without a key none is like it.
func (c *channel) newID(client *whatsmeow.Client, key string, n int) types.MessageID {
	if key == "" {
		return client.GenerateMessageID()
	}
	return sendID(c.instance, key, n)
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
	parts, err := plan(chat.Outgoing{Text: text})
	if err != nil {
		return err
	}
	edited, err := c.compose(ctx, client, parts[0])
	if err != nil {
		return err
	}
	if err := c.send(ctx, client, jid, client.BuildEdit(jid, plain, edited.content), client.GenerateMessageID()); err != nil {
		return err
	}
	c.recent.keep(to.Chat, id, edited.text)
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
		return "", network.Refuse(chat.TargetGone, "%w", err)
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
		return network.Refuse(chat.TargetGone, "%w", err)
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
		return jid, nil, network.Refuse(chat.ChatNotFound, "%w", err)
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

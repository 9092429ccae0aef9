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

// sendTimeout limits one message. After a broken connection the library resends on the next one.
const sendTimeout = 75 * time.Second

// Send implements sdk.Channel. All files are uploaded before the first message is sent: an album is announced with its
// size, and a failed upload shows nothing.
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
	receipt.IDs = append(receipt.IDs, albums...) // people may reply to them too, but the first id has the text
	return receipt, nil
}

// newID returns the id of the n-th message for a key. Without a key it is unique.
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

// mine parses the id of a message of this account: others cannot be changed.
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

// Typing implements sdk.Typer. Phones show typing only for accounts that are online, and the phone of an account that is
// always online does not ring. So the account is online only while it types.
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
			_ = client.SendPresence(ctx, presence) // fails until the account's name is known
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

// reach returns the chat and the connection.
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

var errNobody = errors.New("WhatsApp has no keys for any device of this person, so nobody could read the message")

// readable returns an error if a message to a person was encrypted for none of their devices. Without keys the library
// sends to no one, which WhatsApp acknowledges. In groups, members who cannot read a message request it.
func (c *channel) readable(ctx context.Context, client *whatsmeow.Client, to types.JID) error {
	if to.Server == types.GroupServer {
		return nil
	}
	devices, err := client.GetUserDevices(ctx, []types.JID{to}) // cached by the library
	if err != nil {
		return failure(err)
	}
	self := c.account()
	for _, device := range devices {
		if self.is(device) && device.Device == self.device {
			continue
		}
		if begun, err := client.Store.ContainsSession(ctx, device.SignalAddress()); begun || err != nil {
			return nil // the store worked when the message was encrypted
		}
	}
	return &chat.Failure{Reason: chat.Temporary, Err: errNobody}
}

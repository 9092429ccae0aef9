package main

import (
	"context"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/network"
)

// part is one message of an outgoing one.
type part struct {
	text string      // in WhatsApp's marks
	file *chat.Media // nil: a text
	poll *chat.Poll  // nil: none
}

// plan splits an outgoing message: each file is a message, and the text is the caption of the first, if it can have one.
func plan(out chat.Outgoing) ([]part, error) {
	if out.Poll != nil {
		return []part{{text: out.Text, poll: out.Poll}}, nil
	}
	var parts []part
	text := markdown.ToWhatsApp(out.Text)
	if strings.TrimSpace(text) == "" {
		text = ""
	}
	for i := range out.Media {
		m := &out.Media[i]
		if err := network.CheckFile(*m, maxFile); err != nil {
			return nil, err
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
		return nil, network.Refuse(chat.Invalid, "the message has no text")
	}
	return parts, nil
}

// message is a message that is ready to be sent.
type message struct {
	id      types.MessageID
	text    string // in WhatsApp's marks
	content *waE2E.Message
}

// compose builds a message, and uploads its file if it has one.
func (c *channel) compose(ctx context.Context, client *whatsmeow.Client, p part) (message, error) {
	if p.poll != nil {
		return message{text: p.text, content: ballot(client, *p.poll)}, nil
	}
	text, mentioned := c.mention(ctx, client.Store.LIDs, p.text)
	content := &waE2E.Message{Conversation: proto.String(text)}
	if p.file != nil {
		var err error
		if content, err = c.attach(ctx, client, *p.file, text); err != nil {
			return message{}, err
		}
	}
	if len(mentioned) > 0 {
		contextOf(content).MentionedJID = mentioned
	}
	return message{text: text, content: content}, nil
}

// inAlbums adds a message before consecutive images and videos so that phones show them as an album.
func (c *channel) inAlbums(client *whatsmeow.Client, to types.JID, out chat.Outgoing, messages []message) []message {
	var list []message
	for n := 0; n < len(messages); {
		files := messages[n : n+together(messages[n:])]
		if len(files) < 2 {
			list = append(list, messages[n])
			n++
			continue
		}
		album := message{id: c.newID(client, out.Key, -1-n), content: head(files)}
		if n == 0 && out.ReplyTo != "" {
			c.quote(album.content, out)
		}
		list = append(list, album)
		for index, m := range files {
			m.content.MessageContextInfo = &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{
				AssociationType:  waE2E.MessageAssociation_MEDIA_ALBUM.Enum(),
				ParentMessageKey: client.BuildMessageKey(to, types.EmptyJID, album.id),
				MessageIndex:     proto.Int32(int32(index)),
			}}
			list = append(list, m)
		}
		n += len(files)
	}
	return list
}

// together returns how many of the messages, from the first on, may be in an album.
func together(messages []message) int {
	for n, m := range messages {
		if m.content.ImageMessage == nil && m.content.VideoMessage == nil {
			return n
		}
	}
	return len(messages)
}

// head returns the message that announces an album.
func head(files []message) *waE2E.Message {
	var images, films uint32
	for _, m := range files {
		if m.content.ImageMessage != nil {
			images++
		} else {
			films++
		}
	}
	return &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{ExpectedImageCount: &images, ExpectedVideoCount: &films}}
}

// quote adds the quote of the message that is replied to. WhatsApp requires a copy of it. Invalid ids are not quoted.
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

// contextOf returns a message's context info, to be filled in.
func contextOf(m *waE2E.Message) *waE2E.ContextInfo {
	if m.Conversation != nil {
		m.ExtendedTextMessage = &waE2E.ExtendedTextMessage{Text: m.Conversation}
		m.Conversation = nil
	}
	var at **waE2E.ContextInfo
	switch {
	case m.ExtendedTextMessage != nil:
		at = &m.ExtendedTextMessage.ContextInfo
	case m.AlbumMessage != nil:
		at = &m.AlbumMessage.ContextInfo
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
	case m.PollCreationMessage != nil:
		at = &m.PollCreationMessage.ContextInfo
	default:
		return &waE2E.ContextInfo{}
	}
	if *at == nil {
		*at = &waE2E.ContextInfo{}
	}
	return *at
}

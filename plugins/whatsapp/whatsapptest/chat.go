package whatsapptest

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// editWindow is how long phones take edits of a message.
const editWindow = 15 * time.Minute

// Message is a message as the phones in a chat show it.
type Message struct {
	ID      types.MessageID
	Number  int       // of all messages that were written, from 1
	Chat    types.JID // the group, or the person that the account talks to
	Author  types.JID // a person's hidden address; empty: the linked device
	Text    string    // a caption too; an edit changes it
	ReplyTo types.MessageID
	Edits   int
	Deleted bool
	// Album names the album that the message is shown in, which has so many files; empty: none.
	Album     types.MessageID
	AlbumSize int
	// Reactions are emojis by the hidden address of who put them there; the linked device's is empty.
	Reactions map[types.JID]string
	Content   *waE2E.Message // as it was written first

	at     time.Time
	server *Server
}

// File fetches and decrypts the file of a message, as a phone does.
func (m Message) File() ([]byte, error) { return m.server.file(m.Content) }

// Answer is a text that answers a message, with the copy of it that phones bring along.
func (s *Server) Answer(to Message, text string) *waE2E.Message {
	author := to.Author
	if author.IsEmpty() {
		author = s.Owner().LID
	}
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: &text, ContextInfo: &waE2E.ContextInfo{
		StanzaID: &to.ID, Participant: proto.String(author.String()), QuotedMessage: proto.CloneOf(to.Content),
	}}}
}

// show has the phones show what a person wrote, or what they changed of what was written. What has come once is not shown
// again. It is called with the lock held.
func (s *Server) show(chat, author types.JID, id types.MessageID, content *waE2E.Message) {
	if edited := content.GetEditedMessage().GetMessage(); edited != nil {
		content = edited
	}
	if child := content.GetAssociatedChildMessage().GetMessage(); child != nil {
		content = child
	}
	change := content.GetProtocolMessage()
	reaction := content.GetReactionMessage()
	switch {
	case reaction != nil:
		if m := s.find(chat, reaction.GetKey().GetID()); m != nil {
			m.Reactions[author] = reaction.GetText()
		}
	case content.GetAlbumMessage() != nil:
		s.albums[id] = int(content.GetAlbumMessage().GetExpectedImageCount() + content.GetAlbumMessage().GetExpectedVideoCount())
	case change == nil:
		if s.find(chat, id) != nil {
			return
		}
		album, size := s.albumOf(content)
		s.shown = append(s.shown, &Message{
			ID: id, Number: len(s.shown) + 1, Chat: chat, Author: author, Text: textOf(content),
			ReplyTo: repliedTo(content), Album: album, AlbumSize: size, Reactions: map[types.JID]string{}, Content: content,
			at: time.Now(), server: s,
		})
	case change.GetType() == waE2E.ProtocolMessage_REVOKE:
		if m := s.find(chat, change.GetKey().GetID()); m != nil {
			m.Deleted = true
		}
	case change.GetEditedMessage() != nil:
		// Phones ignore a late edit without a notice.
		if m := s.find(chat, change.GetKey().GetID()); m != nil && m.Author == author && !m.Deleted && time.Since(m.at) < editWindow {
			m.Text, m.Edits = textOf(change.GetEditedMessage()), m.Edits+1
		}
	}
	s.notify()
}

func (s *Server) find(chat types.JID, id types.MessageID) *Message {
	for _, m := range s.shown {
		if m.ID == id && m.Chat == chat {
			return m
		}
	}
	return nil
}

// Age makes all that was written so far older.
func (s *Server) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.shown {
		m.at = m.at.Add(-by)
	}
}

// Messages are what a chat shows, oldest first, also what was deleted.
func (s *Server) Messages(chat types.JID) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages(chat)
}

func (s *Server) messages(chat types.JID) []Message {
	var list []Message
	for _, m := range s.shown {
		if m.Chat == chat {
			shown := *m
			shown.Reactions = maps.Clone(m.Reactions)
			list = append(list, shown)
		}
	}
	return list
}

// AwaitMessages waits until what a chat shows fulfils a condition, and returns it.
func (s *Server) AwaitMessages(ctx context.Context, chat types.JID, fulfil func([]Message) bool) ([]Message, error) {
	for {
		s.mu.Lock()
		list, changed := s.messages(chat), s.changed
		s.mu.Unlock()
		if fulfil(list) {
			return list, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return list, ctx.Err()
		}
	}
}

// textOf is what a message says, a caption or an edit's new text too.
func textOf(m *waE2E.Message) string {
	if edited := m.GetEditedMessage().GetMessage(); edited != nil {
		m = edited
	}
	if p := m.GetProtocolMessage(); p.GetEditedMessage() != nil {
		m = p.GetEditedMessage()
	}
	texts := []string{
		m.GetConversation(), m.GetExtendedTextMessage().GetText(), m.GetImageMessage().GetCaption(),
		m.GetVideoMessage().GetCaption(), m.GetDocumentMessage().GetCaption(),
	}
	if i := slices.IndexFunc(texts, func(text string) bool { return text != "" }); i >= 0 {
		return texts[i]
	}
	return ""
}

func repliedTo(m *waE2E.Message) types.MessageID {
	for _, info := range []*waE2E.ContextInfo{
		m.GetExtendedTextMessage().GetContextInfo(), m.GetImageMessage().GetContextInfo(), m.GetVideoMessage().GetContextInfo(),
		m.GetAudioMessage().GetContextInfo(), m.GetStickerMessage().GetContextInfo(), m.GetDocumentMessage().GetContextInfo(),
	} {
		if info.GetStanzaID() != "" {
			return info.GetStanzaID()
		}
	}
	return ""
}

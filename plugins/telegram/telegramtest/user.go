package telegramtest

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// User is a person on Telegram. Change the names before the first message.
type User struct {
	ID        int64
	FirstName string
	LastName  string
	Username  string

	server *Server
	isBot  bool
}

// Post is a message that a user writes.
type Post struct {
	Chat          int64 // zero: the private chat with the bot
	Thread        int   // the forum topic
	Text          string
	Entities      []Entity // in addition to the mentions and commands that Telegram finds in the text
	ReplyTo       int
	Elsewhere     int64  // the chat of the message that is answered, if it is another one
	Quote         string // the part of the message that is answered
	Media         string // photo, document, audio, voice, video or sticker; Text is then its caption
	File          []byte
	FileName      string
	MIMEType      string
	ForwardedFrom string // the name of a person who hides their account
	Rich          bool   // the text is the Markdown of a rich message, which people can only forward

	album int
}

// Send writes a text in a chat (zero: the private chat with the bot). The bot gets it as an update.
func (u *User) Send(chat int64, text string) Message { return u.Post(Post{Chat: chat, Text: text}) }

// Post writes a message. The bot gets it as an update.
func (u *User) Post(p Post) Message {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	return u.post(p)
}

// Album posts files at once. The bot gets each as an update of its own.
func (u *User) Album(posts ...Post) []Message {
	s := u.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	album := s.lastID
	messages := make([]Message, len(posts))
	for i, p := range posts {
		p.album = album
		messages[i] = u.post(p)
	}
	return messages
}

// post is Post with the lock held.
func (u *User) post(p Post) Message {
	s := u.server
	if p.Chat == 0 {
		p.Chat = u.ID
	}
	c := s.mustHave(p.Chat)
	s.lastID++
	m := &Message{
		ID: s.lastID, Chat: p.Chat, Thread: p.Thread, From: u.ID, Text: p.Text, ReplyTo: p.ReplyTo, Elsewhere: p.Elsewhere,
		Quote: p.Quote, At: time.Now(),
		Entities: sortEntities(append(findEntities(p.Text), p.Entities...)), media: map[string]any{},
	}
	if p.Rich {
		m.Rich, m.Entities = true, nil
	}
	if p.Media != "" {
		m.media[p.Media] = s.store(p)
	}
	if p.ForwardedFrom != "" {
		m.media["forward_origin"] = map[string]any{"type": "hidden_user", "sender_user_name": p.ForwardedFrom, "date": time.Now().Unix()}
	}
	m.Media, m.File, m.FileName, m.MIMEType, m.Album = p.Media, p.File, p.FileName, p.MIMEType, p.album
	s.messages = append(s.messages, m)
	kind := "message"
	if c.kind == "channel" {
		kind = "channel_post"
	}
	m.Update = s.push(kind, s.messageJSON(m))
	return *m
}

// store keeps a post's file and describes it as the Bot API does.
func (s *Server) store(p Post) any {
	id := strconv.Itoa(len(s.files) + 1)
	path := p.Media + "s/file_" + id
	s.files[path] = p.File
	file := map[string]any{"file_id": path, "file_unique_id": "u" + id, "file_size": len(p.File)}
	switch p.Media {
	case "photo":
		file["width"], file["height"] = 800, 600
		small := map[string]any{"file_id": path + "_small", "file_unique_id": "s" + id, "file_size": 1, "width": 90, "height": 60}
		return []any{small, file}
	case "sticker":
		file["width"], file["height"], file["emoji"], file["type"] = 512, 512, "🙂", "regular"
	default:
		file["duration"] = 1
		if p.FileName != "" {
			file["file_name"] = p.FileName
		}
		if p.MIMEType != "" {
			file["mime_type"] = p.MIMEType
		}
	}
	return file
}

// Edit changes the text of a message that the user wrote.
func (u *User) Edit(chat int64, id int, text string) {
	s := u.server
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(chat, id)
	if m == nil || m.From != u.ID {
		panic(fmt.Sprintf("telegramtest: user %d wrote no message %d in chat %d", u.ID, id, chat))
	}
	m.Text, m.Entities = text, findEntities(text)
	m.Edits++
	s.push("edited_message", s.messageJSON(m))
}

// React puts an emoji on a message in place of the user's last one; an empty emoji takes that back. The bot gets it as an
// update, in groups as if it were an admin.
func (u *User) React(chat int64, id int, emoji string) {
	s := u.server
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(chat, id)
	if m == nil {
		panic(fmt.Sprintf("telegramtest: no message %d in chat %d", id, chat))
	}
	list := func(emoji string) []any {
		if emoji == "" {
			return []any{}
		}
		return []any{map[string]any{"type": "emoji", "emoji": emoji}}
	}
	old := m.reactions[u.ID]
	if m.reactions == nil {
		m.reactions = map[int64]string{}
	}
	m.reactions[u.ID] = emoji
	s.push("message_reaction", map[string]any{
		"chat": s.chatJSON(s.mustHave(chat)), "message_id": id, "user": u.json(), "date": time.Now().Unix(),
		"old_reaction": list(old), "new_reaction": list(emoji),
	})
}

// Delete deletes a message, which bots do not learn of.
func (u *User) Delete(chat int64, id int) {
	s := u.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m *Message) bool { return m.Chat == chat && m.ID == id })
	s.notify()
}

// Press presses a button under a message of the bot and returns the query's id.
func (u *User) Press(chat int64, id int, data string) string {
	s := u.server
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(chat, id)
	if m == nil {
		panic(fmt.Sprintf("telegramtest: no message %d in chat %d", id, chat))
	}
	s.lastID++
	query := strconv.Itoa(s.lastID)
	s.queries[query] = true
	s.push("callback_query", map[string]any{
		"id": query, "from": u.json(), "message": s.messageJSON(m), "chat_instance": "1", "data": data,
	})
	return query
}

// Block has the user block the bot.
func (u *User) Block() {
	u.server.setMember(u, u.ID, "Forbidden: bot was blocked by the user", "member", "kicked")
}

// Unblock has the user take that back.
func (u *User) Unblock() { u.server.setMember(u, u.ID, "", "kicked", "member") }

// Mention is an entity for a text that names the user without an "@"; offset and length are in UTF-16 code units.
func (u *User) Mention(offset, length int) Entity {
	return Entity{Type: "text_mention", Offset: offset, Length: length, User: u.json()}
}

func (u *User) json() map[string]any {
	object := map[string]any{"id": u.ID, "is_bot": u.isBot, "first_name": u.FirstName}
	if u.LastName != "" {
		object["last_name"] = u.LastName
	}
	if u.Username != "" {
		object["username"] = u.Username
	}
	return object
}

func (s *Server) chatJSON(c *chatState) map[string]any {
	object := map[string]any{"id": c.id, "type": c.kind}
	if c.kind == "private" {
		u := s.users[c.id]
		object["first_name"], object["last_name"], object["username"] = u.FirstName, u.LastName, u.Username
		return object
	}
	object["title"] = c.title
	if c.forum {
		object["is_forum"] = true
	}
	return object
}

// messageJSON is a message as the Bot API tells it, with the message that it answers one level deep.
func (s *Server) messageJSON(m *Message) map[string]any {
	object := s.bareJSON(m)
	c := s.chats[m.Chat]
	answered := m.ReplyTo
	if answered == 0 && c.forum && m.Thread != 0 && !m.isTopic {
		answered = m.Thread // In a topic what answers nothing answers the topic's beginning.
	}
	if target := s.find(m.Elsewhere, m.ReplyTo); target != nil {
		object["external_reply"] = s.externalJSON(target)
	} else if target := s.find(m.Chat, answered); target != nil {
		object["reply_to_message"] = s.bareJSON(target)
		if c.kind == "supergroup" && !c.forum {
			object["message_thread_id"] = answered // A thread of replies, which is no topic.
		}
	}
	if m.Quote != "" {
		object["quote"] = map[string]any{"text": m.Quote, "position": 0, "is_manual": true}
	}
	return object
}

// externalJSON is a message of another chat that is answered: of whom it is, and its file, but not what it says.
func (s *Server) externalJSON(m *Message) map[string]any {
	object := map[string]any{"message_id": m.ID, "chat": s.chatJSON(s.chats[m.Chat])}
	if u := s.users[m.From]; u != nil {
		object["origin"] = map[string]any{"type": "user", "sender_user": u.json(), "date": m.At.Unix()}
	}
	for name, value := range m.media {
		if name != "forward_origin" {
			object[name] = value
		}
	}
	return object
}

func (s *Server) bareJSON(m *Message) map[string]any {
	c := s.chats[m.Chat]
	object := map[string]any{"message_id": m.ID, "chat": s.chatJSON(c), "date": m.At.Unix()}
	if c.kind == "channel" {
		object["sender_chat"] = s.chatJSON(c)
	} else if u := s.users[m.From]; u != nil {
		object["from"] = u.json()
	}
	if c.forum && m.Thread > generalTopic {
		object["message_thread_id"], object["is_topic_message"] = m.Thread, true
	}
	text, entities := "text", "entities"
	for name, value := range m.media {
		object[name] = value
		if name != "forward_origin" {
			text, entities = "caption", "caption_entities"
		}
	}
	switch {
	case m.Rich: // It has neither text nor caption.
		object["rich_message"] = richMessage(m.Text)
	case m.Text != "":
		object[text] = m.Text
	}
	if m.Album != 0 {
		object["media_group_id"] = strconv.Itoa(m.Album)
	}
	if len(m.Buttons) > 0 {
		object["reply_markup"] = map[string]any{"inline_keyboard": m.Buttons}
	}
	if len(m.Entities) > 0 {
		object[entities] = m.Entities
	}
	if m.Edits > 0 {
		object["edit_date"] = time.Now().Unix()
	}
	return object
}

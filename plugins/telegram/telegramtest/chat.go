package telegramtest

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// generalTopic is the topic of a forum that messages without a thread are in.
const generalTopic = 1

// Message is a message as a chat shows it.
type Message struct {
	ID        int
	Chat      int64
	Thread    int // the forum topic
	From      int64
	Text      string // or the caption, or the Markdown of a rich message
	Rich      bool
	Entities  []Entity
	ReplyTo   int
	Elsewhere int64 // the chat of the message that is answered, if it is another one
	Quote     string
	Buttons   [][]Button
	Silent    bool
	Edits     int
	Reaction  string // the bot's
	Pinned    bool
	At        time.Time
	Poll      *Poll
	Update    int // the update by which the bot got it; zero: none

	// What comes with the text: photo, document, audio, voice, video, sticker or nothing.
	Media    string
	File     []byte
	FileName string
	MIMEType string
	Album    int // what the messages of an album have in common

	media   map[string]any // what the message has in addition to text, by the names of the Bot API
	isTopic bool

	reactions map[int64]string // people's, by their id
}

// Button is one button of an inline keyboard.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// chatState is a chat that the bot knows.
type chatState struct {
	id         int64
	kind       string // private, group, supergroup or channel
	title      string
	forum      bool
	topics     map[int]string
	without    string // why the bot cannot write here; empty if it can
	migratedTo int64
	admins     []admin
	pins       bool  // the bot has the right to pin messages of a group
	pinLines   []int // the messages that say that a message was pinned
}

// User returns the person with an id, who is new to the bot at the first call: their private chat, which has the same
// id, is there from then on.
func (s *Server) User(id int64) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.users[id]; ok {
		return u
	}
	u := &User{server: s, ID: id, FirstName: fmt.Sprintf("User%d", id), Username: fmt.Sprintf("user_%d", id)}
	s.users[id] = u
	s.chats[id] = &chatState{id: id, kind: "private"}
	return u
}

// Group makes a supergroup that the bot is in. Its id should be negative.
func (s *Server) Group(id int64, title string) {
	s.addChat(&chatState{id: id, kind: "supergroup", title: title})
}

// SmallGroup makes a basic group that the bot is in; [Server.Migrate] can make a supergroup of it.
func (s *Server) SmallGroup(id int64, title string) {
	s.addChat(&chatState{id: id, kind: "group", title: title})
}

// Forum makes a supergroup with topics that the bot is in.
func (s *Server) Forum(id int64, title string) {
	s.addChat(&chatState{id: id, kind: "supergroup", title: title, forum: true, topics: map[int]string{generalTopic: "General"}})
}

// Channel makes a broadcast channel that the bot is in.
func (s *Server) Channel(id int64, title string) {
	s.addChat(&chatState{id: id, kind: "channel", title: title})
}

func (s *Server) addChat(c *chatState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[c.id] = c
}

// Topic opens a topic in a forum and returns its thread id.
func (s *Server) Topic(by *User, forum int64, name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	id := s.lastID
	c := s.mustHave(forum)
	c.topics[id] = name
	m := &Message{
		ID: id, Chat: forum, Thread: id, From: by.ID, At: time.Now(), isTopic: true,
		media: map[string]any{"forum_topic_created": topicCreated(name)},
	}
	s.messages = append(s.messages, m)
	s.push("message", s.messageJSON(m))
	return id
}

func topicCreated(name string) map[string]any {
	return map[string]any{"name": name, "icon_color": 0x6FB9F0}
}

// Migrate makes a supergroup with another id of a basic group.
func (s *Server) Migrate(by *User, from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.mustHave(from)
	old.migratedTo = to
	s.chats[to] = &chatState{id: to, kind: "supergroup", title: old.title}
	s.service(by, from, "migrate_to_chat_id", to)
	s.service(by, to, "migrate_from_chat_id", from)
}

func (s *Server) service(by *User, chat int64, name string, value any) {
	s.lastID++
	m := &Message{ID: s.lastID, Chat: chat, From: by.ID, At: time.Now(), media: map[string]any{name: value}}
	s.messages = append(s.messages, m)
	s.push("message", s.messageJSON(m))
}

// RemoveBot takes the bot out of a group.
func (s *Server) RemoveBot(by *User, chat int64) {
	s.setMember(by, chat, "Forbidden: bot was kicked from the "+s.kindOf(chat)+" chat", "member", "kicked")
}

// AddBot puts the bot into a group that it was removed from.
func (s *Server) AddBot(by *User, chat int64) { s.setMember(by, chat, "", "left", "member") }

func (s *Server) kindOf(chat int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mustHave(chat).kind
}

func (s *Server) setMember(by *User, chat int64, without, before, after string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustHave(chat)
	c.without = without
	s.push("my_chat_member", map[string]any{
		"chat": s.chatJSON(c), "from": by.json(), "date": time.Now().Unix(),
		"old_chat_member": map[string]any{"user": s.bot.json(), "status": before},
		"new_chat_member": map[string]any{"user": s.bot.json(), "status": after},
	})
}

// mustHave is the chat, which the test has made. The lock is held.
func (s *Server) mustHave(chat int64) *chatState {
	c, ok := s.chats[chat]
	if !ok {
		panic(fmt.Sprintf("telegramtest: no chat %d: make it with User, Group or Forum", chat))
	}
	return c
}

// Messages are the messages of a chat that were not deleted, oldest first.
func (s *Server) Messages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messagesOf(chat, func(*Message) bool { return true })
}

// Replies are the messages of a chat that the bot wrote, oldest first.
func (s *Server) Replies(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messagesOf(chat, s.isBots)
}

func (s *Server) isBots(m *Message) bool { return m.From == s.botID }

func (s *Server) messagesOf(chat int64, keep func(*Message) bool) []Message {
	var messages []Message
	for _, m := range s.messages {
		if m.Chat == chat && keep(m) {
			copied := *m
			copied.Entities = slices.Clone(m.Entities)
			messages = append(messages, copied)
		}
	}
	return messages
}

// AwaitReplies waits until the bot has written n messages in a chat, and returns all of them.
func (s *Server) AwaitReplies(ctx context.Context, chat int64, n int) ([]Message, error) {
	var replies []Message
	err := s.await(ctx, func() bool {
		replies = s.messagesOf(chat, s.isBots)
		return len(replies) >= n
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d replies in chat %d: %w", len(replies), n, chat, err)
	}
	return replies, nil
}

// AwaitMessage waits until a message of the bot in a chat matches, and returns it.
func (s *Server) AwaitMessage(ctx context.Context, chat int64, match func(Message) bool) (Message, error) {
	var found Message
	err := s.await(ctx, func() bool {
		for _, m := range s.messagesOf(chat, s.isBots) {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	if err != nil {
		return Message{}, fmt.Errorf("no such message in chat %d: %w", chat, err)
	}
	return found, nil
}

// find is a chat's message. The lock is held.
func (s *Server) find(chat int64, id int) *Message {
	for _, m := range s.messages {
		if m.Chat == chat && m.ID == id {
			return m
		}
	}
	return nil
}

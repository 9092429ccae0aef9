package discordtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// User creates a person, or renames one.
func (s *Server) User(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[id] = name
}

// Direct makes a person's direct channel, whose id is given.
func (s *Server) Direct(user, id string) { s.make(&channel{id: id, kind: direct, person: user}) }

// DirectOf is the id of a person's direct channel; empty: no such channel.
func (s *Server) DirectOf(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.directOf(user)
}

// directOf is [Server.DirectOf]; mu is held.
func (s *Server) directOf(user string) string {
	for _, c := range s.channels {
		if c.person == user {
			return c.id
		}
	}
	return ""
}

// Channel makes a text channel of a guild.
func (s *Server) Channel(guild, id, name string) {
	s.make(&channel{id: id, guild: guild, name: name, kind: guildText})
}

// Forum makes a forum of a guild.
func (s *Server) Forum(guild, id, name string) {
	s.make(&channel{id: id, guild: guild, name: name, kind: forum})
}

// Thread makes a thread of a channel or a post of a forum.
func (s *Server) Thread(parent, id, name string) {
	s.mu.Lock()
	guild := s.channels[parent].guild
	s.mu.Unlock()
	s.make(&channel{id: id, guild: guild, parent: parent, name: name, kind: publicThread})
}

// make adds a channel, and tells of one in a guild.
func (s *Server) make(c *channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c.id] = c
	s.order = append(s.order, c.id)
	name := map[int]string{guildText: "CHANNEL_CREATE", forum: "CHANNEL_CREATE", publicThread: "THREAD_CREATE"}[c.kind]
	if name == "" {
		return
	}
	for _, session := range s.sessions {
		s.push(session, name, s.channelObject(c))
	}
}

// Option is something more of a message that a person writes.
type Option func(*Server, *Message)

// ReplyingTo makes it an answer to another message.
func ReplyingTo(id string) Option { return func(_ *Server, m *Message) { m.ReplyTo = id } }

// WithFile adds a file.
func WithFile(name, mime string, content []byte) Option {
	return func(s *Server, m *Message) { s.attach(m, File{Name: name, Type: mime, Content: content}) }
}

// WithVoice makes it a voice message, in Opus.
func WithVoice(content []byte) Option {
	return func(s *Server, m *Message) {
		s.attach(m, File{Name: "voice-message.ogg", Type: "audio/ogg", Content: content})
		m.Voice = &Voice{Seconds: 1.5, Waveform: []byte{0, 8, 32, 32}}
	}
}

// ByWebhook makes it come from a program.
func ByWebhook() Option { return func(_ *Server, m *Message) { m.webhook = true } }

// attach adds a file to a message; mu is held.
func (s *Server) attach(m *Message, f File) {
	id := s.newID()
	path := "/attachments/" + m.Channel + "/" + id + "/file"
	s.files[path] = f.Content
	m.attached = append(m.attached, &attachment{id: id, name: f.Name, mime: f.Type, path: path, size: len(f.Content)})
}

// WithEmbed adds an embed of this title.
func WithEmbed(title string) Option { return func(_ *Server, m *Message) { m.embed = title } }

// Forwarding makes it a forward of a message with this text.
func Forwarding(text string) Option { return func(_ *Server, m *Message) { m.snapshot = text } }

// Say has a person write into a channel, and returns the message's id.
func (s *Server) Say(channel, user, text string, options ...Option) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	m := &Message{Channel: channel, Author: user, Text: text}
	for _, o := range options {
		o(s, m)
	}
	s.add(c, m)
	s.dispatch("MESSAGE_CREATE", c, func(content bool) object { return s.messageObject(m, content) }, m)
	return m.ID
}

// add gives a message its id and place; mu is held.
func (s *Server) add(c *channel, m *Message) {
	m.ID, m.at = s.newID(), time.Now()
	s.messages[m.ID] = m
	c.last = m.ID
	s.signal()
}

// Change has a person edit a message.
func (s *Server) Change(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	m.Text, m.edited = text, time.Now()
	s.dispatch("MESSAGE_UPDATE", s.channels[m.Channel], func(content bool) object { return s.messageObject(m, content) }, m)
}

// Remove has a person delete messages of one channel; several go in one event.
func (s *Server) Remove(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(ids...)
}

// remove deletes messages; mu is held.
func (s *Server) remove(ids ...string) {
	for _, id := range ids {
		s.messages[id].Deleted = true
	}
	c := s.channels[s.messages[ids[0]].Channel]
	o := object{"channel_id": c.id}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	name := "MESSAGE_DELETE_BULK"
	if o["ids"] = ids; len(ids) == 1 {
		name, o["id"] = "MESSAGE_DELETE", ids[0]
		delete(o, "ids")
	}
	s.dispatch(name, c, func(bool) object { return o }, nil)
}

// Role makes a role of a guild; that of a bot has the bot's id.
func (s *Server) Role(guild, id, name, bot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	role := roleObject(id, name)
	if bot != "" {
		role["managed"], role["tags"] = true, object{"bot_id": bot}
	}
	s.roles[guild] = append(s.roles[guild], role)
	for _, session := range s.sessions {
		s.push(session, "GUILD_ROLE_CREATE", object{"guild_id": guild, "role": role})
	}
}

// Joined says when the bot was let into the guilds, for later sessions.
func (s *Server) Joined(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = at
}

// React has a person put an emoji on a message, or take it back.
func (s *Server) React(id, user, emoji string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	m.liked = slices.DeleteFunc(m.liked, func(e string) bool { return e == emoji })
	if on {
		m.liked = append(m.liked, emoji)
	}
	c := s.channels[m.Channel]
	o := object{"user_id": user, "channel_id": c.id, "message_id": id, "emoji": object{"id": nil, "name": emoji}}
	if c.guild != "" {
		o["guild_id"] = c.guild
		o["member"] = object{"user": s.userObject(user)}
	}
	name := "MESSAGE_REACTION_ADD"
	if !on {
		name = "MESSAGE_REACTION_REMOVE"
	}
	s.dispatch(name, c, func(bool) object { return o }, nil)
}

// Type has a person begin to type into a channel.
func (s *Server) Type(channel, user string) { s.TypeAt(channel, user, time.Now()) }

// TypeAt is [Server.Type] at a given time.
func (s *Server) TypeAt(channel, user string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typing(s.channels[channel], user, at)
}

// typing tells the bot who types, also if it is the bot; mu is held.
func (s *Server) typing(c *channel, user string, at time.Time) {
	o, needs := object{"channel_id": c.id, "user_id": user, "timestamp": at.Unix()}, intentDirectTyping
	if c.guild != "" {
		o["guild_id"], needs = c.guild, intentGuildTyping
		o["member"] = object{"user": s.userObject(user), "roles": []string{}}
	}
	for _, session := range s.sessions {
		if session.intents&needs != 0 {
			s.push(session, "TYPING_START", o)
		}
	}
	s.signal()
}

// Messages are a channel's that were not deleted, in order.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	for _, m := range s.messages {
		if m.Channel == channel && !m.Deleted {
			list = append(list, *m)
		}
	}
	slices.SortFunc(list, func(a, b Message) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return list
}

// AwaitMessages waits until the messages of a channel fulfil a condition, and returns them.
func (s *Server) AwaitMessages(ctx context.Context, channel string, fulfil func([]Message) bool) ([]Message, error) {
	var list []Message
	err := s.await(ctx, func() bool {
		list = s.Messages(channel)
		return fulfil(list)
	})
	if err != nil {
		return list, fmt.Errorf("the messages of channel %s are others: %w", channel, err)
	}
	return list, nil
}

// Replies are the messages of a channel that the bot has sent.
func (s *Server) Replies(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.Author != BotID })
}

// Get returns a message.
func (s *Server) Get(id string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.messages[id]
}

// Commands is the bot's menu.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// Typings counts the typing signals in a channel.
func (s *Server) Typings(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].typing
}

// Asked counts the requests for a channel's messages.
func (s *Server) Asked(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].asked
}

// Forbid takes the bot's access to a channel away.
func (s *Server) Forbid(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[channel] = true
}

// ForbidVoices takes the bot's permission to send voice messages in a channel away.
func (s *Server) ForbidVoices(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.voiceless[channel] = true
}

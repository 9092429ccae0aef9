package discordtest

import (
	"slices"
	"time"
)

// User makes a person, or names one anew.
func (s *Server) User(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[id] = name
}

// Direct makes a person's direct channel, whose id is given.
func (s *Server) Direct(id string) { s.make(&channel{id: id, kind: direct}) }

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
	return func(s *Server, m *Message) {
		path := "/attachments/" + m.Channel + "/" + s.newID() + "/file"
		s.files[path] = content
		m.file = &attachment{name: name, mime: mime, path: path, size: len(content)}
	}
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

// Remove has a person delete a message.
func (s *Server) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	s.remove(s.channels[m.Channel], m)
}

// remove deletes a message; mu is held.
func (s *Server) remove(c *channel, m *Message) {
	m.Deleted = true
	o := object{"id": m.ID, "channel_id": c.id}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	s.dispatch("MESSAGE_DELETE", c, func(bool) object { return o }, nil)
}

// React has a person put an emoji on a message, or take it back.
func (s *Server) React(id, user, emoji string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
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

// Use has a person pick a command of the menu, and returns the interaction's id.
func (s *Server) Use(channel, user, command, args string) string {
	data := object{"id": "1", "name": command, "type": 1}
	if args != "" {
		data["options"] = []object{{"name": "args", "type": 3, "value": args}}
	}
	return s.interact(channel, user, object{"type": 2, "data": data})
}

// Press has a person press a button, and returns the interaction's id.
func (s *Server) Press(message, user, data string) string {
	s.mu.Lock()
	m := s.messages[message]
	pressed := s.messageObject(m, true)
	s.mu.Unlock()
	return s.interact(m.Channel, user, object{
		"type": 3, "message": pressed, "data": object{"component_type": 2, "custom_id": data},
	})
}

func (s *Server) interact(channel, user string, o object) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, id := s.channels[channel], s.newID()
	o["id"], o["application_id"], o["channel_id"], o["token"], o["version"] = id, ApplicationID, channel, "t"+id, 1
	if c.guild == "" {
		o["user"] = s.userObject(user)
	} else {
		o["guild_id"], o["member"] = c.guild, object{"user": s.userObject(user)}
	}
	s.waiting[id] = time.Now()
	for _, session := range s.sessions {
		s.push(session, "INTERACTION_CREATE", o)
	}
	return id
}

// Replies are the messages that the bot has sent to a channel and not deleted, in order.
func (s *Server) Replies(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	for _, m := range s.messages {
		if m.Channel == channel && m.Author == BotID && !m.Deleted {
			list = append(list, *m)
		}
	}
	slices.SortFunc(list, func(a, b Message) int { return int(min(1, max(-1, number(a.ID)-number(b.ID)))) })
	return list
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

// Answers are the bot's answers to interactions.
func (s *Server) Answers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Typings counts the typing signals in a channel.
func (s *Server) Typings(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].typing
}

// Forbid takes the bot's access to a channel away.
func (s *Server) Forbid(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[channel] = true
}

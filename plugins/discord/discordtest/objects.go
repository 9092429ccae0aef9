package discordtest

import (
	"slices"
	"strings"
	"time"
)

// The objects as Discord writes them; mu is held.

func (s *Server) userObject(id string) object {
	return object{"id": id, "username": s.users[id], "global_name": nil, "bot": id == BotID, "discriminator": "0"}
}

func (s *Server) channelObject(c *channel) object {
	o := object{"id": c.id, "type": c.kind, "name": c.name, "last_message_id": nil}
	if c.last != "" {
		o["last_message_id"] = c.last
	}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	if c.person != "" {
		o["recipients"] = []object{s.userObject(c.person)}
	}
	if c.parent != "" {
		o["parent_id"] = c.parent
	}
	return o
}

// messageObject leaves the content out where the bot may not see it.
func (s *Server) messageObject(m *Message, content bool) object {
	c := s.channels[m.Channel]
	o := object{
		"id": m.ID, "channel_id": m.Channel, "channel_type": c.kind, "author": s.userObject(m.Author), "content": "", "type": 0,
		"timestamp": m.at.UTC().Format(time.RFC3339Nano), "edited_timestamp": nil,
		"mentions": []object{}, "mention_roles": []string{}, "attachments": []object{}, "embeds": []object{},
	}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	if m.webhook {
		o["webhook_id"] = m.Author
	}
	if m.Nonce != "" {
		o["nonce"] = m.Nonce
	}
	if !m.edited.IsZero() {
		o["edited_timestamp"] = m.edited.UTC().Format(time.RFC3339Nano)
	}
	mentions := s.mentioned(m.Text)
	if target := s.messages[m.ReplyTo]; target != nil {
		o["type"] = 19
		o["message_reference"] = object{"message_id": target.ID, "channel_id": m.Channel}
		if !target.Deleted {
			short := *target
			short.ReplyTo = ""
			o["referenced_message"] = s.messageObject(&short, true)
			mentions = append(mentions, s.userObject(target.Author)) // A reply pings.
		}
	}
	o["mentions"] = mentions
	if !content {
		return o
	}
	o["content"] = m.Text
	if m.embed != "" {
		o["embeds"] = []object{{"type": "rich", "title": m.embed, "description": "about " + m.embed}}
	}
	if m.snapshot != "" {
		o["message_reference"] = object{"type": 1, "message_id": "1", "channel_id": "2"}
		o["message_snapshots"] = []object{{"message": object{
			"content": m.snapshot, "timestamp": m.at.UTC().Format(time.RFC3339Nano), "embeds": []object{}, "attachments": []object{},
		}}}
	}
	attachments := []object{}
	for _, f := range m.attached {
		a := object{
			"id": f.id, "filename": f.name, "content_type": f.mime, "size": f.size,
			"url": "https://cdn.discordapp.com" + f.path, "proxy_url": "https://media.discordapp.net" + f.path,
		}
		if m.Voice != nil {
			a["duration_secs"], a["waveform"], o["flags"] = m.Voice.Seconds, m.Voice.Waveform, spoken
		}
		attachments = append(attachments, a)
	}
	o["attachments"] = attachments
	if reactions := m.reactions(); len(reactions) > 0 {
		o["reactions"] = reactions
	}
	return o
}

// reactions are a message's, those of the bot marked.
func (m *Message) reactions() []object {
	var list []object
	for _, emoji := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.Reactions, m.liked)))) {
		name, id, custom := strings.Cut(emoji, ":")
		e := object{"id": nil, "name": name}
		if custom {
			e["id"] = id
		}
		list = append(list, object{"emoji": e, "me": slices.Contains(m.Reactions, emoji), "count": 1})
	}
	return list
}

// rolesOf are a guild's, with the one of everybody.
func (s *Server) rolesOf(guild string) []object {
	return append(slices.Clone(s.roles[guild]), roleObject(guild, "@everyone"))
}

func roleObject(id, name string) object {
	return object{
		"id": id, "name": name, "color": 0, "hoist": false, "position": 0, "permissions": "0", "managed": false, "mentionable": false, "flags": 0,
	}
}

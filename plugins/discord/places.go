package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	maxPlaces = 20000 // channels that are remembered
	maxGuilds = 200   // servers whose roles are remembered
)

// places caches channels, and the roles that texts mention. It is used by one goroutine.
type places struct {
	rest  *rest
	byID  map[string]place
	roles map[string]map[string]role // by server and id
}

func newPlaces(r *rest) places {
	return places{rest: r, byID: map[string]place{}, roles: map[string]map[string]role{}}
}

// place is a channel, a direct channel or a thread.
type place struct {
	name   string
	guild  string // empty: a direct channel
	parent string // if it is a thread
	kind   discordgo.ChannelType
}

// role is a role of a server.
type role struct {
	ID   string
	Name string
	Tags struct {
		BotID string `json:"bot_id"` // the bot whose own role it is
	}
}

func (p *places) learn(c *discordgo.Channel, guild string) {
	if len(p.byID) >= maxPlaces {
		clear(p.byID)
	}
	if c.GuildID != "" {
		guild = c.GuildID
	}
	p.byID[c.ID] = place{name: c.Name, guild: guild, parent: c.ParentID, kind: c.Type}
}

func (p *places) forget(id string) { delete(p.byID, id) }

// find returns a channel, and asks Discord if it is not cached. A channel without a server is a direct channel. One that
// Discord does not know counts as a text channel.
func (p *places) find(ctx context.Context, id, guild string) (place, error) {
	if known, ok := p.byID[id]; ok {
		return known, nil
	}
	if guild == "" {
		return place{kind: discordgo.ChannelTypeDM}, nil
	}
	c := discordgo.Channel{}
	err := p.rest.call(ctx, "GET channel", http.MethodGet, "channels/"+id, nil, &c)
	if refused(err) || err == nil && c.ID != id {
		c, err = discordgo.Channel{ID: id, Type: discordgo.ChannelTypeGuildText}, nil
	}
	if err != nil {
		return place{}, err
	}
	p.learn(&c, guild)
	return p.byID[id], nil
}

// knows reports whether a channel, with what it belongs to, is located without asking Discord.
func (p *places) knows(id, guild string) bool {
	here, known := p.byID[id]
	if known && isThread(here.kind) && here.parent != "" {
		_, known = p.byID[here.parent]
		return known
	}
	return known || guild == ""
}

// role returns a role by its id, or false if it is unknown.
func (p *places) role(ctx context.Context, guild, id string) (role, bool, error) {
	if guild == "" {
		return role{}, false, nil
	}
	if _, known := p.roles[guild]; !known {
		var list []role
		if err := p.rest.call(ctx, "GET roles", http.MethodGet, "guilds/"+guild+"/roles", nil, &list); err != nil && !refused(err) {
			return role{}, false, err
		}
		if len(p.roles) >= maxGuilds {
			clear(p.roles)
		}
		p.roles[guild] = map[string]role{}
		for _, r := range list {
			p.roles[guild][r.ID] = r
		}
	}
	found, ok := p.roles[guild][id]
	return found, ok, nil
}

// forgetRoles evicts a server's roles.
func (p *places) forgetRoles(guild string) { delete(p.roles, guild) }

// refused reports whether Discord has answered definitively.
func refused(err error) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && !e.MayPass()
}

func isThread(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildPublicThread || t == discordgo.ChannelTypeGuildPrivateThread ||
		t == discordgo.ChannelTypeGuildNewsThread
}

// locate sets an event's chat and thread.
func (p *places) locate(ctx context.Context, event *chat.Event, id, guild string) error {
	here, err := p.find(ctx, id, guild)
	if err != nil {
		return err
	}
	event.Chat = chat.Chat{ID: chat.ID(id), Kind: chat.Group, Title: here.name, Parent: chat.ID(here.guild)}
	switch {
	case here.kind == discordgo.ChannelTypeDM:
		event.Chat.Kind, event.Chat.Title = chat.Direct, ""
	case here.kind == discordgo.ChannelTypeGuildNews:
		event.Chat.Kind = chat.Broadcast
	case isThread(here.kind) && here.parent != "":
		above, err := p.find(ctx, here.parent, here.guild)
		if err != nil {
			return err
		}
		event.Thread = chat.ThreadID(id)
		event.Chat.ID, event.Chat.Title = chat.ID(here.parent), above.name
	}
	return nil
}

// starter returns the start of a thread: its name, and the message that it belongs to unless that is the given one. A
// thread and its first message have the same id.
func (p *places) starter(ctx context.Context, in inbound, thread, message string) (string, error) {
	here := p.byID[thread]
	if thread == message || here.parent == "" {
		return here.name, nil
	}
	for _, channel := range []string{here.parent, thread} { // the first message of a forum post is in the thread itself
		var m discordgo.Message
		err := p.rest.call(ctx, "GET message", http.MethodGet, "channels/"+channel+"/messages/"+thread, nil, &m)
		switch {
		case err == nil && m.ID == thread:
			m.GuildID = here.guild
			text, err := in.read(ctx, &m)
			return joined(here.name, text.text), err
		case err != nil && !refused(err):
			return "", err
		}
	}
	return here.name, nil
}

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

// places knows what the channels are, and the roles that texts name. One goroutine uses it.
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
	parent string // of a thread
	kind   discordgo.ChannelType
}

// role is a role of a server.
type role struct {
	ID   string
	Name string
	Tags struct {
		BotID string `json:"bot_id"` // whose own role it is
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

// find asks Discord for what it does not know. What is in no server is a direct channel. A channel that Discord does not
// tell of is taken for one of text.
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

// role is a role by its id; false: it is not known.
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

// forgetRoles has a server's roles be asked for again.
func (p *places) forgetRoles(guild string) { delete(p.roles, guild) }

// refused tells whether Discord has answered and will not answer otherwise.
func refused(err error) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && !e.MayPass()
}

func isThread(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildPublicThread || t == discordgo.ChannelTypeGuildPrivateThread || t == discordgo.ChannelTypeGuildNewsThread
}

// locate fills in where an event is.
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

// starter is what a thread began with: its name, and the message that it hangs on unless that is the given one. A thread
// and the message that it began with have one id.
func (p *places) starter(ctx context.Context, in inbound, thread, message string) (string, error) {
	here := p.byID[thread]
	if thread == message || here.parent == "" {
		return here.name, nil
	}
	for _, channel := range []string{here.parent, thread} { // Of a forum's post the first message is in the thread itself.
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

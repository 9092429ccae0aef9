package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxPlaces is how many channels are remembered.
const maxPlaces = 20000

// places knows what the channels are. One goroutine uses it.
type places struct {
	rest *rest
	byID map[string]place
}

// place is a channel, a direct channel or a thread.
type place struct {
	name   string
	guild  string // empty: a direct channel
	parent string // of a thread
	kind   discordgo.ChannelType
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

// find asks Discord for what it does not know. A channel that Discord does not tell of is taken for one of the guild.
func (p *places) find(ctx context.Context, id, guild string) (place, error) {
	if known, ok := p.byID[id]; ok {
		return known, nil
	}
	var c discordgo.Channel
	err := p.rest.call(ctx, "GET channel", http.MethodGet, "channels/"+id, nil, &c)
	if e, ok := errors.AsType[*callError](err); ok && !e.mayPass() && e.ended == nil {
		c = discordgo.Channel{ID: id, GuildID: guild, Type: discordgo.ChannelTypeGuildText}
		if guild == "" {
			c.Type = discordgo.ChannelTypeDM
		}
		err = nil
	}
	if err != nil {
		return place{}, err
	}
	if c.ID == id {
		p.learn(&c, guild)
	}
	return p.byID[id], nil
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

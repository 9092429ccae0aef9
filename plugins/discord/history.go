package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// History implements sdk.Historian. It needs the permission to read the message history.
func (c *channel) History(ctx context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	var events []chat.Event
	err := c.at(ctx, of, func(id string) error {
		if parseID(string(before)) == 0 {
			return network.Refuse(chat.TargetGone, "this is not the id of a Discord message")
		}
		var here discordgo.Channel
		if err := c.rest.call(ctx, "GET channel", http.MethodGet, "channels/"+id, nil, &here); err != nil {
			return err
		}
		var page []*discordgo.Message
		path := fmt.Sprintf("channels/%s/messages?before=%s&limit=%d", id, before, min(limit, pageSize))
		if err := c.rest.call(ctx, "GET messages", http.MethodGet, path, nil, &page); err != nil {
			return err
		}
		known := newPlaces(c.rest) // those of the receiver are its own
		in := inbound{places: &known}
		for _, m := range slices.Backward(page) { // newest first
			if m == nil || m.Author == nil || parseID(m.ID) == 0 {
				continue
			}
			m.GuildID = here.GuildID
			event := chat.Event{ID: messageEvent(m.ID), Sender: in.author(m), At: m.Timestamp}
			if err := known.locate(ctx, &event, id, here.GuildID); err != nil {
				return err
			}
			body, says, err := in.message(ctx, m)
			if err != nil {
				return err
			}
			if event.Body = body; says {
				events = append(events, event)
			}
		}
		return nil
	})
	return events, err
}

package main

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// deletion submits that a message is gone. Discord does not say who deleted it.
func (r *receiver) deletion(ctx context.Context, m *discordgo.Message) error {
	event := chat.Event{ID: deleteEvent(m.ID), At: time.Now(), Body: chat.Deleted{ID: chat.MessageID(m.ID)}}
	if err := r.places.locate(ctx, &event, m.ChannelID, m.GuildID); err != nil {
		return err
	}
	return r.submit(ctx, event)
}

// reaction submits an emoji that somebody put on a message; an empty one was taken back.
func (r *receiver) reaction(ctx context.Context, id chat.EventID, a *discordgo.MessageReaction, member *discordgo.Member, emoji string) error {
	if a == nil || a.UserID == r.self {
		return nil
	}
	sender := chat.Sender{ID: chat.UserID(a.UserID)}
	if member != nil && member.User != nil {
		sender = inbound{r.self}.sender(member.User, member)
	}
	event := chat.Event{
		ID: id, Sender: sender, At: time.Now(), // Discord does not say when.
		Body: chat.Reaction{MessageID: chat.MessageID(a.MessageID), Emoji: emoji},
	}
	if err := r.places.locate(ctx, &event, a.ChannelID, a.GuildID); err != nil {
		return err
	}
	return r.submit(ctx, event)
}

package main

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// edit submits a person's edit. Discord also sends this event for its own additions, such as link previews.
func (r *receiver) edit(ctx context.Context, m *discordgo.Message) error {
	if m.Author == nil || m.Author.ID == r.self || m.EditedTimestamp == nil {
		return nil
	}
	event := chat.Event{ID: editEvent(m.ID, *m.EditedTimestamp), Sender: r.inbound().author(m), At: *m.EditedTimestamp}
	if err := r.places.locate(ctx, &event, m.ChannelID, m.GuildID); err != nil {
		return err
	}
	text, err := r.inbound().read(ctx, m)
	if err != nil || text.text == "" {
		return err
	}
	event.Body = chat.Edited{ID: chat.MessageID(m.ID), Text: text.text, Mentions: text.mentions}
	_, err = r.submit(ctx, event)
	return err
}

// deletion is of one message or of many.
type deletion struct {
	ID        string
	IDs       []string
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"`
}

// deletion submits deletions. Discord does not say who deleted a message.
func (r *receiver) deletion(ctx context.Context, d *deletion, ids ...string) error {
	for _, id := range ids {
		event := chat.Event{ID: deleteEvent(id), At: time.Now(), Body: chat.Deleted{ID: chat.MessageID(id)}}
		if err := r.places.locate(ctx, &event, d.ChannelID, d.GuildID); err != nil {
			return err
		}
		if _, err := r.submit(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// reaction submits a reaction; an empty emoji means that it was removed.
func (r *receiver) reaction(
	ctx context.Context, id chat.EventID, a *discordgo.MessageReaction, member *discordgo.Member, emoji string,
) error {
	if a == nil || a.UserID == r.self {
		return nil
	}
	sender := chat.Sender{ID: chat.UserID(a.UserID)}
	if member != nil && member.User != nil {
		sender = r.inbound().sender(member.User, member)
	}
	event := chat.Event{
		ID: id, Sender: sender, At: time.Now(), // Discord gives no time
		Body: chat.Reaction{MessageID: chat.MessageID(a.MessageID), Emoji: emoji},
	}
	if err := r.places.locate(ctx, &event, a.ChannelID, a.GuildID); err != nil {
		return err
	}
	_, err := r.submit(ctx, event)
	return err
}

package main

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// typingShows is how long Discord shows that a person is typing. An event that is older is of before a pause of the connection.
const typingShows = 10 * time.Second

// typingStart says that a person has begun to type, or goes on. The library's own lacks the member.
type typingStart struct {
	discordgo.TypingStart

	Member *discordgo.Member `json:"member"` // on a server
}

// typing tells the host that a person is typing. It asks Discord nothing: what is not known is left out.
func (r *receiver) typing(ctx context.Context, t *typingStart) error {
	if parseID(t.UserID) == 0 || t.UserID == r.self || time.Since(time.Unix(int64(t.Timestamp), 0)) > typingShows ||
		!r.places.knows(t.ChannelID, t.GuildID) {
		return nil
	}
	var at chat.Event
	if err := r.places.locate(ctx, &at, t.ChannelID, t.GuildID); err != nil {
		return err
	}
	sender := chat.Sender{ID: chat.UserID(t.UserID)}
	if t.Member != nil && t.Member.User != nil && t.Member.User.ID == t.UserID {
		sender = r.inbound().sender(t.Member.User, t.Member)
	}
	r.in.Typing(chat.Typing{Chat: at.Chat, Thread: at.Thread, Sender: sender})
	return nil
}

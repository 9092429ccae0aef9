package main

import (
	"slices"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// fromReaction reports an added or removed emoji. In groups Telegram sends reactions to admins only.
func (in inbound) fromReaction(event chat.Event, r reaction) (chat.Event, bool) {
	event.Chat = chatOf(r.Chat)
	event.At = time.Unix(r.Date, 0)
	switch {
	case r.User != nil:
		event.Sender = in.sender(r.User)
	case r.Anonymous != nil:
		event.Sender = behalf(r.Anonymous)
	}
	body := chat.Reaction{MessageID: messageID(r.MessageID)}
	for _, added := range r.New {
		if !slices.Contains(r.Old, added) {
			body.Emoji = added.Emoji
			break
		}
	}
	event.Body = body
	pictures := len(r.New) > len(r.Old) && body.Emoji == ""
	return event, !pictures && !event.Sender.IsSelf
}

// fromStop is from a private chat, which has its person's id and names.
func fromStop(event chat.Event, s stopped) chat.Event {
	event.Chat = chatOf(s.Chat)
	if s.ThreadID != 0 {
		event.Thread = chat.ThreadID(strconv.Itoa(s.ThreadID))
	}
	person := tgbotapi.User{FirstName: s.Chat.FirstName, LastName: s.Chat.LastName}
	event.Sender = chat.Sender{ID: userID(s.Chat.ID), DisplayName: nameOf(&person), Username: s.Chat.UserName}
	event.At = time.Now() // Telegram gives no time
	event.Body = chat.StopRequest{}
	return event
}

// behalf returns a chat that writes in its own name: a group with an anonymous admin, or a channel.
func behalf(c *tgbotapi.Chat) chat.Sender {
	return chat.Sender{ID: chat.UserID(chatID(c.ID)), DisplayName: c.Title, Username: c.UserName}
}

package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// generalTopic is the forum topic of messages without a thread.
const generalTopic chat.ThreadID = "1"

// inbound converts updates to events.
type inbound struct{ self tgbotapi.User }

// event returns the event of an update, or false if it has none for the host.
func (in inbound) event(u update) (chat.Event, bool) {
	event := chat.Event{ID: chat.EventID(fmt.Sprintf("tg:%d:%d", in.self.ID, u.UpdateID))}
	switch {
	case u.Message != nil && u.Message.Chat != nil:
		return in.fromMessage(event, u.Message, u.extra)
	case u.EditedMessage != nil && u.EditedMessage.Chat != nil:
		return in.fromEdit(event, u.EditedMessage, u.extra)
	case u.CallbackQuery != nil && u.CallbackQuery.Message != nil && u.CallbackQuery.Message.Chat != nil:
		return in.fromPress(event, u.CallbackQuery, u.extra)
	case u.MyChatMember != nil:
		return in.fromMembership(event, u.MyChatMember)
	case u.reaction != nil && u.reaction.Chat != nil:
		return in.fromReaction(event, *u.reaction)
	case u.stopped != nil && u.stopped.Chat != nil:
		return fromStop(event, *u.stopped), true
	default:
		return event, false
	}
}

func (in inbound) fromMessage(event chat.Event, m *tgbotapi.Message, x extra) (chat.Event, bool) {
	event = in.located(event, m, x)
	event.At = time.Unix(int64(m.Date), 0)
	if m.MigrateToChatID != 0 {
		event.Body = chat.Migrated{To: chatID(m.MigrateToChatID)}
		return event, true
	}
	read, ok := in.read(m)
	text, mentions := in.said(read, m, x)
	if text == "" {
		text = describe(m)
		mentions = whole(text)
	}
	file, hasFile := attachment(m)
	if !ok || m.Chat.IsChannel() || (text == "" && !hasFile) {
		return event, false
	}
	body := chat.Message{
		ID:           messageID(m.MessageID),
		Text:         text,
		Mentions:     mentions,
		MentionsSelf: read.addressed,
		Forwarded:    forwarded(x.Origin),
	}
	if hasFile {
		body.Media = []chat.Media{file}
	}
	switch {
	case x.ReplyTo.TopicCreated != nil:
		body.ThreadStarter = x.ReplyTo.TopicCreated.Name
	case m.ReplyToMessage != nil:
		body.ReplyTo = in.quote(m.ReplyToMessage, x)
	case x.Elsewhere != nil:
		body.ReplyTo = in.quoteElsewhere(x)
	}
	body.MentionsSelf = body.MentionsSelf || body.ReplyTo != nil && body.ReplyTo.IsSelf
	for _, mention := range body.Mentions {
		body.MentionsSelf = body.MentionsSelf || mention.IsSelf
	}
	event.Body = body
	return event, true
}

func (in inbound) fromEdit(event chat.Event, m *tgbotapi.Message, x extra) (chat.Event, bool) {
	read, ok := in.read(m)
	text, mentions := in.said(read, m, x)
	if !ok || text == "" || m.Chat.IsChannel() {
		return event, false
	}
	event = in.located(event, m, x)
	event.At = time.Unix(int64(m.EditDate), 0)
	event.Body = chat.Edited{ID: messageID(m.MessageID), Text: text, Mentions: mentions}
	return event, true
}

func (in inbound) fromPress(event chat.Event, q *tgbotapi.CallbackQuery, x extra) (chat.Event, bool) {
	if q.Data == "" || q.From == nil {
		return event, false
	}
	event = in.located(event, q.Message, x)
	event.Sender = in.sender(q.From)
	event.At = time.Now() // Telegram gives no time
	event.Body = chat.ButtonPress{MessageID: messageID(q.Message.MessageID), Data: q.Data}
	return event, true
}

func (in inbound) fromMembership(event chat.Event, m *tgbotapi.ChatMemberUpdated) (chat.Event, bool) {
	before, after := isIn(m.OldChatMember), isIn(m.NewChatMember)
	if before == after || m.Chat.IsChannel() || m.NewChatMember.User == nil {
		return event, false
	}
	event.Chat = chatOf(&m.Chat)
	event.Sender = in.sender(&m.From)
	event.At = time.Unix(int64(m.Date), 0)
	event.Body = chat.MemberChange{Joined: after, Member: in.sender(m.NewChatMember.User)}
	return event, true
}

func isIn(m tgbotapi.ChatMember) bool {
	switch m.Status {
	case "creator", "administrator", "member":
		return true
	case "restricted":
		return m.IsMember
	default:
		return false
	}
}

// located sets the chat, the thread and the sender of a message.
func (in inbound) located(event chat.Event, m *tgbotapi.Message, x extra) chat.Event {
	event.Chat = chatOf(m.Chat)
	switch {
	case x.IsTopic:
		event.Thread = chat.ThreadID(strconv.Itoa(x.ThreadID))
	case x.Chat.IsForum:
		event.Thread = generalTopic
	}
	switch {
	case m.SenderChat != nil: // an anonymous admin, or a channel that writes in its group
		event.Sender = behalf(m.SenderChat)
	case m.From != nil:
		event.Sender = in.sender(m.From)
	}
	return event
}

func (in inbound) sender(u *tgbotapi.User) chat.Sender {
	return chat.Sender{
		ID:          userID(u.ID),
		DisplayName: nameOf(u),
		Username:    u.UserName,
		IsSelf:      u.ID == in.self.ID,
		IsBot:       u.IsBot,
	}
}

// quote returns the quote of message m, to which the message with x replies, or of the selected part of it.
func (in inbound) quote(m *tgbotapi.Message, x extra) *chat.Quote {
	whole, _ := formatted(writtenOf(m), nil)
	quote := &chat.Quote{ID: messageID(m.MessageID), Text: cmp.Or(x.Quote.Text, richText(x.ReplyTo.Rich), whole, describe(m))}
	if file, ok := attachment(m); ok && file.Kind != chat.Sticker {
		quote.Media = []chat.Media{file}
	}
	switch {
	case m.SenderChat != nil:
		quote.SenderName = m.SenderChat.Title
	case m.From != nil:
		quote.SenderName, quote.IsSelf = nameOf(m.From), m.From.ID == in.self.ID
	}
	return quote
}

// quoteElsewhere quotes a message of another chat, whose id is not valid here.
func (in inbound) quoteElsewhere(x extra) *chat.Quote {
	quote, origin := in.quote(&x.Elsewhere.Message, x), x.Elsewhere.Origin
	quote.ID = ""
	if from := forwarded(origin); from != nil {
		quote.SenderName, quote.IsSelf = from.From, origin.User != nil && origin.User.ID == in.self.ID
	}
	return quote
}

func forwarded(o *origin) *chat.Forward {
	if o == nil {
		return nil
	}
	f := &chat.Forward{From: o.UserName}
	if o.Date != 0 {
		f.At = time.Unix(o.Date, 0)
	}
	switch {
	case o.User != nil:
		f.From = nameOf(o.User)
	case o.SenderChat != nil:
		f.From = o.SenderChat.Title
	case o.Chat != nil:
		f.From = o.Chat.Title
	}
	return f
}

func chatOf(c *tgbotapi.Chat) chat.Chat {
	kind := chat.Group
	switch {
	case c.IsPrivate():
		kind = chat.Direct
	case c.IsChannel():
		kind = chat.Broadcast
	}
	return chat.Chat{ID: chatID(c.ID), Kind: kind, Title: c.Title}
}

func nameOf(u *tgbotapi.User) string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

func chatID(id int64) chat.ID         { return chat.ID(strconv.FormatInt(id, 10)) }
func userID(id int64) chat.UserID     { return chat.UserID(strconv.FormatInt(id, 10)) }
func messageID(id int) chat.MessageID { return chat.MessageID(strconv.Itoa(id)) }

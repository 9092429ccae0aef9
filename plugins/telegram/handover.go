package main

import (
	"context"
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/album"
	"github.com/clawhost/clawhost/sdk/chat"
)

// submit submits an update, or those of an album, to the host and advances the offset. Updates that mean nothing to the
// host are skipped.
func (r *receiver) submit(ctx context.Context, updates []received) error {
	if parts := r.read(updates); len(parts) > 0 {
		event := album.Join(parts)
		verdict, err := r.in.Submit(ctx, event)
		if err != nil {
			return err
		}
		r.submitted(event, verdict)
	}
	for _, u := range updates {
		r.offset = max(r.offset, u.UpdateID+1)
		if m := u.Message; u.unreadable == nil && m != nil && m.Chat != nil && m.MigrateToChatID != 0 {
			r.api.chats.move(strconv.FormatInt(m.Chat.ID, 10), strconv.FormatInt(m.MigrateToChatID, 10))
		}
		switch m := u.Message; {
		case u.unreadable != nil:
		case u.CallbackQuery != nil: // the button stops spinning
			r.answer(ctx, "answerCallbackQuery", tgbotapi.Params{"callback_query_id": u.CallbackQuery.ID})
		case m != nil && m.Chat != nil && m.PinnedMessage != nil && m.From != nil && m.From.ID == r.self.ID: // Telegram's line about the bot's own pin
			r.answer(ctx, "deleteMessage", tgbotapi.Params{"chat_id": strconv.FormatInt(m.Chat.ID, 10), "message_id": strconv.Itoa(m.MessageID)})
		}
	}
	return nil
}

// read returns the events of the updates that have one.
func (r *receiver) read(updates []received) []chat.Event {
	var events []chat.Event
	for _, u := range updates {
		if u.unreadable != nil {
			r.log.Error("skipping an update that cannot be read", "update_id", u.UpdateID,
				"error", r.api.redactor.clean(u.unreadable.Error()))
			continue
		}
		if event, ok := (inbound{self: r.self}).event(u.update); ok {
			events = append(events, event)
		}
	}
	return events
}

// submitted logs the verdict on an event.
func (r *receiver) submitted(event chat.Event, verdict chat.Verdict) {
	r.log.Debug("event submitted", "event", event.ID, "verdict", verdict.String())
	if change, ok := event.Body.(chat.MemberChange); ok {
		r.log.Info(whereabouts(change, event.Chat.Kind), "chat", event.Chat.ID, "kind", event.Chat.Kind.String(), "by", event.Sender.ID)
	}
}

// whereabouts describes a change of the bot's membership.
func whereabouts(change chat.MemberChange, kind chat.Kind) string {
	switch {
	case kind == chat.Direct && change.Joined:
		return "somebody takes the bot's messages again"
	case kind == chat.Direct:
		return "somebody has blocked the bot; nothing reaches them"
	case change.Joined:
		return "the bot was added to a chat; it answers there if access allows the chat"
	default:
		return "the bot was removed from a chat; nothing reaches it"
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// maxBegun is how many half-sent messages are remembered.
const maxBegun = 1000

// Send implements sdk.Channel. A text that grew beyond a message's limit by being rendered is sent in parts; when one of
// them fails, the same key goes on there, as long as the process lives.
func (c *channel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if len(out.Media) > 0 {
		return chat.Receipt{}, refuse(chat.MediaRejected, "files cannot be sent")
	}
	text, entities := markdown.ToEntities(out.Text)
	parts := markdown.Split(text, entities, maxText)
	if len(parts) == 0 {
		return chat.Receipt{}, refuse(chat.Invalid, "the message has no text")
	}
	ids := c.resume(out.Key)
	for i := len(ids); i < len(parts); i++ {
		params := c.content(out.To, parts[i])
		if out.Silent {
			params["disable_notification"] = "true"
		}
		if i == 0 && out.ReplyTo != "" {
			params["reply_parameters"] = object(map[string]any{
				"message_id": json.Number(out.ReplyTo), "allow_sending_without_reply": true,
			})
		}
		if i == len(parts)-1 && len(out.Buttons) > 0 {
			params["reply_markup"] = keyboard(out.Buttons)
		}
		var sent tgbotapi.Message
		if err := c.api.callChat(ctx, "sendMessage", params, &sent); err != nil {
			f := failure(err)
			c.keep(out.Key, ids, f.Reason.Retryable())
			return chat.Receipt{}, f
		}
		ids = append(ids, messageID(sent.MessageID))
	}
	return chat.Receipt{IDs: ids}, nil
}

// resume takes out what was sent of a message before it failed.
func (c *channel) resume(key string) []chat.MessageID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.begun[key]
	delete(c.begun, key)
	return ids
}

// keep remembers what was sent of a message that will come again.
func (c *channel) keep(key string, ids []chat.MessageID, again bool) {
	if key == "" || len(ids) == 0 || !again {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.begun) >= maxBegun {
		clear(c.begun)
	}
	c.begun[key] = ids
}

// Edit implements sdk.Editor. A message that has the text already is edited.
func (c *channel) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	plain, entities := markdown.ToEntities(text)
	parts := markdown.Split(plain, entities, maxText)
	switch len(parts) {
	case 0:
		return refuse(chat.Invalid, "the message has no text")
	case 1:
	default:
		return refuse(chat.TooLong, "an edited message cannot become several")
	}
	params := c.content(to, parts[0])
	delete(params, "message_thread_id")
	params["message_id"] = string(id)
	if len(buttons) > 0 {
		params["reply_markup"] = keyboard(buttons)
	}
	return c.apply(ctx, "editMessageText", params, "message is not modified")
}

// Delete implements sdk.Deleter. A message that is not there is deleted.
func (c *channel) Delete(ctx context.Context, to chat.Address, id chat.MessageID) error {
	params := tgbotapi.Params{"chat_id": string(to.Chat), "message_id": string(id)}
	return c.apply(ctx, "deleteMessage", params, "message to delete not found")
}

// React implements sdk.Reactor. Telegram takes the emojis of a fixed set.
func (c *channel) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	reaction := []map[string]any{}
	if emoji != "" {
		reaction = append(reaction, map[string]any{"type": "emoji", "emoji": emoji})
	}
	params := tgbotapi.Params{"chat_id": string(to.Chat), "message_id": string(id), "reaction": object(reaction)}
	return c.apply(ctx, "setMessageReaction", params, "")
}

// Typing implements sdk.Typer. It shows for 5 seconds or until a message comes; it cannot be taken back.
func (c *channel) Typing(ctx context.Context, to chat.Address, active bool) error {
	if !active {
		return nil
	}
	params := tgbotapi.Params{"chat_id": string(to.Chat), "action": "typing"}
	params.AddNonEmpty("message_thread_id", string(to.Thread)) // Here the General topic is named.
	return c.apply(ctx, "sendChatAction", params, "")
}

// apply calls a method without a result of interest. An error that says done, if not empty, means that all is as wanted.
func (c *channel) apply(ctx context.Context, method string, params tgbotapi.Params, done string) error {
	err := c.api.callChat(ctx, method, params, nil)
	if err == nil {
		return nil
	}
	if failed, ok := errors.AsType[*callError](err); ok && done != "" && failed.says(done) {
		return nil
	}
	return failure(err)
}

// content is what sending and editing have in common.
func (c *channel) content(to chat.Address, part markdown.Part) tgbotapi.Params {
	params := tgbotapi.Params{"chat_id": string(to.Chat), "text": part.Text}
	if to.Thread != generalTopic { // Telegram does not find the General topic by its number.
		params.AddNonEmpty("message_thread_id", string(to.Thread))
	}
	if len(part.Entities) > 0 {
		params["entities"] = object(part.Entities)
	}
	if !c.previews {
		params["link_preview_options"] = object(map[string]any{"is_disabled": true})
	}
	return params
}

func keyboard(buttons [][]chat.Button) string {
	type button struct {
		Text string `json:"text"`
		Data string `json:"callback_data"`
	}
	rows := make([][]button, 0, len(buttons))
	for _, row := range buttons {
		shown := make([]button, 0, len(row))
		for _, b := range row {
			shown = append(shown, button{Text: b.Label, Data: b.Data})
		}
		rows = append(rows, shown)
	}
	return object(map[string]any{"inline_keyboard": rows})
}

// object is v as JSON. Nothing that is sent cannot be marshalled, but for ids that are no numbers.
func object(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

func refuse(reason chat.Reason, why string) *chat.Failure {
	return &chat.Failure{Reason: reason, Err: errors.New(why)}
}

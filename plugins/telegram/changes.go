package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/network"
)

// Edit implements sdk.Editor. Editing a message to what it already is succeeds. For a file with a caption it edits the
// caption.
func (c *channel) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	if done, err := c.editRich(ctx, to, id, text, buttons); done {
		return err
	}
	err := c.edit(ctx, "editMessageText", to, id, text, buttons)
	if failed, ok := errors.AsType[*callError](err); ok && failed.says("there is no text in the message to edit") {
		return c.edit(ctx, "editMessageCaption", to, id, text, buttons)
	}
	return err
}

func (c *channel) edit(ctx context.Context, method string, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	most, field, entities := textLimit, "text", "entities"
	if method == "editMessageCaption" {
		most, field, entities = captionLimit, "caption", "caption_entities"
	}
	plain, looks := markdown.ToEntities(text, most)
	parts := markdown.Split(plain, looks, most)
	switch len(parts) {
	case 0:
		return network.Refuse(chat.Invalid, "the message has no text")
	case 1:
	default:
		return network.Refuse(chat.TooLong, "an edited message cannot become several")
	}
	params := tgbotapi.Params{}
	adorn(params, field, entities, parts[0])
	if len(buttons) > 0 {
		params["reply_markup"] = keyboard(buttons)
	}
	c.address(params, chat.Address{Chat: to.Chat})
	params["message_id"] = string(id)
	return c.apply(ctx, method, params, "message is not modified")
}

// Delete implements sdk.Deleter. Deleting a missing message succeeds.
func (c *channel) Delete(ctx context.Context, to chat.Address, id chat.MessageID) error {
	params := tgbotapi.Params{"chat_id": string(to.Chat), "message_id": string(id)}
	return c.apply(ctx, "deleteMessage", params, "message to delete not found")
}

// variation is the selector that follows an emoji which could also be a letter. Telegram's reactions do not have it.
const variation = "\ufe0f"

// React implements sdk.Reactor. Telegram accepts the emojis of a fixed set.
func (c *channel) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	reaction := []map[string]any{}
	if emoji = strings.ReplaceAll(emoji, variation, ""); emoji != "" {
		reaction = append(reaction, map[string]any{"type": "emoji", "emoji": emoji})
	}
	params := tgbotapi.Params{"chat_id": string(to.Chat), "message_id": string(id), "reaction": object(reaction)}
	return c.apply(ctx, "setMessageReaction", params, "")
}

// Pin implements sdk.Pinner. In a private chat a bot may always pin, in groups only with the right to.
func (c *channel) Pin(ctx context.Context, to chat.Address, id chat.MessageID, pinned bool) error {
	params := tgbotapi.Params{"chat_id": string(to.Chat), "message_id": string(id)}
	if !pinned {
		return c.apply(ctx, "unpinChatMessage", params, "message to unpin not found")
	}
	params["disable_notification"] = "true"
	return c.apply(ctx, "pinChatMessage", params, "")
}

// Typing implements sdk.Typer. It is shown for 5 seconds or until a message arrives; it cannot be cancelled.
func (c *channel) Typing(ctx context.Context, to chat.Address, active bool) error {
	if !active {
		return nil
	}
	params := tgbotapi.Params{"chat_id": string(to.Chat), "action": "typing"}
	params.AddNonEmpty("message_thread_id", string(to.Thread)) // this method takes the General topic's id
	return c.apply(ctx, "sendChatAction", params, "")
}

// Draft implements sdk.Drafter, for private chats. Telegram shows a draft for at most 30 seconds, with a button that stops
// the answer. If the rendered text exceeds a message, its beginning is shown.
func (c *channel) Draft(ctx context.Context, to chat.Address, draftID int64, text string) error {
	params := tgbotapi.Params{"draft_id": strconv.FormatInt(draftID, 10), "can_stop": "true", "keep_on_stop": "true"}
	c.address(params, to)
	if text != "" {
		if done, err := c.tryRich(ctx, "sendRichMessageDraft", params, text, nil); done {
			return network.Failure(err)
		}
		delete(params, "rich_message")
	}
	params["text"] = ""
	plain, looks := markdown.ToEntities(text, textLimit)
	if parts := markdown.Split(plain, looks, textLimit); len(parts) > 0 {
		adorn(params, "text", "entities", parts[0])
	}
	err := c.apply(ctx, "sendMessageDraft", params, "")
	if failed, ok := errors.AsType[*callError](err); ok && failed.Status == http.StatusNotFound {
		return network.Refuse(chat.Invalid, "this Bot API server is too old to know drafts")
	}
	return err
}

// apply calls a method whose result does not matter. An error that contains done, if that is not empty, counts as success.
func (c *channel) apply(ctx context.Context, method string, params tgbotapi.Params, done string) error {
	err := c.api.callChat(ctx, method, params, nil, nil)
	if failed, ok := errors.AsType[*callError](err); ok && done != "" && failed.says(done) {
		return nil
	}
	return network.Failure(err)
}

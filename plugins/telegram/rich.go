package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// tryRich sends, edits or drafts Markdown as a rich message, which Telegram renders itself, if the config enables that. It
// returns false if the text must be sent as an ordinary message, because Telegram refuses this one, or the Bot API server
// is too old for rich messages.
func (c *channel) tryRich(ctx context.Context, method string, params tgbotapi.Params, text string, result any) (bool, error) {
	if !c.rich || c.richUnknown.Load() {
		return false, nil
	}
	params["rich_message"] = object(map[string]string{"markdown": text})
	err := c.api.callChat(ctx, method, params, result, nil)
	refused, ok := errors.AsType[*callError](err)
	switch {
	case ok && refused.Status == http.StatusNotFound:
		c.richUnknown.Store(true)
		return false, nil
	case ok && refused.Status == http.StatusBadRequest && refused.Reason() == chat.Invalid && !refused.says("message is not modified"):
		c.log.Debug("a rich message was refused; sending it as an ordinary one", "error", err)
		return false, nil
	}
	return true, err
}

// sendRich sends a text as a rich message.
func (c *channel) sendRich(ctx context.Context, out chat.Outgoing) (receipt chat.Receipt, done bool, err error) {
	if len(out.Media) > 0 || strings.TrimSpace(out.Text) == "" {
		return chat.Receipt{}, false, nil
	}
	params := tgbotapi.Params{}
	if out.Silent {
		params["disable_notification"] = "true"
	}
	attach(out, params, params)
	c.address(params, out.To)
	var sent messages
	done, err = c.tryRich(ctx, "sendRichMessage", params, out.Text, &sent)
	if err != nil {
		return chat.Receipt{}, true, network.Failure(err)
	}
	return chat.Receipt{IDs: sent.ids()}, done, nil
}

// editRich edits a message to a rich message.
func (c *channel) editRich(
	ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button,
) (done bool, err error) {
	if strings.TrimSpace(text) == "" {
		return false, nil
	}
	params := tgbotapi.Params{"message_id": string(id)}
	attach(chat.Outgoing{Buttons: buttons}, params, params)
	c.address(params, chat.Address{Chat: to.Chat})
	done, err = c.tryRich(ctx, "editMessageText", params, text, nil)
	if refused, ok := errors.AsType[*callError](err); ok && refused.says("message is not modified") {
		err = nil
	}
	return done, network.Failure(err)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

// maxBegun is how many half-sent messages are remembered.
const maxBegun = 1000

// progress is how far a message came before it failed.
type progress struct {
	steps int
	ids   []chat.MessageID
}

// Send implements sdk.Channel. What is sent in several steps goes on, when one of them has failed and the same key comes
// again, with that one, as long as the process lives.
func (c *channel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	steps, err := plan(out)
	if err != nil {
		return chat.Receipt{}, err
	}
	done := c.resume(out.Key)
	if done.steps == 0 {
		if receipt, sent, err := c.sendRich(ctx, out); sent {
			return receipt, err
		}
	}
	for ; done.steps < len(steps); done.steps++ {
		ids, err := c.take(ctx, out.To, steps[done.steps])
		if err != nil {
			err = network.Failure(err)
			if f, ok := errors.AsType[*chat.Failure](err); ok {
				c.keep(out.Key, done, f.Reason.Retryable())
			}
			return chat.Receipt{}, err
		}
		done.ids = append(done.ids, ids...)
	}
	return chat.Receipt{IDs: done.ids}, nil
}

// take takes one step and returns the ids of the messages that came of it.
func (c *channel) take(ctx context.Context, to chat.Address, s step) ([]chat.MessageID, error) {
	for {
		method, params, fields := s.request()
		c.address(params, to)
		var files *enclosed
		if len(fields) > 0 {
			files = &enclosed{open: c.media.Download}
		}
		for i, field := range fields {
			files.files = append(files.files, upload.Part{Name: field, File: s.files[i].Ref})
			files.bytes += s.files[i].Size
		}
		var sent messages
		err := c.api.callChat(ctx, method, params, &sent, files)
		if err == nil {
			return sent.ids(), nil
		}
		refused, ok := errors.AsType[*callError](err)
		if !ok || !s.mend(refused) {
			return nil, err
		}
	}
}

// messages are what sending returns: a message, or the list of an album's.
type messages []tgbotapi.Message

// UnmarshalJSON implements json.Unmarshaler.
func (m *messages) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]tgbotapi.Message)(m))
	}
	*m = make(messages, 1)
	return json.Unmarshal(data, &(*m)[0])
}

func (m messages) ids() []chat.MessageID {
	ids := make([]chat.MessageID, len(m))
	for i, message := range m {
		ids[i] = messageID(message.MessageID)
	}
	return ids
}

// resume takes out how far a message came.
func (c *channel) resume(key string) progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := c.begun[key]
	delete(c.begun, key)
	return done
}

// keep remembers how far a message came that will come again.
func (c *channel) keep(key string, done progress, again bool) {
	if key == "" || done.steps == 0 || !again {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.begun) >= maxBegun {
		clear(c.begun)
	}
	c.begun[key] = done
}

// address says where a message goes, and how its links are shown.
func (c *channel) address(params tgbotapi.Params, to chat.Address) {
	params["chat_id"] = string(to.Chat)
	if to.Thread != generalTopic { // Telegram does not find the General topic by its number.
		params.AddNonEmpty("message_thread_id", string(to.Thread))
	}
	if !c.previews && params["text"] != "" {
		params["link_preview_options"] = object(map[string]any{"is_disabled": true})
	}
}

// replyTo names the message that is answered. Whether it is gone, or the id is none of Telegram's, which are positive and
// of 32 bits, the answer is sent all the same.
func replyTo(id chat.MessageID) string {
	number, err := strconv.ParseInt(string(id), 10, 32)
	if err != nil || number <= 0 {
		return ""
	}
	return object(map[string]any{"message_id": number, "allow_sending_without_reply": true})
}

// What an inline keyboard may hold, by the Bot API; a wider one is hard to read on a telephone.
const (
	maxRows    = 12
	maxColumns = 8
	maxData    = 64 // bytes
)

// keyboard is buttons as Telegram takes them.
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

// object is v, of which everything can be marshalled, as JSON.
func object(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

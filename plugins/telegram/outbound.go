package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

// maxBegun limits the half-sent messages that are remembered.
const maxBegun = 1000

// progress is how far a message got before it failed.
type progress struct {
	text  string // the message's
	left  []step
	taken int // steps
	ids   []chat.MessageID
}

// mark puts a line that a repeat of the message has before its text, and the try before it had not, under the file that is sent
// next: of the text nothing is sent again.
func (p *progress) mark(text string) {
	line, more := strings.CutSuffix(text, p.text)
	line = strings.TrimSpace(line)
	if next := &p.left[0]; more && len(next.files) > 0 && next.text.Text == "" && captionLimit.Fits(line) {
		next.text = markdown.Part{Text: line}
	}
	p.text = text
}

// Send implements sdk.Channel. If a message takes several steps and one fails, a retry with the same key continues with
// that step, as long as the process runs.
func (c *channel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	done, begun := c.resume(out.Key)
	if begun {
		done.mark(out.Text)
	} else {
		steps, err := plan(out)
		if err != nil {
			return chat.Receipt{}, err
		}
		done = progress{text: out.Text, left: steps}
		if out.Poll == nil {
			if receipt, sent, err := c.sendRich(ctx, out); sent {
				return receipt, err
			}
		}
	}
	for ; len(done.left) > 0; done.left = done.left[1:] {
		ids, err := c.take(ctx, out.To, done.left[0])
		if err != nil {
			err = network.Failure(err)
			if f, ok := errors.AsType[*chat.Failure](err); ok {
				c.keep(out.Key, done, f.Reason.Retryable())
			}
			return chat.Receipt{}, err
		}
		done.ids = append(done.ids, ids...)
		done.taken++
	}
	return chat.Receipt{IDs: done.ids}, nil
}

// take performs one step and returns the ids of the resulting messages.
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
		if !ok || !s.correct(refused) {
			return nil, err
		}
	}
}

// messages is the result of sending: a message, or an album's list.
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

// resume returns and removes a message's progress; false: nothing of it was sent.
func (c *channel) resume(key string) (done progress, begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, begun = c.begun[key]
	delete(c.begun, key)
	return done, begun
}

// keep stores the progress of a message that will be retried.
func (c *channel) keep(key string, done progress, again bool) {
	if key == "" || done.taken == 0 || !again {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.begun) >= maxBegun {
		clear(c.begun)
	}
	c.begun[key] = done
}

// address sets the destination of a message, and whether its links are previewed.
func (c *channel) address(params tgbotapi.Params, to chat.Address) {
	params["chat_id"] = string(to.Chat)
	if to.Thread != generalTopic { // Telegram does not accept the General topic's id here
		params.AddNonEmpty("message_thread_id", string(to.Thread))
	}
	if !c.previews && params["text"] != "" {
		params["link_preview_options"] = object(map[string]any{"is_disabled": true})
	}
}

// replyTo encodes the message that is replied to. The message is also sent if that is gone, or if the id is not a valid
// Telegram id (positive, 32 bits).
func replyTo(id chat.MessageID) string {
	number, err := strconv.ParseInt(string(id), 10, 32)
	if err != nil || number <= 0 {
		return ""
	}
	return object(map[string]any{"message_id": number, "allow_sending_without_reply": true})
}

// Limits of an inline keyboard, from the Bot API; a wider one is hard to read on a phone.
const (
	maxRows    = 12
	maxColumns = 8
	maxData    = 64 // bytes
)

// keyboard encodes buttons for Telegram.
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

// object marshals v, which never fails.
func object(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

package inbox

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// finalise makes a message of an event. It returns false for events that the agent is not told of.
func finalise(channel string, e chat.Event) (store.Message, bool) {
	m := store.Message{Channel: channel, Chat: e.Chat, Thread: e.Thread, Sender: e.Sender, SentAt: e.At}
	switch body := e.Body.(type) {
	case chat.Message:
		m.ID = body.ID
		m.Text = strings.TrimSpace(withoutMention(body))
		m.Media = body.Media
		m.ReplyTo = body.ReplyTo
		m.Forwarded = body.Forwarded
		return m, m.Text != "" || len(m.Media) > 0
	case chat.NativeCommand:
		m.Command = &store.Command{Name: strings.ToLower(body.Name), Args: strings.TrimSpace(body.Args)}
		m.Text = strings.TrimSpace("/" + m.Command.Name + " " + m.Command.Args)
		return m, true
	case chat.StopRequest:
		m.Command = &store.Command{Name: "stop"}
		m.Text = "/stop"
		return m, true
	default:
		return store.Message{}, false
	}
}

// withoutMention returns the text without a mention of the agent at its beginning, so that "@bot /status" is a command.
func withoutMention(m chat.Message) string {
	for _, mention := range m.Mentions {
		end := mention.Offset + mention.Length
		if mention.IsSelf && end <= len(m.Text) && strings.TrimSpace(m.Text[:mention.Offset]) == "" {
			return m.Text[end:]
		}
	}
	return m.Text
}

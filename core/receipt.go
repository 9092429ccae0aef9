package core

import (
	"fmt"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// receipt makes what shows in a chat with buttons that a message waits; nil: nothing does.
func (h *Host) receipt(m store.Message) func(store.Acceptance) store.Piece {
	limits, _ := h.supervisor.Limits(m.Channel, m.Chat.Kind)
	if !h.config.For(m.Channel).Queue.Receipt || limits.Buttons.Rows < 1 || limits.Buttons.Columns < 2 || m.Origin != "" {
		return nil
	}
	return func(a store.Acceptance) store.Piece {
		text := "This waits for what is running."
		if a.Waiting > 1 {
			text = fmt.Sprintf("This waits, with %d before it.", a.Waiting)
		}
		var replyTo chat.MessageID
		if limits.Replies {
			replyTo = m.ID
		}
		return store.Piece{
			To: m.Address(), Text: text, ReplyTo: replyTo, Silent: true,
			Buttons: [][]chat.Button{{
				{Label: "⏫ Next", Data: fmt.Sprint("/next ", a.Seq)}, {Label: "✖ Cancel", Data: fmt.Sprint("/withdraw ", a.Seq)},
			}},
		}
	}
}

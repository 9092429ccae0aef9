package inbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// receipt posts the message with buttons that shows that a message waits, if the config and the network allow it.
func (in *Inbox) receipt(ctx context.Context, m domain.Message, outcome Outcome) {
	limits := in.conversations.Limits(m.Channel, m.Chat.Kind)
	row := []chat.Button{{Label: wording.WaitingCancel, Data: fmt.Sprint("/withdraw ", outcome.Number)}}
	if m.Authority >= chat.Authorised { // people who may not use commands may only withdraw their own messages
		row = slices.Insert(row, 0, chat.Button{Label: wording.WaitingNext, Data: fmt.Sprint("/next ", outcome.Number)})
	}
	if !in.conversations.Settings(m.Channel).Queue.Receipt || limits.Buttons.Rows < 1 || limits.Buttons.Columns < len(row) || m.Origin != "" {
		return
	}
	receipt := domain.OutboxItem{To: m.Address(), Silent: true, Buttons: [][]chat.Button{row}}
	before := 0
	if outcome.Waiting > 1 {
		before = outcome.Waiting
	}
	receipt.Text = wording.WaitingMessage(before)
	if limits.Replies {
		receipt.ReplyTo = m.ID
	}
	if err := in.store.PostReceipt(ctx, outcome.Session, outcome.Number, receipt); err != nil {
		in.log.Warn("a chat is not shown that its message waits", "session", outcome.Session, "error", err)
	}
}

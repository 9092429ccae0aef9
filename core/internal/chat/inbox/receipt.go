package inbox

import (
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// receipt returns what makes the message with buttons that shows that a message waits; nil: none is shown. The step that
// accepts the message calls it, if the message has to wait.
func (in *Inbox) receipt(m domain.Message) func(domain.Acceptance) domain.OutboxItem {
	limits := in.conversations.Limits(m.Channel, m.Chat.Kind)
	next := m.Authority >= chat.Authorised // people who may not use commands may only withdraw their own messages
	columns := 1
	if next {
		columns = 2
	}
	if !in.conversations.Settings(m.Channel).Queue.Receipt || limits.Buttons.Rows < 1 || limits.Buttons.Columns < columns ||
		m.Origin != "" {
		return nil
	}
	return func(a domain.Acceptance) domain.OutboxItem {
		before := 0
		if a.Waiting > 1 {
			before = a.Waiting
		}
		var replyTo chat.MessageID
		if limits.Replies {
			replyTo = m.ID
		}
		row := []chat.Button{{Label: wording.WaitingCancel, Data: fmt.Sprint("/withdraw ", a.Seq)}}
		if next {
			row = slices.Insert(row, 0, chat.Button{Label: wording.WaitingNext, Data: fmt.Sprint("/next ", a.Seq)})
		}
		return domain.OutboxItem{
			To: m.Address(), Text: wording.WaitingMessage(before), ReplyTo: replyTo, Silent: true,
			Buttons: [][]chat.Button{row},
		}
	}
}

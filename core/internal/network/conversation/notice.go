package conversation

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Rule returns how an answer is split into messages.
func (c *Conversation) Rule() chunk.Rule { return rule(c.Text, c.Settings.Reply) }

// Notice returns outbox items for a text of the host in the conversation's chat. Of the config's settings for answers only
// the limit of a message applies.
func (c *Conversation) Notice(text string) []domain.OutboxItem {
	return items(c.Caller.Address, text, rule(c.Text, config.Reply{TextLimit: c.Settings.Reply.TextLimit}))
}

// Notice returns outbox items for a text of the host in any chat.
func (r *Resolver) Notice(to chat.Address, kind chat.Kind, text string) []domain.OutboxItem {
	_, limit := r.limits(to.Channel, kind)
	return items(to, text, chunk.Rule{Limit: limit})
}

func items(to chat.Address, text string, rule chunk.Rule) []domain.OutboxItem {
	var list []domain.OutboxItem
	for _, part := range chunk.Split(text, rule) {
		list = append(list, domain.OutboxItem{To: to, Text: part})
	}
	return list
}

// widest is the maximum number of buttons in a row, so that each can be read.
const widest = 3

// Rows returns buttons in rows; nil, if they exceed the limits.
func Rows(limits chat.ButtonLimits, list []chat.Button) (rows [][]chat.Button) {
	columns := min(limits.Columns, widest)
	if columns < 1 || limits.Rows*columns < len(list) {
		return nil
	}
	for i, b := range list {
		if limits.DataBytes > 0 && len(b.Data) > limits.DataBytes {
			return nil
		}
		if i%columns == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], b)
	}
	return rows
}

// Arrange returns rows of buttons as they are if they are within the limits, and in other rows if those are; otherwise nil.
func Arrange(limits chat.ButtonLimits, rows [][]chat.Button) [][]chat.Button {
	if limits.Rows > 0 && limits.Check(rows) == nil {
		return rows
	}
	rows = Rows(limits, slices.Concat(rows...))
	if limits.Check(rows) != nil {
		return nil
	}
	return rows
}

// rule returns how messages of a chat are split. The config's limit may lower the channel's, in its unit; if the channel
// has none, characters are counted.
func rule(limit chat.TextLimit, settings config.Reply) chunk.Rule {
	switch most := settings.TextLimit; {
	case most <= 0:
	case limit.Max <= 0:
		limit = chat.TextLimit{Max: most, Unit: chat.Runes}
	default:
		limit.Max = min(limit.Max, most)
	}
	return chunk.Rule{Limit: limit, Lines: settings.MaxLines, Paragraphs: settings.ChunkMode == "newline"}
}

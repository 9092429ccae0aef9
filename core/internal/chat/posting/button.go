package posting

import (
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/sdk/chat"
)

// tokenSize is the length of what names a message in the data of its buttons: 96 bits of a hash, which cannot be guessed.
const tokenSize = 24

// buttons makes buttons of labels. The error is a [tools.Refusal] for more than the channel shows.
func buttons(limits chat.ButtonLimits, channel, token string, labels [][]string) (rows [][]chat.Button, all []string, err error) {
	for _, labels := range labels {
		var row []chat.Button
		for _, label := range labels {
			row = append(row, chat.Button{Label: label, Data: fmt.Sprintf("%s%s:%d", domain.PressData, token, len(all))})
			all = append(all, label)
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 && (limits.Rows == 0 || limits.Columns == 0 || limits.Check(rows) != nil) {
		return nil, nil, tools.Buttons(channel, limits.Rows, limits.Columns)
	}
	return rows, all, nil
}

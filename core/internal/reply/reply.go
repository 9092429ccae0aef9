// Package reply makes of what the agent said, or of why it said nothing, what is sent to the chat.
package reply

import (
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Empty is what a person is told who would otherwise wait in vain for an answer that came without words.
const Empty = "Claude finished without an answer. Ask again, or put it in other words."

// Rule returns how the messages of a chat are made, for what its channel can and what the config says, whose limit lowers the
// channel's, in its unit; where the channel has none, it counts characters.
func Rule(limit chat.TextLimit, settings config.Reply) chunk.Rule {
	switch most := settings.TextLimit; {
	case most <= 0:
	case limit.Max <= 0:
		limit = chat.TextLimit{Max: most, Unit: chat.Runes}
	default:
		limit.Max = min(limit.Max, most)
	}
	return chunk.Rule{Limit: limit, Lines: settings.MaxLines, Paragraphs: settings.ChunkMode == "newline"}
}

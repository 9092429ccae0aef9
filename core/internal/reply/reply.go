// Package reply makes of what the agent said, or of why it said nothing, what is sent to the chat.
package reply

import (
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Empty is what a person is told who would otherwise wait in vain for an answer that came without words.
const Empty = "Claude finished without an answer. Ask again, or put it in other words."

// Normalise returns what the agent's answer comes to.
func Normalise(text string) answer.Answer { return answer.Parse(text, true) }

// Rule returns how the messages of a chat are made, for what its channel can and what the config says, whose limit lowers the
// channel's, in its unit; where the channel has none, it counts characters.
func Rule(limit chat.TextLimit, settings config.Reply) chunk.Rule {
	return chunk.Rule{Limit: lower(limit, settings.TextLimit), Lines: settings.MaxLines, Paragraphs: settings.ChunkMode == "newline"}
}

// lower lowers a limit, if max is positive.
func lower(limit chat.TextLimit, max int) chat.TextLimit {
	switch {
	case max <= 0:
	case limit.Max <= 0:
		limit = chat.TextLimit{Max: max, Unit: chat.Runes}
	default:
		limit.Max = min(limit.Max, max)
	}
	return limit
}

// Pieces returns the messages that an answer is sent in, none over the channel's limit. The prefix, which may be empty,
// stands once, before all. A positive max lowers the channel's limit, in its unit; where the channel has none, it counts
// characters.
func Pieces(text, prefix string, limit chat.TextLimit, max int) []string {
	if text == "" {
		return nil
	}
	return chunk.Split(answer.WithPrefix(prefix, text), chunk.Rule{Limit: lower(limit, max)})
}

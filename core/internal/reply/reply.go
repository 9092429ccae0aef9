// Package reply makes of what the agent said, or of why it said nothing, what is sent to the chat.
package reply

import "github.com/clawhost/clawhost/core/internal/agent"

// Empty is what a person is told who would otherwise wait in vain for an answer that came without words.
const Empty = "Claude finished without an answer. Ask again, or put it in other words."

// Compacted is what a chat is told that asked to have its conversation compacted.
func Compacted(r agent.Result) string {
	switch {
	case r.Compactions > 0:
		return "The conversation is compacted."
	case r.Text != "":
		return r.Text
	default:
		return "There is nothing to compact yet."
	}
}

// Package reply makes of what the agent said, or of why it said nothing, what is sent to the chat.
package reply

import (
	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Compacted is what a chat is told that asked to have its conversation compacted.
func Compacted(r agent.Result) string {
	switch {
	case r.Compactions > 0:
		return wording.Compacted
	case r.Text != "":
		return r.Text
	default:
		return wording.NothingToCompact
	}
}

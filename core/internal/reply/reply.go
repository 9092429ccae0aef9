// Package reply turns the agent's answer, or the reason that there is none, into the text for the chat.
package reply

import (
	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Compacted is the answer to a request to compact the conversation.
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

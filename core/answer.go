package core

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/sdk/chat"
)

// trouble is what a run's chat is told of a failure. Why claude refuses to run, or cannot go on with a conversation, the owners
// are told, in a chat of their own.
func (h *Host) trouble(run *conversation.Turn, f *agent.Failure) string {
	said := reply.Trouble(f.Class, f.ResetsAt, run.Zone)
	var what, then, cause string
	switch f.Class {
	case agent.Refused:
		what, then, cause = "Claude refuses to run", "Correct the config, then send your message again.", f.Detail
	case agent.Unresumable:
		what, then, cause = "Claude breaks down each time it opens the conversation "+run.Session.Key, "Send /new to begin a new one, then your message again.", run.Message.ClaudeSession
	default:
		return said
	}
	why := fmt.Sprintf("%s:\n\n```\n%s\n```", what, notice.Quote(f.Detail))
	if run.Caller.Kind == chat.Direct && run.Owned {
		return why + "\n\n" + then
	}
	// Once a day for each cause.
	key := sha256.Sum256([]byte(cause + time.Now().Format(time.DateOnly)))
	h.owners.Tell(fmt.Sprintf("refused:%x", key[:8]), why)
	return said
}

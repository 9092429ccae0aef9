package turn

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// trouble is the notice about a failure for a run's chat. Why Claude refuses to run, or cannot continue a conversation,
// is reported only to the owners, in their own chat, once a day for each cause.
func (h *Handler) trouble(run *conversation.Turn, f *agent.Failure) string {
	said := reply.Trouble(f.Class, f.ResetsAt, run.Zone)
	alone := run.Caller.Kind == chat.Direct && run.Owned
	var why, cause string
	switch f.Class {
	case agent.Refused:
		why, cause = wording.WhyRefused(notice.Quote(f.Detail), alone), f.Detail
	case agent.Unresumable:
		why, cause = wording.WhyCannotContinue(run.Session.Key, notice.Quote(f.Detail), alone), run.Message.ClaudeSession
	default:
		return said
	}
	if alone {
		return why
	}
	if h.options.Owners != nil {
		key := sha256.Sum256([]byte(cause + time.Now().Format(time.DateOnly)))
		h.options.Owners.Tell(fmt.Sprintf("refused:%x", key[:8]), why)
	}
	return said
}

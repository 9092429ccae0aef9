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

// explained are the failures whose cause an owner sees, because the notice alone does not say what to do about it.
var explained = map[agent.Class]bool{
	agent.Unknown: true, agent.Auth: true, agent.Billing: true, agent.Server: true, agent.Model: true, agent.Died: true, agent.Hook: true,
	agent.Rejected: true,
}

// trouble is the notice about a failure for a run's chat. Only owners learn the cause, in their own direct chat. They are
// also told, once a day for each cause, why Claude refuses to run, answers nobody, or cannot continue a conversation.
func (h *Handler) trouble(run *conversation.Turn, f *agent.Failure) string {
	said := reply.Trouble(f.Class, f.ResetsAt, run.Zone)
	alone := run.Caller.Kind == chat.Direct && run.Owned
	var why, cause string
	switch f.Class {
	case agent.Refused:
		why, cause = wording.WhyRefused(notice.Quote(f.Detail), alone), f.Detail
	case agent.Unresumable:
		why, cause = wording.WhyCannotContinue(run.Session.Key, notice.Quote(f.Detail), alone), run.Head.ClaudeSession
	case agent.Auth, agent.Billing:
		why, cause = wording.WhyNoAnswers(notice.Quote(f.Detail)), f.Class.String()
	}
	if alone && explained[f.Class] {
		return wording.WithCause(said, notice.Quote(f.Error()))
	}
	if why == "" {
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

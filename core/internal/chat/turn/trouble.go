package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/sdk/chat"
)

// explained are the failures whose cause an owner sees, because the notice alone does not say what to do about it.
var explained = map[agent.Class]bool{
	agent.Unknown: true, agent.Auth: true, agent.Billing: true, agent.Server: true, agent.Model: true, agent.Died: true, agent.Hook: true,
	agent.Rejected: true,
}

// trouble is the notice about a failure for a run's chat. Only owners learn the cause, in their own direct chat. They are
// also notified, once a day for each cause, why Claude refuses to run, does not answer, or cannot continue a conversation.
func (h *Handler) trouble(run *conversation.Run, f *agent.Failure) string {
	said := failed(f.Class, f.ResetsAt, run.Zone)
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
		h.options.Owners.Tell(domain.KeyTrouble.Of(hex.EncodeToString(key[:8])), why)
	}
	return said
}

// failed returns the notice of a turn that failed for good: what happened and what to do, without internals. The end
// of a rate limit is shown in the given zone; the zero time means that it is not known.
func failed(class agent.Class, resetsAt time.Time, zone *time.Location) string {
	switch class {
	case agent.Auth:
		return wording.NotLoggedIn
	case agent.Billing:
		return wording.NoCredit
	case agent.RateLimit:
		if !resetsAt.IsZero() {
			resetsAt = resetsAt.In(zone)
		}
		return wording.UsageLimit(resetsAt, time.Now())
	case agent.Overloaded:
		return wording.ServersOverloaded
	case agent.Server:
		return wording.ServersFailed
	case agent.Timeout, agent.TimeUp:
		return wording.TookTooLong
	case agent.ContextOverflow:
		return wording.MessageTooLong
	case agent.ContentFilter:
		return wording.Declined
	case agent.Model:
		return wording.ModelUnavailable
	case agent.Limit:
		return wording.LimitReached
	case agent.Aborted:
		return wording.WorkStopped
	case agent.TranscriptMissing:
		return wording.ConversationLost
	case agent.Unavailable:
		return wording.ClaudeUnavailable
	case agent.NoSpace:
		return wording.NoSpace
	case agent.ChannelAway:
		return wording.ChannelAway
	case agent.Refused:
		return wording.ClaudeRefuses
	case agent.Died:
		return wording.ClaudeDied
	case agent.Hook:
		return wording.HookFailed
	case agent.Intruded:
		return wording.Intruded
	case agent.Opened:
		return wording.OpenElsewhere
	case agent.Rejected:
		return wording.Rejected
	case agent.Unresumable:
		return wording.CannotContinue
	case agent.GivenUp:
		return wording.GivenUp
	default:
		return wording.Failed
	}
}

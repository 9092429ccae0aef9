package reply

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Trouble returns the notice of a turn that failed for good: what happened and what to do, without internals. The end
// of a rate limit is shown in the given zone; the zero time means that it is not known.
func Trouble(class agent.Class, resetsAt time.Time, zone *time.Location) string {
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

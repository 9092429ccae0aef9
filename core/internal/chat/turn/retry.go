package turn

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

const (
	// firstPause is the pause before the second try of a turn. Each further pause is three times as long.
	firstPause = 5 * time.Second
	// maxOpenings bounds the tries to resume a conversation on which claude fails. The messages after it wait as long.
	maxOpenings = 5
	// openingPause is the pause before the second of them. Each further pause is twice as long.
	openingPause = 50 * time.Millisecond
)

// try runs a turn, and repeats it after a pause if that may help. Each try continues the conversation of the one
// before. The CLI's own retries are few and quick, so that a stop and the chat do not wait for them.
func (h *Handler) try(ctx context.Context, run *conversation.Run, t agent.Turn) (agent.Result, error) {
	var spent agent.Result
	continued := false // by the tries of earlier attempts, not by those of this one
	for n := 0; ; n++ {
		result, err := h.askModels(ctx, run, &t)
		if n == 0 {
			continued = result.Continued
		}
		result.Continued = continued
		charge(&result, spent)
		class, wait, may := pause(err, n, run.Agent.Claude.Retries)
		if !may || ctx.Err() != nil {
			return result, err
		}
		h.log.Warn("a turn is tried again", "session", run.Session.Key, "run", run.ID, "try", n+2, "again_in", wait.Round(time.Millisecond), "error", err)
		spent = result
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return result, err
		}
		if class == agent.Rejected {
			h.options.Claude.Retire(t.Session) // as claude resumes a conversation, it repairs what is recorded of it
		}
		if class != agent.Unresumable { // otherwise claude has not got the message
			t.Again = true
		}
	}
}

// pause is how long to wait after the failure of a turn that was repeated n times. It reports false if the turn is not to
// be tried again. Failures of the service allow the given number of retries.
func pause(err error, n, retries int) (class agent.Class, wait time.Duration, may bool) {
	var failure *agent.Failure
	if !errors.As(err, &failure) {
		return 0, 0, false
	}
	class = failure.Class
	switch class {
	case agent.Overloaded, agent.Server:
		wait = firstPause
		for range n {
			wait *= 3
		}
		return class, wait, n < retries
	case agent.Unresumable:
		return class, openingPause << n, n+1 < maxOpenings
	case agent.Rejected:
		return class, 0, n == 0
	default:
		return class, 0, false
	}
}

// charge adds the cost and actions of earlier tries.
func charge(r *agent.Result, earlier agent.Result) {
	r.InputTokens += earlier.InputTokens
	r.CacheTokens += earlier.CacheTokens
	r.OutputTokens += earlier.OutputTokens
	r.CostMicros += earlier.CostMicros
	r.Compactions += earlier.Compactions
	r.Uses.Join(earlier.Uses)
}

package turn_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Behaviour: turn-retry.
func TestRetries(t *testing.T) {
	t.Parallel()
	answered := outcome{result: agent.Result{Text: "hi", Continued: true, InputTokens: 2, CostMicros: 1}}
	failed := outcome{result: agent.Result{InputTokens: 3, CostMicros: 10}, err: &agent.Failure{Class: agent.Overloaded}}
	for name, test := range map[string]struct {
		results func() []outcome
		tries   int
		took    time.Duration
		state   domain.RunState
		said    string
		input   int64
	}{
		"it passes":           {func() []outcome { return []outcome{failed, failure(agent.Server), answered} }, 3, 20 * time.Second, domain.RunDone, "hi", 5},
		"it does not pass":    {func() []outcome { return []outcome{failed, failed, failed, failed} }, 4, 65 * time.Second, domain.RunFailed, trouble(agent.Overloaded), 12},
		"nothing that passes": {func() []outcome { return []outcome{failure(agent.Auth)} }, 1, 0, domain.RunFailed, trouble(agent.Auth), 0},
		"a limit of no end":   {func() []outcome { return []outcome{failure(agent.RateLimit)} }, 1, 0, domain.RunFailed, trouble(agent.RateLimit), 0},
		"then something else": {func() []outcome { return []outcome{failed, failure(agent.ContentFilter)} }, 2, 5 * time.Second, domain.RunFailed, trouble(agent.ContentFilter), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &fixture{results: test.results(), retries: 3}
				began := time.Now()
				if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != test.took || len(r.turns) != test.tries {
					t.Errorf("%d tries in %v", len(r.turns), took)
				}
				c := r.completed[0]
				if c.State != test.state || !strings.HasPrefix(c.Items[0].Text, test.said) || c.Turn.Usage.InputTokens != test.input {
					t.Errorf("%s, %q, %d tokens", c.State, c.Items[0].Text, c.Turn.Usage.InputTokens)
				}
				for i, turn := range r.turns {
					if turn.Again != (i > 0) {
						t.Errorf("try %d: again %t", i+1, turn.Again)
					}
				}
			})
		})
	}
}

// A turn that waits to be tried again is stopped at once.
// Behaviour: turn-retry.
func TestStopBetweenTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{results: []outcome{failure(agent.Server)}, retries: 3}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(agent.ErrStopped) })
		began := time.Now()
		if err := r.handler().Handle(ctx, message(1), nil); err == nil {
			t.Error("it goes on")
		}
		if took := time.Since(began); took != 2*time.Second || r.completed[0].State != domain.RunCancelled {
			t.Errorf("%v, %s", took, r.completed[0].State)
		}
	})
}

package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

func retries(c *config.Config) { c.Agent.Claude.Retries = 3 }

// Behaviour: turn-retry.
func TestRetries(t *testing.T) {
	t.Parallel()
	answered := answers(agent.Result{Text: "hi", Continued: true, InputTokens: 2, CostMicros: 1})
	failed := costs(agent.Result{InputTokens: 3, CostMicros: 10}, agent.Failure{Class: agent.Overloaded})
	for name, test := range map[string]struct {
		script []step
		tries  int
		took   time.Duration
		state  domain.RunState
		said   string
		input  int64
	}{
		"it passes":           {[]step{failed, fails(agent.Server), answered}, 3, 20 * time.Second, domain.RunDone, "hi", 5},
		"it does not pass":    {[]step{failed}, 4, 65 * time.Second, domain.RunFailed, notices[agent.Overloaded], 12},
		"nothing that passes": {[]step{fails(agent.Auth)}, 1, 0, domain.RunFailed, notices[agent.Auth], 0},
		"a limit of no end":   {[]step{fails(agent.RateLimit)}, 1, 0, domain.RunFailed, notices[agent.RateLimit], 0},
		"then something else": {[]step{failed, fails(agent.ContentFilter)}, 2, 5 * time.Second, domain.RunFailed, notices[agent.ContentFilter], 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t, retries)
				r.plays(test.script...)
				began := time.Now()
				r.do(t, message("hello"))
				if took := time.Since(began); took != test.took || !cmp.Equal(r.tries(), []string{"opus", "opus again", "opus again", "opus again"}[:test.tries]) {
					t.Errorf("tried %q in %v", r.tries(), took)
				}
				said, _ := r.told(t)
				if o, usage := r.outcome(t), r.known(t).Usage; o.State != test.state || !cmp.Equal(said, []string{test.said}) || usage.InputTokens != test.input {
					t.Errorf("%s, %q, usage %+v", o.State, said, usage)
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
		r := open(t, retries)
		r.plays(fails(agent.Server))
		r.accept(t, message("hello"))
		r.run(t)
		time.Sleep(2 * time.Second)
		asked := time.Now()
		stopped, err := r.turns.Stop(t.Context(), asked, session)
		if err != nil || !stopped || !time.Now().Equal(asked) || r.outcome(t).State != domain.RunCancelled {
			t.Errorf("stopped %t after %v, %v: %+v", stopped, time.Since(asked), err, r.outcome(t))
		}
	})
}

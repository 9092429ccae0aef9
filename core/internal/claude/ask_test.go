package claude_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// A question goes to whoever decides, and the decision to the tool.
// Behaviour: ask.
func TestAsk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		decision agent.Decision
		output   string
		failed   bool
	}{
		"allowed":          {agent.Decision{Allow: true}, "asked", false},
		"allowed, changed": {agent.Decision{Allow: true, Input: json.RawMessage(`{"command":"echo changed"}`)}, "changed", false},
		"denied":           {agent.Decision{Message: "not today"}, "not today", true},
		"denied by none":   {agent.Decision{}, "Bash was not allowed.", true},
		"no object":        {agent.Decision{Allow: true, Input: json.RawMessage(`[1]`)}, "The answer to the question of Bash could not be passed on.", true},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, r *rig) {
				turn := r.turn(`[[stub {"tool":"echo asked","ask":true,"answer":"done"}]]`)
				var asked []agent.Question
				turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
					asked = append(asked, q)
					return tc.decision
				})
				result := r.ask(r.pool(), turn)
				denied := tc.failed && r.config.Env["CLAUDE_STUB_LEGACY"] == "" // an old CLI does not say what was decided
				want := []agent.ToolUse{{Name: "Bash", Summary: "echo asked", Output: tc.output, Failed: tc.failed, Denied: denied}}
				if diff := cmp.Diff(want, result.Tools); diff != "" || result.Text != "done" {
					t.Errorf("answer %q, tools (-want +got):\n%s", result.Text, diff)
				}
				if len(asked) != 1 || asked[0].Tool != "Bash" || asked[0].ToolUseID == "" || string(asked[0].Input) != `{"command":"echo asked"}` {
					t.Errorf("asked %+v", asked)
				}
			})
		})
	}
}

// A decision can end the turn; the next one goes on with the same process.
// Behaviour: oneshot.
func TestAskStops(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		turn := r.turn(`[[stub {"tool":"true","ask":true,"answer":"done"}]]`)
		turn.Asker = askFunc(func(context.Context, agent.Question) agent.Decision {
			return agent.Decision{Message: "stop", Stop: true}
		})
		_, err := pool.Run(t.Context(), turn)
		r.wantClass(err, agent.Aborted)
		r.ask(pool, r.turn("and now?"))
		r.wantSpawned(pool, 1)
	})
}

// A question is withdrawn when its turn is stopped, and Run waits for whoever decides.
// Behaviour: ask-time.
func TestAskEndsWithTheTurn(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		ctx, stop := context.WithCancelCause(t.Context())
		turn := r.turn(`[[stub {"tool":"true","ask":true,"answer":"done"}]]`)
		asked, decided := make(chan struct{}), false
		turn.Asker = askFunc(func(ctx context.Context, _ agent.Question) agent.Decision {
			close(asked)
			<-ctx.Done()
			decided = true
			return agent.Decision{Allow: true}
		})
		running := r.begin(ctx, pool, turn)
		<-asked
		stop(agent.ErrStopped)
		<-running.done
		r.wantClass(running.err, agent.Aborted)
		if !decided {
			t.Error("Run did not wait for the decision")
		}
		if result := r.ask(pool, r.turn("next")); result.Text != "echo: [Bob] next" {
			t.Errorf("the next answer is %q", result.Text)
		}
	})
}

// While a person is asked, neither the turn's time nor the watchdog's runs.
// Behaviour: ask-time.
func TestAskTakesItsTime(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.config.Stall = 300 * time.Millisecond
		pool := r.pool()
		r.ask(pool, r.turn("warm up"))
		turn := r.turn(`[[stub {"tool":"true","ask":true,"answer":"done"}]]`)
		turn.Timeout = 700 * time.Millisecond
		turn.Asker = askFunc(func(ctx context.Context, _ agent.Question) agent.Decision {
			const long = time.Second
			select {
			case <-time.After(long):
				return agent.Decision{Allow: true}
			case <-ctx.Done():
				return agent.Decision{}
			}
		})
		if result := r.ask(pool, turn); result.Text != "done" {
			t.Errorf("answer = %q", result.Text)
		}
		// Not so a tool, of which the turn's time is.
		turn = r.turn(`[[stub {"tool":"sleep 20","answer":"done"}]]`)
		turn.Timeout = 700 * time.Millisecond
		_, err := pool.Run(t.Context(), turn)
		r.wantClass(err, agent.TimeUp)
	})
}

// Without a person who may decide the answer is no, and says what to do.
func TestAskWithoutAnyoneToAsk(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		result := r.ask(r.pool(), r.turn(`[[stub {"tool":"true","ask":true,"answer":"done"}]]`))
		if len(result.Tools) != 1 || !result.Tools[0].Failed || !strings.Contains(result.Tools[0].Output, "claude.allowed_tools") {
			t.Errorf("tools = %+v", result.Tools)
		}
	})
}

// A process whose turn waits for people is not among those that max_processes bounds.
// Behaviour: owner-first.
func TestWaitingForPeopleTakesNoPlace(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.config.MaxProcesses = 1
		pool := r.pool()
		asked, answer := make(chan struct{}), make(chan struct{})
		waits := r.turn(`[[stub {"tool":"true","ask":true,"answer":"done"}]]`)
		waits.Asker = askFunc(func(context.Context, agent.Question) agent.Decision {
			close(asked)
			<-answer
			return agent.Decision{Allow: true}
		})
		done := make(chan error)
		go func() {
			_, err := pool.Run(t.Context(), waits)
			done <- err
		}()
		<-asked
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := pool.Run(ctx, r.in(uuid.NewString(), false, "and me?")); err != nil {
			t.Errorf("beside a turn that waits for people: %v", err)
		}
		close(answer)
		if err := <-done; err != nil {
			t.Errorf("the turn that waited for people: %v", err)
		}
		if n := pool.Stats().Running; n != 0 {
			t.Errorf("%d processes are running", n)
		}
	})
}

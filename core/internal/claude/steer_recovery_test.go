package claude_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Wherever claude is killed, a steered line is covered if the conversation has it, and runs on its own if not; never both.
// Behaviour: steer-once.
func TestKillWithSteeredLine(t *testing.T) {
	points := map[string]bool{ // whether the line is part of the conversation
		"queued": false, "taken": false, "steered": true, "answer": true, "answered": true,
	}
	for point, part := range points {
		for _, life := range []string{"same", "next"} {
			t.Run(point+" "+life, func(t *testing.T) {
				everyWay(t, func(t *testing.T, r *rig) {
					pool, box := r.pool(), newMailbox()
					l := box.put("the line")
					turn := steerable(r.turn(directive(map[string]any{
						"tool": untilQueued, "answer": "the one answer", "crash": point,
					})), box)
					failed, err := pool.Run(r.Context(), turn)
					r.wantClass(err, agent.Died)
					want := []string(nil)
					if part {
						want = []string{l.UUID}
					}
					if diff := cmp.Diff(want, failed.Covered); diff != "" {
						t.Errorf("covered by the killed turn (-want +got):\n%s", diff)
					}
					if life == "next" {
						r.closeNow(pool)
						pool = r.pool()
					}
					for attempt := range 2 {
						turn = r.again(turn)
						got := r.ask(pool, turn)
						if got.Text != "the one answer" {
							t.Errorf("answer = %q", got.Text)
						}
						if recovered := attempt > 0 || point == "answered"; got.Recovered != recovered || got.Continued == recovered {
							t.Errorf("recovered %t, continued %t in attempt %d", got.Recovered, got.Continued, attempt)
						}
						if diff := cmp.Diff(want, got.Covered); diff != "" {
							t.Errorf("covered by attempt %d (-want +got):\n%s", attempt, diff)
						}
					}
					// Even if the host has forgotten that the line was covered.
					own := r.ask(pool, r.own(l))
					if want := map[bool]string{true: "the one answer", false: "echo: [Bob] the line"}[part]; own.Text != want || own.Recovered != part {
						t.Errorf("the line on its own brings %+v", own)
					}
					if n := r.said("the line"); n != 1 {
						t.Errorf("the model got %d times:\n%s", n, r.transcript())
					}
				})
			})
		}
	}
}

// untilQueued is a tool that runs until a line waits to be steered, five seconds at most.
const untilQueued = `for i in $(seq 500); do grep -rqs 'line","operation' "$HOME/claude" && break; sleep 0.01; done`

// The same in a new process: the CLI knows the ids of turns only, not those of steered lines.
func TestForgottenSteeredLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool, box := r.pool(), newMailbox()
	l := box.put("the line")
	r.ask(pool, steerable(r.turn(directive(map[string]any{"tool": untilQueued, "answer": "the one answer"})), box))
	for _, renew := range []bool{false, true} {
		if renew {
			r.closeNow(pool)
			pool = r.pool()
		}
		if got := r.ask(pool, r.own(l)); got.Text != "the one answer" || !got.Recovered {
			t.Errorf("the line on its own brings %+v", got)
		}
	}
	if n := r.said("the line"); n != 1 {
		t.Errorf("the model got %d times", n)
	}
}

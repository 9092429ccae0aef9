//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// The CLI asks the API for no thinking, and for speed, when it is asked to: as a process starts and while it runs. A model that it
// says to be unable is asked for as little as possible.
// Behaviour: think-off, fast.
func TestThinkingAndSpeed(t *testing.T) {
	t.Parallel()
	for _, oneShot := range []bool{false, true} {
		r := newRig(t, messagesapi.Options{Default: messagesapi.Reply{Text: "hello"}}, func(c *runner) { c.OneShot = oneShot })
		pool := r.pool()
		for _, step := range []struct {
			profile agent.Profile
			want    string
		}{
			{agent.Profile{Model: "claude-opus-4-8", Effort: agent.EffortOff, Fast: true}, "disabled low fast"},
			{agent.Profile{Model: "claude-opus-4-8", Effort: "medium"}, "adaptive medium "},
			{agent.Profile{Model: "claude-opus-4-8", Effort: agent.EffortOff}, "disabled low "},
			{agent.Profile{Model: "opus", Effort: agent.EffortOff, Fast: true}, "adaptive low fast"},
			{agent.Profile{Model: "haiku", Effort: agent.EffortOff, Fast: true}, "adaptive low "},
			{agent.Profile{Model: "claude-haiku-4-5", Effort: agent.EffortOff}, "disabled  "},
		} {
			turn := r.turn("hello")
			turn.Started, turn.Profile = r.started, step.profile
			if _, err := pool.Run(r.ctx, turn); err != nil {
				t.Fatal(err)
			}
			r.started = true
			list := r.api.Messages()
			asked := list[len(list)-1].Prompt
			if got := fmt.Sprint(asked.Thinking.Type, " ", asked.Output.Effort, " ", asked.Speed); got != step.want {
				t.Errorf("one shot %t, %+v: %s was asked with %q, want %q", oneShot, step.profile, asked.Model, got, step.want)
			}
			if fast, why := pool.Speed(r.session); !oneShot && (fast == "on") != (asked.Speed == "fast") {
				t.Errorf("%+v: the speed is shown as %q, %q", step.profile, fast, why)
			}
		}
		for model, want := range map[string]agent.Abilities{"opus": {Fast: true}, "haiku": {}} {
			if can, known := agent.AbilitiesOf(model, pool.Inventory("").Models); !known || can.Fast != want.Fast || can.ThinkingOff != want.ThinkingOff {
				t.Errorf("of %s the CLI tells %+v, %t", model, can, known)
			}
		}
	}
}

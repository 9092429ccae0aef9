package claude_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// Behaviour: subagents.
func TestSubagentsAreListedAndStopped(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"new", "legacy"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ways[way](r)
			pool := r.pool()
			if list := pool.Tasks(r.session); len(list) > 0 {
				t.Errorf("%v runs before the first turn", list)
			}
			if _, err := pool.StopTask(t.Context(), r.session, 1); !errors.Is(err, client.ErrNoTask) {
				t.Errorf("stopping nothing: %v", err)
			}
			ctx, stop := context.WithCancelCause(r.Context())
			defer stop(nil)
			running := r.begin(ctx, pool, r.turn(directive(map[string]any{
				"agents": []map[string]string{{"what": "Look for tests"}, {"what": "Write docs", "tool": "sleep 100"}}, "answer": "done",
			})))
			var list []client.Task
			poll(t, "the second subagent runs its tool", func() bool {
				list = pool.Tasks(r.session)
				return len(list) == 1 && list[0].Doing != ""
			})
			if got := list[0]; got.Number != 2 || got.What != "Write docs" || got.Agent != "general-purpose" || got.Doing != "Running sleep 100" || time.Since(got.Since) > time.Minute {
				t.Errorf("%+v", got)
			}
			if _, err := pool.StopTask(t.Context(), r.session, 1); !errors.Is(err, client.ErrNoTask) {
				t.Errorf("stopping one that has ended: %v", err)
			}
			stopped, err := pool.StopTask(t.Context(), r.session, 2)
			if way == "legacy" {
				if !errors.Is(err, client.ErrNoTaskStop) {
					t.Errorf("an old CLI: %v", err)
				}
				stop(agent.ErrStopped)
				<-running.done
				poll(t, "the subagent has ended with its turn", func() bool { return len(pool.Tasks(r.session)) == 0 })
				return
			}
			if err != nil || stopped.What != "Write docs" {
				t.Errorf("%+v, %v", stopped, err)
			}
			<-running.done
			if running.err != nil || running.result.Text != "done" {
				t.Errorf("the turn answers %q, %v", running.result.Text, running.err)
			}
			if last := running.result.Tools[len(running.result.Tools)-1]; last.Name != "Agent" || !last.Failed || !strings.Contains(last.Output, "interrupted") {
				t.Errorf("Claude got %+v", last)
			}
			if list := pool.Tasks(r.session); len(list) > 0 {
				t.Errorf("%v is left", list)
			}
		})
	}
}

// Work that continues after its turn is ended, with its tools, and its output is no answer. The conversation continues in
// another process.
// Behaviour: turn-end.
func TestNothingGoesOnAfterTheResult(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{"works on": "touch begun; sleep 100", "ends with the turn": "touch begun", "ends later": "touch begun; sleep 0.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			pool := r.pool()
			first := r.ask(pool, r.turn(directive(map[string]any{
				"agents": []map[string]any{{"what": "Count the beans", "tool": tool, "background": true}}, "answer": "it is under way",
			})))
			if first.Text != "it is under way" {
				t.Errorf("the turn answers %q", first.Text)
			}
			for range 2 {
				if got := r.ask(pool, r.turn("and now?")).Text; got != "echo: [Bob] and now?" {
					t.Errorf("the next turn answers %q", got)
				}
			}
			if left := tools(t, r.session); len(left) > 0 {
				t.Errorf("processes outlived the turn: %v", left)
			}
			if n := r.processes.spawned(); n != 2 && name == "works on" { // the others may have ended before the turn is over
				t.Errorf("%d processes were started, want another one", n)
			}
			if list := pool.Tasks(r.session); len(list) > 0 {
				t.Errorf("%v runs", list)
			}
		})
	}
}

package claude_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// compact is a turn that compacts.
func (r *rig) compact(prompt string) agent.Turn {
	t := r.turn("")
	t.Prompt = prompt
	return t
}

// Behaviour: compact.
func TestCompact(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		if got := r.ask(pool, r.compact("/compact")); got.Text != "" || got.Compactions != 0 {
			t.Errorf("with nothing to compact: %+v", got)
		}
		r.ask(pool, r.turn(directive(map[string]any{"answer": "long", "context": 190000})))
		turn := r.compact("/compact keep the numbers")
		got := r.ask(pool, turn)
		if got.Text != "" || got.Compactions != 1 || got.ContextTokens != 626 || got.ContextWindow != 200000 || got.CostMicros == 0 {
			t.Errorf("the compaction brought %+v", got)
		}
		again := r.ask(pool, r.again(turn))
		if again.Text != "" || again.Continued {
			t.Errorf("the next attempt brought %+v", again)
		}
		if got := r.ask(pool, r.turn("next")).Text; got != "echo: [Bob] next" {
			t.Errorf("the next answer is %q", got)
		}
		if strings.Contains(r.transcript(), "was cut off") {
			t.Error("claude was asked to go on with a compaction")
		}
	})
}

// A compaction that was cut off is done again.
// Behaviour: compact.
func TestKillInCompaction(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		for _, point := range []string{"before", "answered", "result"} {
			pool := r.pool()
			r.ask(pool, r.turn("hello"))
			turn := r.compact("/compact " + directive(map[string]any{"crash": point}))
			result, err := pool.Run(r.Context(), turn)
			if err != nil {
				r.wantClass(err, agent.Died)
				result = r.ask(pool, r.again(turn))
			}
			if result.Text != "" || result.Compactions != 1 {
				t.Errorf("killed at %q: %+v", point, result)
			}
			r.closeNow(pool)
		}
	})
}

func TestStopInCompaction(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		r.ask(pool, r.turn("hello"))
		ctx, stop := context.WithCancel(r.Context())
		turn := r.compact("/compact " + directive(map[string]any{"delay_ms": 100000}))
		turn.Watcher = watcher{consumed: stop}
		result, err := pool.Run(ctx, turn)
		r.wantClass(err, agent.Aborted)
		if result.Compactions != 0 {
			t.Errorf("result = %+v", result)
		}
	})
}

// The CLI compacts by itself in the course of a turn.
// Behaviour: compaction.
func TestCompactionWithinTurn(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		turn := r.turn(directive(map[string]any{"compact": true, "answer": "short", "crash": "answered"}))
		result, err := pool.Run(r.Context(), turn)
		r.wantClass(err, agent.Died)
		if result.Compactions != 1 {
			t.Errorf("the failed turn brought %+v", result)
		}
		r.ask(pool, r.compact("/compact"))
		if got := r.ask(pool, r.again(turn)); got.Text != "short" || got.Compactions != 1 || !got.Recovered {
			t.Errorf("the next attempt brought %+v", got)
		}
	})
}

func TestOtherCommandsAreNotPassedToTheCLI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	for _, prompt := range []string{"/clear", "/compactor", "/compact\n/clear", "/compact a\nb", "/compact\t", " \n"} {
		_, err := pool.Run(r.Context(), r.compact(prompt))
		r.wantClass(err, agent.Unknown)
	}
	if n := r.processes.spawned(); n > 0 {
		t.Errorf("%d processes were started", n)
	}
}

// The context that a turn has taken is reported, so that the host can act before it is full.
func TestContextSizeIsReported(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		got := r.ask(pool, r.turn(directive(map[string]any{"answer": "x", "context": 150000})))
		if got.ContextTokens != 150000 || got.ContextWindow != 200000 {
			t.Errorf("context = %d of %d", got.ContextTokens, got.ContextWindow)
		}
	})
}

// Behaviour: reasoning.
func TestWorkIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	script := map[string]any{"thinking": "let me see", "tool": "echo a\necho b", "tools": []string{"false"}, "answer": "done"}
	got := r.ask(pool, r.turn(directive(script)))
	want := []agent.ToolUse{{Name: "Bash", Summary: "echo a echo b", Output: "a\nb"}, {Name: "Bash", Summary: "false", Failed: true}}
	if diff := cmp.Diff(want, got.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got.Reasoning != "let me see" || got.Text != "done" {
		t.Errorf("reasoning %q, answer %q", got.Reasoning, got.Text)
	}
	if got := r.ask(pool, r.turn("next")); len(got.Tools) > 0 || got.Reasoning != "" {
		t.Errorf("the next turn brought %+v", got)
	}
}

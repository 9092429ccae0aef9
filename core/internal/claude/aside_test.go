package claude_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// A side question is answered while the turn's tool runs.
// Behaviour: aside.
func TestAside(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, answer string
		is             error
		says           string
	}{
		"answered":    {script: "", answer: "aside: what are you doing?"},
		"unsupported": {script: "unsupported", is: client.ErrNoAside},
		"failed":      {script: "failed", says: "API error: overloaded"},
		"given up":    {script: "hang", is: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			pool := r.pool()
			turn := r.turn(`[[stub {"tool":"sleep 60","aside":"` + tc.script + `"}]]`)
			begun := make(chan struct{}, 100)
			turn.Watcher = r.showing(func(p agent.Progress) {
				if len(p.Running) > 0 {
					begun <- struct{}{}
				}
			})
			ctx, stop := context.WithCancelCause(t.Context())
			running := r.begin(ctx, pool, turn)
			<-begun
			asking, giveUp := context.WithCancel(t.Context())
			if tc.is == context.Canceled {
				giveUp()
			}
			answer, err := pool.Aside(asking, r.session, "what are you doing?")
			giveUp()
			if answer != tc.answer || tc.is != nil && !errors.Is(err, tc.is) || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) ||
				tc.answer != "" && err != nil {
				t.Errorf("aside = %q, %v", answer, err)
			}
			stop(agent.ErrStopped)
			<-running.done
			r.wantClass(running.err, agent.Aborted)
		})
	}
}

// Behaviour: aside.
func TestAsideNeedsAProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	if _, err := pool.Aside(t.Context(), uuid.NewString(), "hello?"); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("without a process: %v", err)
	}
	r.ask(pool, r.turn("hello"))
	if answer, err := pool.Aside(t.Context(), r.session, "idle?"); err != nil || answer != "aside: idle?" {
		t.Errorf("beside no turn: %q, %v", answer, err)
	}
	for _, bad := range []string{"", strings.Repeat("x", 17<<10)} {
		if _, err := pool.Aside(t.Context(), r.session, bad); err == nil {
			t.Errorf("a question of %d bytes was asked", len(bad))
		}
	}
}

// With a process for each turn a side question during one is answered, and without a turn there is no process to ask.
// Behaviour: oneshot.
func TestAsideOfOneTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.OneShot = true
	pool := r.pool()
	begun := filepath.Join(r.config.Workspace, "begun")
	running := r.begin(r.Context(), pool, r.turn(directive(map[string]any{"tool": until("begun", "go")})))
	poll(t, "the tool runs", func() bool { return exists(begun) })
	if answer, err := pool.Aside(t.Context(), r.session, "well?"); err != nil || answer != "aside: well?" {
		t.Errorf("beside a turn: %q, %v", answer, err)
	}
	r.touch("go")
	<-running.done
	if running.err != nil {
		t.Fatal(running.err)
	}
	if _, err := pool.Aside(t.Context(), r.session, "and now?"); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("behind the turn: %v", err)
	}
}

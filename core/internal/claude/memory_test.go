package claude_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/base/programtest"
)

// weighed is a rig whose pool looks at its memory all the time.
func weighed(t *testing.T) *rig {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process holds")
	}
	r := newRig(t)
	r.config.WeighEvery = 5 * time.Millisecond
	return r
}

// holding is a turn after which its session's process holds memory, in MB.
func (r *rig) holding(session string, megabytes int) agent.Turn {
	return r.in(session, false, directive(map[string]any{"hold": megabytes, "answer": "held"}))
}

// held are the sessions with a process.
func (r *rig) held() map[string]bool {
	held := map[string]bool{}
	for _, p := range r.processes.all() {
		held[p.Name] = true
	}
	return held
}

// Above the limit the processes that were used least recently are ended, and no more of them than it takes.
// Behaviour: memory-budget.
func TestMemoryIsFreed(t *testing.T) {
	t.Parallel()
	r := weighed(t)
	r.config.MaxMemory = 400 << 20
	pool := r.pool()
	a, b, c := uuid.NewString(), uuid.NewString(), uuid.NewString()
	r.ask(pool, r.holding(a, 150))
	r.ask(pool, r.holding(b, 150))
	poll(t, "both are weighed", func() bool { return pool.Stats().Memory > 300<<20 })
	r.ask(pool, r.in(a, true, "b is the one to go")) // below the limit nothing is
	r.ask(pool, r.holding(c, 150))
	poll(t, "memory is freed", func() bool { return !r.held()[b] })
	poll(t, "it is within the limit", func() bool {
		used := pool.Stats().Memory
		return used > 300<<20 && used <= 400<<20
	})
	if held := r.held(); len(held) != 2 || !held[a] || !held[c] {
		t.Errorf("processes are held for %v, want a=%s and c=%s", held, a, c)
	}
	if got := r.ask(pool, r.in(b, true, "5")).Text; got != "echo: [Bob] 5" {
		t.Errorf("the session whose process was ended answers %q", got)
	}
}

// The memory of a turn's tools counts, so that idle processes are ended for them. The turn itself continues.
// Behaviour: memory-budget.
func TestToolsAreWeighed(t *testing.T) {
	t.Parallel()
	r := weighed(t)
	r.config.MaxMemory = 200 << 20
	pool := r.pool()
	r.ask(pool, r.in(uuid.NewString(), false, "leave one idle"))
	// The tool is a stub of its own, which holds memory while a tool of its own runs.
	inner := directive(map[string]any{"hold": 200, "tool": until("begun", "go")})
	turn := r.turn(directive(map[string]any{"tool": binary + " -p '" + inner + "'; :", "answer": "done"}))
	running := r.begin(r.Context(), pool, turn)
	poll(t, "the tool holds it", func() bool { return exists(filepath.Join(r.config.Workspace, "begun")) })
	poll(t, "the idle process is evicted", func() bool { stats := pool.Stats(); return stats.Idle == 0 && stats.Memory > 200<<20 })
	r.touch("go")
	<-running.done
	if running.err != nil || running.result.Text != "done" {
		t.Errorf("the turn brought %q, %v", running.result.Text, running.err)
	}
	poll(t, "it is over", func() bool { return pool.Stats().Memory < 200<<20 })
	if stats := pool.Stats(); stats.Idle != 1 {
		t.Errorf("%+v: the process that ran the tool is not kept", stats)
	}
}

// A process that has grown is replaced once it is idle, and the conversation goes on.
// Behaviour: process-recycle.
func TestGrownProcessIsReplaced(t *testing.T) {
	t.Parallel()
	r := weighed(t)
	r.config.RecycleAt = 100 << 20
	pool := r.pool()
	r.ask(pool, r.turn("remember me"))
	r.ask(pool, r.turn(directive(map[string]any{"hold": 120})))
	poll(t, "the process is ended", func() bool { return len(r.processes.all()) == 0 })
	if got := r.ask(pool, r.turn(directive(map[string]any{"say": "$HISTORY"}))).Text; !strings.Contains(got, "remember me") {
		t.Errorf("the new process knows %q", got)
	}
	if n := r.processes.spawned(); n != 2 {
		t.Errorf("%d processes were started, want 2", n)
	}
}

// Without limits nothing is ended, however large it is.
func TestNoLimitOfMemory(t *testing.T) {
	t.Parallel()
	r := weighed(t)
	pool := r.pool()
	r.ask(pool, r.holding(r.session, 150))
	poll(t, "it is weighed", func() bool { return pool.Stats().Memory > 150<<20 })
	if stats := pool.Stats(); stats.Idle != 1 || stats.Limit != 0 {
		t.Errorf("%+v, want one idle process and no limit", stats)
	}
}

// A limit that is a share of the machine's memory is a number.
func TestMemoryLimitAsShareOfTheMachine(t *testing.T) {
	t.Parallel()
	r := weighed(t)
	r.config.MaxMemory, r.config.Machine = -1, memory.Machine{}
	if limit := r.pool().Stats().Limit; limit < 64<<20 {
		t.Errorf("half of the machine's memory is %d bytes", limit)
	}
}

// At most two processes are started at once, as a start takes a core; the turns that wait get theirs in their order.
// Behaviour: process-order.
func TestStartsAreThrottled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.MaxProcesses = 8
	r.config.Command = filepath.Join(t.TempDir(), "claude")
	script := "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.01; done\nexec " + binary + ` "$@"` + "\n"
	programtest.Write(t, r.config.Command, script)
	pool := r.pool()
	var running []*attempt
	for i := range 6 {
		running = append(running, r.begin(context.WithoutCancel(r.Context()), pool, r.in(uuid.NewString(), false, fmt.Sprint(i))))
	}
	poll(t, "two are started", func() bool { return r.processes.spawned() == 2 && pool.Stats().Running == 6 })
	if n := r.processes.spawned(); n != 2 {
		t.Errorf("%d processes were started at once, want 2", n)
	}
	r.touch("go")
	for i, a := range running {
		<-a.done
		if want := fmt.Sprintf("echo: [Bob] %d", i); a.err != nil || a.result.Text != want {
			t.Errorf("turn %d: %q, %v", i, a.result.Text, a.err)
		}
	}
}

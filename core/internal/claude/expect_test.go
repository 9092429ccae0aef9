package claude_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// expected is a turn that is about to come in the rig's session.
func (r *rig) expected() agent.Turn { return agent.Turn{Session: r.session, Started: r.started} }

// expect has a process started, and waits for it.
func (r *rig) expect(pool *claude.Pool, t agent.Turn) {
	r.Helper()
	pool.Expect(t)
	poll(r.T, "the process of an expected turn is idle", func() bool { return pool.Stats().Idle == 1 })
}

// A turn that was expected finds its process idle, the first one of a conversation and one whose process was parked.
// Behaviour: process-early.
func TestExpect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	r.expect(pool, r.expected())
	if got := r.ask(pool, r.turn("hello")).Text; got != "echo: [Bob] hello" {
		t.Errorf("the answer is %q", got)
	}
	pool.Expect(r.expected()) // it has one
	if n := r.processes.spawned(); n != 1 {
		t.Errorf("%d processes were started, want 1", n)
	}
	if err := pool.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	pool = r.pool()
	r.expect(pool, r.expected())
	if got := r.ask(pool, r.turn(directive(map[string]any{"say": "$HISTORY"}))).Text; !strings.HasPrefix(got, "[Bob] hello\n") {
		t.Errorf("the resumed conversation has %q", got)
	}
	if n := r.processes.spawned(); n != 2 {
		t.Errorf("%d processes were started, want 2", n)
	}
}

// A turn that comes while its process starts gets that process.
func TestExpectedTurnComesAtOnce(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		for range 3 {
			pool.Expect(r.expected())
		}
		if got := r.ask(pool, r.turn("hello")).Text; got != "echo: [Bob] hello" {
			t.Errorf("the answer is %q", got)
		}
		r.wantSpawned(pool, 1)
	})
}

// The process of an expected turn learns the host's tools before the turn, and calls them in it, by the turn's own server.
// Behaviour: tools.
func TestExpectedTurnsTools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	early, tools := newToolbox(), newToolbox()
	expected := r.expected()
	expected.Tools = early
	r.expect(pool, expected)
	turn := r.turn(`[[stub {"calls":[{"tool":"echo","input":{"text":"hello"}}],"say":"$TOOLS"}]]`)
	turn.Tools = tools
	result := r.ask(pool, turn)
	if result.Text != "echo\nfail\nhang\nlarge" || len(result.Tools) != 1 || result.Tools[0].Output != "hello" {
		t.Errorf("the tools are %q, the call brought %+v", result.Text, result.Tools)
	}
	for _, method := range early.seen() {
		if method == "tools/call" {
			t.Error("a tool was called for a turn that was only expected")
		}
	}
	if n := r.processes.spawned(); n != 1 {
		t.Errorf("%d processes were started, want 1", n)
	}
}

// What is expected takes no slot from turns that wait for one, and does not wait for one itself.
func TestExpectTakesNoSlotFromTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.MaxProcesses = 1
	pool := r.pool()
	running := r.begin(t.Context(), pool, r.in(uuid.NewString(), false, `[[stub {"tool":"while [ ! -e go ]; do sleep 0.01; done","answer":"done"}]]`))
	poll(t, "the turn runs", func() bool { return r.processes.spawned() == 1 })
	pool.Expect(r.expected())
	if n := pool.Stats().Waiting; n != 0 {
		t.Errorf("%d runs wait for a slot", n)
	}
	r.touch("go")
	<-running.done
	if running.err != nil || running.result.Text != "done" {
		t.Errorf("the running turn: %q, %v", running.result.Text, running.err)
	}
	r.expect(pool, r.expected()) // in the slot of the idle one
	if got := r.ask(pool, r.turn("hello")).Text; got != "echo: [Bob] hello" {
		t.Errorf("the answer is %q", got)
	}
	if n := r.processes.spawned(); n != 2 {
		t.Errorf("%d processes were started, want 2", n)
	}
}

// A process that dies before its turn comes, or whose start fails, leaves the turn as it is without it.
func TestExpectedProcessDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	r.expect(pool, r.expected())
	for _, p := range r.processes.all() {
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.ask(pool, r.turn("hello")).Text; got != "echo: [Bob] hello" {
		t.Errorf("the answer is %q", got)
	}
}

// The end of the host ends what starts.
func TestCloseWhileAnExpectedProcessStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5 {
		pool := r.pool()
		pool.Expect(agent.Turn{Session: uuid.NewString()})
		if err := pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if stats := pool.Stats(); len(stats.PIDs) > 0 {
			t.Errorf("processes are left: %v", stats.PIDs)
		}
		pool.Expect(agent.Turn{Session: uuid.NewString()}) // nothing
	}
}

package claude_test

import (
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// spared begins a conversation in a pool, after which a spare process waits.
func (r *rig) spared() *claude.Pool {
	r.Helper()
	r.config.Spare = claude.AutoSpare
	pool := r.pool()
	r.ask(pool, r.turn("hello"))
	r.spares(pool, 1)
	return pool
}

// spares waits until there are so many spare processes, and nothing starts.
func (r *rig) spares(pool *claude.Pool, want int) {
	r.Helper()
	poll(r.T, "the spare processes are there", func() bool {
		stats := pool.Stats()
		return stats.Spare == want && stats.Running == 0
	})
}

// begins is a turn that begins another conversation.
func (r *rig) begins(text string) agent.Turn { return r.in(uuid.NewString(), false, text) }

// A conversation that begins gets the process that waits for it, and another one then waits.
// Behaviour: process-spare.
func TestSpare(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.spared()
	for range 2 {
		turn := r.begins("hello")
		turn.Session = pool.Spare(turn)
		if turn.Session == "" {
			t.Fatal("no spare process fits")
		}
		before := r.processes.spawned()
		if got := r.ask(pool, turn).Text; got != "echo: [Bob] hello" {
			t.Errorf("the answer is %q", got)
		}
		r.spares(pool, 1)
		if n := r.processes.spawned() - before; n != 1 {
			t.Errorf("%d processes were started, want 1: the next spare one", n)
		}
		turn.Started, turn.UUID = true, uuid.NewString()
		if got := r.ask(pool, turn).Text; got != "echo: [Bob] hello" {
			t.Errorf("the next answer is %q", got)
		}
	}
}

// Before the first conversation begins, the turns that are expected tell how it will be run.
// Behaviour: process-spare, typing-early.
func TestSpareForAnExpectedBeginning(t *testing.T) {
	t.Parallel()
	begins := agent.Turn{}
	for name, expected := range map[string]func(agent.Turn) agent.Turn{
		"nobody has begun it": func(t agent.Turn) agent.Turn { return t },
		"another goes on": func(t agent.Turn) agent.Turn {
			t.Session, t.Started = uuid.NewString(), true
			return t
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.config.Spare = claude.AutoSpare
			pool := r.pool()
			pool.Expect(expected(begins))
			r.spares(pool, 1)
			turn := r.begins("hello")
			if turn.Session = pool.Spare(turn); turn.Session == "" {
				t.Fatal("no spare process fits")
			}
			if got := r.ask(pool, turn).Text; got != "echo: [Bob] hello" {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}

// A spare process is only for a conversation that would be begun like it.
func TestSpareThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*agent.Turn){
		"it has begun":          func(t *agent.Turn) { t.Started = true },
		"a copy":                func(t *agent.Turn) { t.ForkOf = uuid.NewString() },
		"another agent":         func(t *agent.Turn) { t.Agent = "other" },
		"another folder":        func(t *agent.Turn) { t.Folder = "/" },
		"a worktree":            func(t *agent.Turn) { t.Worktree = "/" },
		"another system prompt": func(t *agent.Turn) { t.Profile.SystemPrompt = "You are Bob." },
		"the owner's memory":    func(t *agent.Turn) { t.Profile.Private = true },
		"other permissions":     func(t *agent.Turn) { t.Profile.PermissionMode = "bypassPermissions" },
		"other tools":           func(t *agent.Turn) { t.Profile.Tools = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			pool := r.spared()
			turn := r.begins("hello")
			change(&turn)
			if session := pool.Spare(turn); session != "" {
				t.Error("it gets the spare process")
			}
			if n := pool.Stats().Spare; n != 1 {
				t.Errorf("there are %d spare processes", n)
			}
		})
	}
}

// A spare process follows the conversations that begin: one that none of them would get any more is replaced.
func TestSpareIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.spared()
	turn := r.begins("hello")
	turn.Profile.SystemPrompt = "You are Bob."
	r.ask(pool, turn)
	poll(t, "another process waits", func() bool {
		another := r.begins("hello")
		another.Profile.SystemPrompt = "You are Bob."
		return pool.Spare(another) != ""
	})
}

// A turn that is expected starts no process where a spare one fits it, and one that has a process gets no other.
func TestSpareAndExpected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.spared()
	before := r.processes.spawned()
	turn := r.begins("hello")
	pool.Expect(agent.Turn{Session: turn.Session})
	if n := r.processes.spawned(); n != before {
		t.Errorf("%d processes were started beside the spare one", n-before)
	}
	other := agent.Turn{Session: turn.Session, Profile: agent.Profile{SystemPrompt: "You are Bob."}}
	pool.Expect(other)
	poll(t, "the process of the expected turn is idle", func() bool { return pool.Stats().Idle == 2 })
	if session := pool.Spare(turn); session != "" {
		t.Error("a turn with a process gets the spare one")
	}
}

// A spare process takes no slot until a conversation gets it; then the conversation whose process is worth the least loses its own.
func TestSpareAndSlots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.MaxProcesses = 2
	pool := r.spared()
	first, second := r.turn("hello"), r.begins("hello")
	first.Started = true
	second.Profile.SystemPrompt = "You are Bob."
	before := r.processes.spawned()
	r.ask(pool, first)
	if n := r.processes.spawned() - before; n != 0 {
		t.Error("the conversation has lost its process to the spare one")
	}
	for range 2 { // as many turns as the first one had
		r.ask(pool, second)
		second.Started, second.UUID = true, uuid.NewString()
	}
	if stats := pool.Stats(); stats.Idle != 2 {
		t.Errorf("%d processes are idle, want those of both conversations", stats.Idle)
	}
	third := r.begins("hello")
	third.Profile = second.Profile
	poll(t, "a process waits that is as the latest", func() bool { third.Session = pool.Spare(third); return third.Session != "" })
	r.ask(pool, third)
	poll(t, "one conversation has lost its process", func() bool { return pool.Stats().Idle == 2 })
	before = r.processes.spawned()
	r.ask(pool, second)
	if n := r.processes.spawned() - before; n > 1 { // at most a spare one
		t.Error("the conversation that was used later has lost its process")
	}
}

// While all slots are in use by turns, a conversation gets no spare process.
func TestSpareWaitsForASlot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.MaxProcesses = 1
	pool := r.spared()
	running := r.begin(t.Context(), pool, r.in(uuid.NewString(), false, `[[stub {"tool":"while [ ! -e go ]; do sleep 0.01; done","answer":"done"}]]`))
	poll(t, "the turn runs", func() bool { return pool.Stats().Running == 1 })
	if session := pool.Spare(r.begins("hello")); session != "" {
		t.Error("a turn gets the spare process while all slots are in use")
	}
	r.touch("go")
	<-running.done
}

// One that dies is replaced, and the conversation that was to get it begins without.
func TestSpareDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.spared()
	turn := r.begins("hello")
	turn.Session = pool.Spare(turn)
	for _, pid := range pool.Stats().PIDs {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.ask(pool, turn).Text; got != "echo: [Bob] hello" {
		t.Errorf("the answer is %q", got)
	}
	r.spares(pool, 1)
}

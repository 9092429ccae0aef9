package claude_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/sdk/chat"
)

// binary is the built stub: the tests run it as the process that it stands in for.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "claude-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "claude")
	build := exec.Command("go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", binary, "github.com/clawhost/clawhost/core/cmd/claude-stub")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the stub: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// rig is a host with one claude session.
type rig struct {
	*testing.T
	config    setup
	processes *records
	session   string
	started   bool
}

// setup is how claude is run for one agent.
type setup struct {
	claude.Config
	cli.Options
}

func (s setup) pool() claude.Config {
	s.Agents = map[string]cli.Options{"": s.Options}
	return s.Config
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home := t.TempDir()
	return &rig{
		T: t, processes: newRecords(), session: uuid.NewString(),
		config: setup{
			Options: cli.Options{
				Command: binary, Workspace: t.TempDir(), RunDir: filepath.Join(home, "run"),
				Env: map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, "claude")},
			},
			// The machine that tests is busy, and they are not about how quickly it is, or how much memory it has left.
			Config: claude.Config{Interrupt: time.Second, Machine: memory.Of(fstest.MapFS{})},
		},
	}
}

// ways are how claude behaves and is run: as the newest CLI that is known, as the oldest, and with a process for each turn.
var ways = map[string]func(*rig){
	"new":     func(*rig) {},
	"legacy":  func(r *rig) { r.config.Env["CLAUDE_STUB_LEGACY"] = "1" },
	"oneshot": func(r *rig) { r.config.OneShot = true },
}

// everyWay runs a test in each of the ways.
func everyWay(t *testing.T, test func(*testing.T, *rig)) { inWays(t, test, "new", "legacy", "oneshot") }

// modes runs a test with a process for each session and with one for each turn.
func modes(t *testing.T, test func(*testing.T, *rig)) { inWays(t, test, "new", "oneshot") }

func inWays(t *testing.T, test func(*testing.T, *rig), names ...string) {
	t.Parallel()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ways[name](r)
			test(t, r)
		})
	}
}

// wantSpawned fails unless so many processes were started, where they are kept. Else there must be none that is idle.
func (r *rig) wantSpawned(pool *claude.Pool, n int) {
	r.Helper()
	if stats := pool.Stats(); r.config.OneShot && stats.Idle > 0 {
		r.Errorf("%d processes are idle", stats.Idle)
	}
	if got := r.processes.spawned(); !r.config.OneShot && got != n {
		r.Errorf("%d processes were started, want %d", got, n)
	}
}

// pool starts a process of the host. The test ends with no process left.
func (r *rig) pool() *claude.Pool {
	r.Helper()
	pool, err := claude.New(r.config.pool(), hclog.NewNullLogger(), r.processes)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := pool.Close(context.Background()); err != nil {
			r.Errorf("close: %v", err)
		}
		if left := r.processes.all(); len(left) > 0 {
			r.Errorf("processes were not forgotten: %v", left)
		}
		if r.processes.doubled > 0 {
			r.Errorf("%d times a session had two processes", r.processes.doubled)
		}
	})
	return pool
}

// turn is a first attempt at a message of the session.
func (r *rig) turn(text string) agent.Turn {
	return agent.Turn{
		Session: r.session, UUID: uuid.NewString(), Prompt: "[Bob] " + text, Authority: chat.Owner,
		Started: r.started,
		Watcher: r.showing(nil),
	}
}

// showing keeps that a message was read, and tells its progress.
func (r *rig) showing(progress func(agent.Progress)) watcher {
	return watcher{consumed: func() { r.started = true }, progress: progress}
}

// watcher is an [agent.Watcher]; each function may be nil.
type watcher struct {
	consumed func()
	progress func(agent.Progress)
}

func (w watcher) Consumed(context.Context) {
	if w.consumed != nil {
		w.consumed()
	}
}

func (w watcher) Todos() []domain.Todo { return nil }

func (w watcher) Progress(p agent.Progress) {
	if w.progress != nil {
		w.progress(p)
	}
}

// askFunc is an [agent.Asker].
type askFunc func(context.Context, agent.Question) agent.Decision

func (f askFunc) Ask(ctx context.Context, q agent.Question) agent.Decision { return f(ctx, q) }

// again is the next attempt at a message, by what is known of the one before.
func (r *rig) again(t agent.Turn) agent.Turn {
	t.Again, t.Started = true, r.started
	return t
}

// ask runs a turn that must be answered.
func (r *rig) ask(pool *claude.Pool, t agent.Turn) agent.Result {
	r.Helper()
	result, err := pool.Run(r.Context(), t)
	if err != nil {
		r.Fatalf("turn %q: %v", t.Prompt, err)
	}
	return result
}

// wantClass fails unless the turn failed in this way.
func (r *rig) wantClass(err error, want agent.Class) *agent.Failure {
	r.Helper()
	var failure *agent.Failure
	if !errors.As(err, &failure) {
		r.Fatalf("error = %v, want class %s", err, want)
	}
	if failure.Class != want {
		r.Errorf("class = %s, want %s (%v)", failure.Class, want, failure)
	}
	return failure
}

// attempt is a turn in the background.
type attempt struct {
	done   chan struct{}
	result agent.Result
	err    error
}

func (r *rig) begin(ctx context.Context, pool *claude.Pool, t agent.Turn) *attempt {
	a := &attempt{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.result, a.err = pool.Run(ctx, t)
	}()
	r.Cleanup(func() { <-a.done })
	return a
}

// poll waits for what only looking again can tell: it happens in a foreign process.
func poll(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	late := time.NewTimer(time.Minute) // a bound for what never happens
	defer late.Stop()
	for !happened() {
		select {
		case <-ticker.C:
		case <-late.C:
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// records is the host's list of processes.
type records struct {
	mu    sync.Mutex
	list  []domain.Process
	begun int
	fail  error
	// started is called with each process; nil: nothing is.
	started func(domain.Process)
	// doubled counts processes that were started while another one of their session ran.
	doubled int
}

func newRecords() *records { return &records{} }

func (r *records) RecordProcess(_ context.Context, p domain.Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started != nil {
		r.started(p)
	}
	if r.fail != nil {
		return r.fail
	}
	for _, other := range r.list {
		if other.Name == p.Name && process.Alive(other.PID, other.StartTime) {
			r.doubled++
		}
	}
	r.list = append(r.list, p)
	r.begun++
	return nil
}

func (r *records) DeleteProcess(_ context.Context, pid int, started uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(p domain.Process) bool { return p.PID == pid && p.StartTime == started })
	return nil
}

func (r *records) all() []domain.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// spawned is how many processes were started in all.
func (r *records) spawned() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// Behaviour: oneshot.
func TestAnswersOverOneProcess(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		for i := range 3 {
			text := fmt.Sprintf("message %d", i)
			result := r.ask(pool, r.turn(text))
			if want := "echo: [Bob] " + text; result.Text != want {
				t.Errorf("answer = %q, want %q", result.Text, want)
			}
			if result.CostMicros != 12500 || result.ContextWindow != 200000 || result.ContextTokens == 0 || result.OutputTokens == 0 {
				t.Errorf("turn %d has the figures %+v", i, result)
			}
			if !strings.HasPrefix(result.Model, "claude-") {
				t.Errorf("model = %q", result.Model)
			}
		}
		r.wantSpawned(pool, 1)
		if !r.started {
			t.Error("Consumed was not called")
		}
	})
}

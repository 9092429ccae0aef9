//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

// key is the credential of the tests. No failure text may show it.
const key = "sk-ant-e2e-canary-credential"

// patience bounds each test's waiting for the CLI. A turn takes well under a second when the machine is idle.
const patience = 2 * time.Minute

// cliVariable names the claude CLI to be tested.
const cliVariable = "CLAWHOST_CLAUDE"

// TestMain fails at once where there is no CLI: these tests prove nothing without it.
func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		serveStdio()
		os.Exit(0)
	}
	if os.Getenv(cliVariable) == "" {
		fmt.Fprintf(os.Stderr, "%s does not name the claude CLI: run \"make e2e\", which installs and names it\n", cliVariable)
		os.Exit(1)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv(binVariable), "clawhost")); err != nil {
		fmt.Fprintf(os.Stderr, "%s does not name the folder of the binaries: run \"make e2e\", which builds and names it: %v\n", binVariable, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// rig is one session with the real CLI, which has a home, a workspace and a Messages API of its own.
type rig struct {
	*testing.T
	ctx       context.Context
	api       *messagesapi.Server
	config    runner
	processes *processes

	session string
	started bool
}

// runner is how claude is run for one agent.
type runner struct {
	claude.Config
	cli.Options
}

func (s runner) pool() claude.Config {
	s.Agents = map[string]cli.Options{"": s.Options}
	return s.Config
}

// newRig prepares a session; the options are those of its API, and edit, if not nil, changes the runner's configuration.
func newRig(t *testing.T, options messagesapi.Options, edit func(*runner)) *rig {
	t.Helper()
	options.Key = key
	api := messagesapi.New(options)
	t.Cleanup(api.Close)
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &rig{
		T: t, ctx: ctx, api: api, processes: &processes{live: map[int]uint64{}}, session: uuid.NewString(),
		config: runner{
			Options: cli.Options{
				Command: os.Getenv(cliVariable),
				Env: map[string]string{
					"HOME":               home,
					"CLAUDE_CONFIG_DIR":  filepath.Join(home, "claude"),
					"ANTHROPIC_BASE_URL": api.URL(),
					"ANTHROPIC_API_KEY":  key,
				},
				AllowedTools: []string{"Bash"},
				Workspace:    t.TempDir(),
				RunDir:       filepath.Join(home, "run"),
			},
			Config: claude.Config{Timeout: patience},
		},
	}
	if edit != nil {
		edit(&r.config)
	}
	return r
}

// pool starts a runner: what a new process of the host has.
func (r *rig) pool() *claude.Pool {
	r.Helper()
	pool, err := claude.New(r.config.pool(), hclog.NewNullLogger(), r.processes)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { r.close(pool) })
	return pool
}

// close ends a process of the host.
func (r *rig) close(pool *claude.Pool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), patience)
	defer cancel()
	if err := pool.Close(ctx); err != nil {
		r.Errorf("close: %v", err)
	}
	if n := r.processes.left(); n != 0 {
		r.Errorf("%d processes are recorded as running after the pool was closed", n)
	}
}

// turn is a message of the session, as the host writes it.
func (r *rig) turn(text string) agent.Turn {
	return agent.Turn{
		Session: r.session, UUID: uuid.NewString(), Prompt: prompt(text), Authority: chat.Owner,
	}
}

// prompt puts the host's envelope around a text.
func prompt(text string) string {
	return envelope.Compose(envelope.Content{Messages: []envelope.Message{{
		Channel: "telegram",
		Chat:    chat.Chat{ID: "1", Kind: chat.Direct},
		Sender:  chat.Sender{ID: "2", DisplayName: "John"},
		SentAt:  time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC),
		Text:    text,
	}}}, time.UTC)
}

// try runs a turn, keeping what the host would store of it.
func (r *rig) try(pool *claude.Pool, turn agent.Turn) (agent.Result, error) {
	return r.tryUnder(r.ctx, pool, turn)
}

func (r *rig) tryUnder(ctx context.Context, pool *claude.Pool, turn agent.Turn) (agent.Result, error) {
	turn.Started = r.started
	w, _ := turn.Watcher.(watcher)
	w.consumed = func() { r.started = true }
	turn.Watcher = w
	return pool.Run(ctx, turn)
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

// run is try for a turn that must be answered.
func (r *rig) run(pool *claude.Pool, turn agent.Turn) agent.Result {
	r.Helper()
	result, err := r.try(pool, turn)
	if err != nil {
		r.Fatalf("turn %q: %v", turn.Prompt, err)
	}
	return result
}

// attempt is a turn that goes on while the test does something to it.
type attempt struct {
	done   chan struct{}
	result agent.Result
	err    error
}

// begin runs a turn in the background. The test waits for its end.
func (r *rig) begin(ctx context.Context, pool *claude.Pool, turn agent.Turn) *attempt {
	a := &attempt{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.result, a.err = r.tryUnder(ctx, pool, turn)
	}()
	r.Cleanup(func() { <-a.done })
	return a
}

// asked waits until the model is asked something that fits.
func (r *rig) asked(fits func(messagesapi.Request) bool) messagesapi.Request {
	r.Helper()
	request, err := r.api.Await(r.ctx, fits)
	if err != nil {
		r.Fatalf("the model was not asked: %v; it was asked %v", err, r.api.Messages())
	}
	return request
}

// poll waits for something that only looking again can tell, because it happens in a foreign process.
func (r *rig) poll(what string, happened func() bool) {
	r.Helper()
	poll(r.ctx, r.T, what, happened)
}

func poll(ctx context.Context, t *testing.T, what string, happened func() bool) {
	t.Helper()
	const step = 5 * time.Millisecond
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for !happened() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// wantClass asserts that a turn failed in this way, and that its error shows no credential.
func (r *rig) wantClass(err error, want agent.Class) {
	r.Helper()
	var failure *agent.Failure
	if !errors.As(err, &failure) {
		r.Fatalf("error = %v, want one of class %s", err, want)
	}
	if failure.Class != want {
		r.Errorf("class = %s, want %s (%v)", failure.Class, want, failure)
	}
}

// pid is the process of the pool; there must be exactly one.
func (r *rig) pid(pool *claude.Pool) int {
	r.Helper()
	pids := pool.Stats().PIDs
	if len(pids) != 1 {
		r.Fatalf("processes = %v, want one", pids)
	}
	return pids[0]
}

// signal sends a signal to the process of the pool.
func (r *rig) signal(pool *claude.Pool, s syscall.Signal) {
	r.Helper()
	if err := syscall.Kill(r.pid(pool), s); err != nil {
		r.Fatal(err)
	}
}

// processes is the host's record of claude processes.
type processes struct {
	mu      sync.Mutex
	started int
	live    map[int]uint64 // the start time of each pid
}

// RecordProcess notes a process.
func (p *processes) RecordProcess(_ context.Context, begun domain.Process) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	p.live[begun.PID] = begun.StartTime
	return nil
}

// DeleteProcess drops a process.
func (p *processes) DeleteProcess(_ context.Context, pid int, startTime uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live[pid] == startTime {
		delete(p.live, pid)
	}
	return nil
}

// count is how many processes were started.
func (p *processes) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started
}

// left is how many were not forgotten.
func (p *processes) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live)
}

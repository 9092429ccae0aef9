package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// directive is a prompt that scripts the stub.
func directive(script map[string]any) string {
	data, err := json.Marshal(script)
	if err != nil {
		panic(err)
	}
	return "[[stub " + string(data) + "]]"
}

// tools returns the processes that a session's tools are.
func tools(t *testing.T, session string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("without /proc a tool's processes are not found")
	}
	var found []string
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte("CLAUDE_CODE_SESSION_ID="+session)) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Behaviour: stop.
func TestStopLeavesNoTool(t *testing.T) {
	t.Parallel()
	commands := map[string]string{
		"in the foreground":  "touch begun; sleep 100",
		"forked":             "(sleep 100 & sleep 100 & wait) & touch begun; wait",
		"in its own session": "setsid sleep 100 & touch begun; wait",
		"orphaned":           "(setsid sleep 100 &); touch begun; sleep 100",
	}
	// How the process takes the interrupt: well, not, and not even SIGINT.
	for _, hang := range []string{"", "deaf", "dead"} {
		for name, command := range commands {
			t.Run(name+" "+hang, func(t *testing.T) {
				modes(t, func(t *testing.T, r *rig) {
					pool := r.pool()
					ctx, stop := context.WithCancelCause(r.Context())
					defer stop(nil)
					a := r.begin(ctx, pool, r.turn(directive(map[string]any{"tool": command, "hang": hang})))
					poll(t, "the tool runs", func() bool { return exists(filepath.Join(r.config.Workspace, "begun")) })
					poll(t, "its children run", func() bool { return len(tools(t, r.session)) > 1 })
					stop(agent.ErrStopped)
					<-a.done
					failure := r.wantClass(a.err, agent.Aborted)
					if !errors.Is(failure, agent.ErrStopped) {
						t.Errorf("the cause is lost: %v", failure)
					}
					if left := tools(t, r.session); len(left) > 0 {
						t.Errorf("processes of the tool outlived the stop: %v", left)
					}
					if got := r.ask(pool, r.turn("still there?")).Text; got != "echo: [Bob] still there?" {
						t.Errorf("the answer after the stop is %q", got)
					}
					want := 1
					if hang != "" {
						want = 2
					}
					r.wantSpawned(pool, want)
				})
			})
		}
	}
}

func TestStopInTheAnswer(t *testing.T) {
	t.Parallel()
	for _, hang := range []string{"stream", "deaf", "dead"} {
		t.Run(hang, func(t *testing.T) {
			modes(t, func(t *testing.T, r *rig) {
				pool := r.pool()
				ctx, stop := context.WithCancel(r.Context())
				turn := r.turn(directive(map[string]any{"hang": hang, "answer": "one two three"}))
				turn.Watcher = watcher{consumed: stop}
				_, err := pool.Run(ctx, turn)
				r.wantClass(err, agent.Aborted)
			})
		})
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	const short = 300 * time.Millisecond
	for name, tc := range map[string]struct {
		script         map[string]any
		timeout, stall time.Duration
		want           string // in the failure; empty: the turn is answered
	}{
		"silence in the answer":       {script: map[string]any{"hang": "stream"}, stall: short, want: "nothing was heard"},
		"silence of a deaf process":   {script: map[string]any{"hang": "deaf"}, stall: short, want: "nothing was heard"},
		"silence before the answer":   {script: map[string]any{"delay_ms": 100000}, stall: short, want: "nothing was heard"},
		"a tool may be silent":        {script: map[string]any{"tool": "sleep 1"}, stall: short},
		"words keep it going":         {script: map[string]any{"answer": "a b c d e f g h", "token_delay_ms": 100}, stall: short},
		"a tool has the turn's time":  {script: map[string]any{"tool": "sleep 100"}, stall: short, timeout: 2 * short, want: "no answer within"},
		"the turn's time is not more": {script: map[string]any{"delay_ms": 100000}, timeout: short, want: "no answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.config.Stall = tc.stall
			pool := r.pool()
			turn := r.turn(directive(tc.script))
			turn.Timeout = tc.timeout
			_, err := pool.Run(r.Context(), turn)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			class := agent.Timeout
			if strings.HasPrefix(tc.want, "no answer") {
				class = agent.TimeUp
			}
			if failure := r.wantClass(err, class); !strings.Contains(failure.Detail, tc.want) {
				t.Errorf("failure %q does not say %q", failure.Detail, tc.want)
			}
			if left := tools(t, r.session); len(left) > 0 {
				t.Errorf("processes outlived the turn: %v", left)
			}
		})
	}
}

// A process that dies does not leave its tools to the next attempt.
func TestDeathEndsItsTools(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		a := r.begin(r.Context(), pool, r.turn(directive(map[string]any{"tool": "touch begun; setsid sleep 100 & sleep 100"})))
		poll(t, "the tool runs", func() bool { return exists(filepath.Join(r.config.Workspace, "begun")) })
		for _, pid := range pool.Stats().PIDs {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		<-a.done
		r.wantClass(a.err, agent.Died)
		if left := tools(t, r.session); len(left) > 0 {
			t.Errorf("processes outlived claude: %v", left)
		}
	})
}

func TestReap(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		a := r.begin(ctx, pool, r.turn(directive(map[string]any{"tool": "touch begun; setsid sleep 100 & sleep 100"})))
		poll(t, "the tool runs", func() bool { return exists(filepath.Join(r.config.Workspace, "begun")) })
		if len(tools(t, r.session)) == 0 {
			t.Fatal("no tool runs")
		}
		// A stranger that has the pid of a forgotten process, and one of another boot, must live.
		stranger := exec.Command("sleep", "100")
		if err := stranger.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := stranger.Process.Kill(); err != nil {
				t.Errorf("the stranger was killed: %v", err)
			}
			_ = stranger.Wait()
		}()
		began, err := process.StartTime(stranger.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		left := append(r.processes.all(),
			domain.Process{Kind: "claude", Name: "reused", PID: stranger.Process.Pid, StartTime: began + 1, BootID: process.BootID()},
			domain.Process{Kind: "claude", Name: "rebooted", PID: stranger.Process.Pid, StartTime: began, BootID: "another"},
		)
		// The next process ends the children of this one, which it takes for dead.
		cli.Reap(r.Context(), left, r.processes, hclog.NewNullLogger())
		if still := tools(t, r.session); len(still) > 0 {
			t.Errorf("tools outlived the reaping: %v", still)
		}
		if process.Alive(stranger.Process.Pid, began) == false {
			t.Error("a stranger was ended")
		}
		<-a.done
		r.wantClass(a.err, agent.Died)
		if list := r.processes.all(); len(list) > 0 {
			t.Errorf("not forgotten: %v", list)
		}
		// Orphans whose claude is gone already are found by their environment, but no other host's that has the session as well:
		// the state folder may be a copy.
		ended, spared := r.orphan(left[0].Mark), r.orphan("another")
		cli.Reap(r.Context(), left[:1], r.processes, hclog.NewNullLogger())
		if err := ended.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("the orphan ended with %v", err)
		}
		if err := syscall.Kill(spared.Process.Pid, 0); err != nil || len(tools(t, r.session)) != 1 {
			t.Fatalf("a tool of another host was ended")
		}
		// A record of a build that knew no marks.
		left[0].Mark = ""
		cli.Reap(r.Context(), left[:1], r.processes, hclog.NewNullLogger())
		if err := spared.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("without a mark in the record the orphan ended with %v", err)
		}
	})
}

// orphan starts a process as a tool of the session that a process of a host left behind.
func (r *rig) orphan(mark string) *exec.Cmd {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "sh", "-c", "echo; exec sleep 100")
	cmd.Env = append(os.Environ(), "CLAUDE_CODE_SESSION_ID="+r.session, "CLAWHOST_RUN="+mark)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		r.Fatal(err)
	}
	return cmd
}

func TestIsTool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("without /proc nothing is known")
	}
	r := newRig(t)
	pool := r.pool()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	// The shell's child has no environment of its own, but its parents do.
	a := r.begin(ctx, pool, r.turn(directive(map[string]any{"tool": "env -i sh -c 'echo $$ > pid; exec sleep 100'; :"})))
	path := filepath.Join(r.config.Workspace, "pid")
	var pid int
	poll(t, "the tool runs", func() bool {
		data, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(data), &pid)
		return err == nil
	})
	if !cli.IsTool(pid) {
		t.Error("a tool is not taken for one")
	}
	if cli.IsTool(os.Getpid()) {
		t.Error("the host is taken for a tool")
	}
	// A process may connect, pass the connection on and exit: then its origin is unknown.
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if !cli.IsTool(ended.Process.Pid) {
		t.Error("a process that is gone is not taken for a tool")
	}
	cancel()
	<-a.done
}

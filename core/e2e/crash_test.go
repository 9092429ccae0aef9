//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// In these tests claude is killed and the host restarts: the message is run a second time with the stored state.

// restart runs a turn again in a new process of the host.
func (r *rig) restart(old *claude.Pool, turn agent.Turn) agent.Result {
	r.Helper()
	r.close(old)
	turn.Again = true
	return r.run(r.pool(), turn)
}

func TestKilledBeforeTheMessageWasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.run(pool, r.turn("hello"))

	r.signal(pool, syscall.SIGSTOP)
	turn := r.turn("in the pipe")
	attempt := r.begin(r.ctx, pool, turn)
	r.poll("the line is in the pipe of the stopped process", func() bool { return r.pending(pool) > 0 })
	r.signal(pool, syscall.SIGKILL)
	<-attempt.done
	if attempt.err != nil || !strings.HasSuffix(attempt.result.Text, "in the pipe") {
		t.Errorf("answer = %+v, %v, want one by another process", attempt.result, attempt.err)
	}

	if got := r.restart(pool, turn); !got.Recovered {
		t.Errorf("answer after a restart = %+v, want the recovered one", got)
	}
	if got := len(r.api.Messages()); got != 2 {
		t.Errorf("the model was asked %d times, want twice: %v", got, r.api.Messages())
	}
	r.remembers("in the pipe")
}

// pending is how many bytes wait in the stdin of the live process.
func (r *rig) pending(pool *claude.Pool) int {
	r.Helper()
	pipe, err := os.Open(filepath.Join("/proc", strconv.Itoa(r.pid(pool)), "fd", "0"))
	if err != nil {
		r.Fatal(err)
	}
	defer pipe.Close()
	n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func TestKilledWhileTheModelAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.run(pool, r.turn("hello"))

	r.api.Enqueue(messagesapi.Reply{Text: "one two three", Hang: new(2)})
	turn := r.turn("count to three")
	attempt := r.begin(r.ctx, pool, turn)
	r.asked(asks("count to three"))
	r.signal(pool, syscall.SIGKILL)
	<-attempt.done
	r.wantClass(attempt.err, agent.Died)

	if got := r.restart(pool, turn); got.Text == "" || got.Recovered {
		t.Errorf("answer = %+v", got)
	}
	r.remembers("count to three")
}

// A tool that ran before the kill does not run again: claude is asked to go on.
func TestKilledAfterATool(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()

	gate := make(chan struct{})
	defer close(gate)
	r.api.Enqueue(messagesapi.Bash("echo ran >> ran"), messagesapi.Reply{Text: "never sent", Gate: gate})
	turn := r.turn("water the plants")
	attempt := r.begin(r.ctx, pool, turn)
	r.asked(func(q messagesapi.Request) bool { return len(q.Prompt.ToolResults()) == 1 })
	r.signal(pool, syscall.SIGKILL)
	<-attempt.done
	r.wantClass(attempt.err, agent.Died)

	r.api.Enqueue(messagesapi.Reply{Text: "it is done"})
	if got := r.restart(pool, turn); got.Text != "it is done" || got.Recovered {
		t.Errorf("answer = %+v", got)
	}
	r.remembers("water the plants")
	ran, err := os.ReadFile(filepath.Join(r.config.Workspace, "ran"))
	if err != nil || string(ran) != "ran\n" {
		t.Errorf("the tool left %q (%v), want one line", ran, err)
	}
}

// A tool whose claude was killed is ended before anything else happens in its workspace.
func TestKilledWhileAToolRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	seconds := unheardOf()
	r.api.Enqueue(messagesapi.Bash("sleep " + seconds))
	turn := r.turn("water the plants")
	attempt := r.begin(r.ctx, pool, turn)
	r.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
	r.signal(pool, syscall.SIGKILL)
	<-attempt.done
	r.wantClass(attempt.err, agent.Died)
	if n := sleeping(seconds); n != 0 {
		t.Errorf("%d processes of the tool outlived claude", n)
	}

	r.api.Enqueue(messagesapi.Reply{Text: "it is done"})
	if got := r.restart(pool, turn); got.Text != "it is done" || got.Recovered {
		t.Errorf("answer = %+v", got)
	}
	r.remembers("water the plants")
}

func TestKilledAfterTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	turn := r.turn("answer me")
	first := r.run(pool, turn)
	r.signal(pool, syscall.SIGKILL)

	if got := r.restart(pool, turn); !got.Recovered || got.Text != first.Text {
		t.Errorf("answer = %+v, want the recovered %q", got, first.Text)
	}
	if got := len(r.api.Messages()); got != 1 {
		t.Errorf("the model was asked %d times, want once: %v", got, r.api.Messages())
	}
}

// asks fits requests whose newest text holds this one.
func asks(text string) func(messagesapi.Request) bool {
	return func(q messagesapi.Request) bool { return strings.Contains(q.Prompt.LastUserText(), text) }
}

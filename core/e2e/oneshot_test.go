//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// oneShot has each turn get a process of its own.
func oneShot(c *runner) { c.OneShot = true }

// With a process for each turn the conversation goes on, a message that was answered is not answered again, and between
// two turns there is no process.
// Behaviour: oneshot.
func TestOneShot(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, oneShot)
	pool := r.pool()
	first := r.turn("my number is 4711")
	r.run(pool, first)
	for _, text := range []string{"what is it?", "and again?"} {
		r.run(pool, r.turn(text))
		r.remembers("my number is 4711")
		if stats := pool.Stats(); stats.Running > 0 || stats.Idle > 0 {
			t.Errorf("between two turns there is %+v", stats)
		}
	}
	if n := r.processes.count(); n != 3 {
		t.Errorf("%d processes were started for 3 turns", n)
	}
	asked := len(r.api.Messages())
	first.Again = true
	if got := r.run(pool, first); !got.Recovered || len(r.api.Messages()) != asked {
		t.Errorf("the repetition brings %+v, and the model was asked %d times more", got, len(r.api.Messages())-asked)
	}
	r.poll("the last process leaves", func() bool { return r.processes.left() == 0 })
}

// A stop ends the tool; a side question is answered; the next turn knows of both.
// Behaviour: oneshot.
func TestOneShotStops(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, oneShot)
	pool := r.pool()
	seconds := unheardOf()
	r.api.Enqueue(messagesapi.Bash("sleep " + seconds))
	ctx, stop := context.WithCancelCause(r.ctx)
	defer stop(nil)
	a := r.begin(ctx, pool, r.turn("wait for it"))
	r.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
	if answer, err := pool.Aside(r.ctx, r.session, "how long?"); err != nil || answer == "" {
		t.Errorf("beside the turn: %q, %v", answer, err)
	}
	began := time.Now()
	stop(agent.ErrStopped)
	<-a.done
	t.Logf("stopped in %v", time.Since(began).Round(time.Millisecond))
	r.wantClass(a.err, agent.Aborted)
	if n := sleeping(seconds); n != 0 {
		t.Errorf("%d processes of the tool outlived the stop", n)
	}
	r.run(pool, r.turn("still there?"))
	r.remembers("wait for it")
	if _, err := pool.Aside(r.ctx, r.session, "and now?"); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("behind the turn: %v", err)
	}
}

// A message of one model and effort costs no other process, and the next one has its own again, though the config names
// none; after a restart as well.
func TestModelWithoutAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	with := func(pool *claude.Pool, model, effort string) messagesapi.Request {
		t.Helper()
		turn := r.turn("hello with " + model + effort)
		turn.Profile.Model, turn.Profile.Effort = model, effort
		r.run(pool, turn)
		return r.api.Messages()[len(r.api.Messages())-1]
	}
	usual := with(pool, "", "").Prompt.Model
	if got := with(pool, "haiku", "").Prompt.Model; got == usual || !strings.Contains(got, "haiku") {
		t.Errorf("the message with a model went to %s, the one before to %s", got, usual)
	}
	if got := with(pool, "", "").Prompt.Model; got != usual {
		t.Errorf("the next message went to %s, want %s", got, usual)
	}
	for _, effort := range []string{"low", "max"} {
		if got := with(pool, "", effort).Prompt.Output.Effort; got != effort {
			t.Errorf("effort = %s, want %s", got, effort)
		}
	}
	if got := with(pool, "", "").Prompt.Output.Effort; got == "low" || got == "max" {
		t.Errorf("the effort of one message stays: %s", got)
	}
	if n := r.processes.count(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
	with(pool, "haiku", "low")
	r.close(pool)
	if got := with(r.pool(), "", ""); got.Prompt.Model != usual || got.Prompt.Output.Effort == "low" {
		t.Errorf("after a restart the next message went to %s with effort %s, want %s", got.Prompt.Model, got.Prompt.Output.Effort, usual)
	}
}

// Above the limit the process that was used least recently is ended, and its session goes on.
// Behaviour: memory-budget.
func TestMemoryOfProcesses(t *testing.T) {
	t.Parallel()
	const most = 280 << 20
	r := newRig(t, messagesapi.Options{}, func(c *runner) {
		// One fits, by itself, and six do not, even where other tests' processes share most of their memory.
		c.MaxMemory, c.MaxProcesses, c.WeighEvery = most, 6, 50*time.Millisecond
	})
	pool := r.pool()
	first := r.session
	r.run(pool, r.turn("my number is 4711"))
	r.poll("it is weighed", func() bool { return pool.Stats().Memory > 0 })
	one := pool.Stats().Memory
	for range 5 {
		r.session, r.started = uuid.NewString(), false
		r.run(pool, r.turn("hello"))
	}
	reached := int64(0)
	r.poll("memory is freed", func() bool {
		stats := pool.Stats()
		reached = max(reached, stats.Memory)
		return stats.Memory <= most && len(stats.PIDs) < 6 && stats.Idle > 0
	})
	t.Logf("one process holds %d MB; at most %d MB, then %d MB in %d processes", one>>20, reached>>20, pool.Stats().Memory>>20, len(pool.Stats().PIDs))
	r.session, r.started = first, true
	r.run(pool, r.turn("what is it?"))
	r.remembers("my number is 4711")
}

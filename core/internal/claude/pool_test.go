package claude_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/health"
)

// in is a first attempt at a message of another session than the rig's.
func (r *rig) in(session string, started bool, text string) agent.Turn {
	return agent.Turn{Session: session, Started: started, UUID: uuid.NewString(), Prompt: "[Bob] " + text}
}

func TestParksTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.MaxProcesses = 2
	pool := r.pool()
	a, b, c := uuid.NewString(), uuid.NewString(), uuid.NewString()
	r.ask(pool, r.in(a, false, "1"))
	r.ask(pool, r.in(b, false, "2"))
	r.ask(pool, r.in(a, true, "3")) // b is older now
	r.ask(pool, r.in(c, false, "4"))
	held := map[string]bool{}
	for _, p := range r.processes.all() {
		held[p.Name] = true
	}
	if len(held) != 2 || !held[a] || !held[c] {
		t.Errorf("processes are held for %v, want a=%s and c=%s", held, a, c)
	}
	if got := r.ask(pool, r.in(b, true, "5")).Text; got != "echo: [Bob] 5" {
		t.Errorf("the parked session answers %q", got)
	}
	if n := r.processes.spawned(); n != 4 {
		t.Errorf("%d processes were started, want 4", n)
	}
}

func TestManySessionsShareTheSlots(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.config.MaxProcesses = 3
		pool := r.pool()
		var most atomic.Int64
		var group sync.WaitGroup
		for i := range 12 {
			session := uuid.NewString()
			group.Go(func() {
				for turn := range 3 {
					text := fmt.Sprintf("%d of %d", turn, i)
					result, err := pool.Run(r.Context(), r.in(session, turn > 0, text))
					if err != nil || result.Text != "echo: [Bob] "+text {
						t.Errorf("turn %s: %q, %v", text, result.Text, err)
					}
					most.Store(max(most.Load(), int64(len(pool.Stats().PIDs))))
				}
			})
		}
		group.Wait()
		if most.Load() > 3 {
			t.Errorf("%d processes at once, want at most 3", most.Load())
		}
		if stats := pool.Stats(); stats.Running != 0 || stats.Waiting != 0 {
			t.Errorf("after all turns: %+v", stats)
		}
	})
}

func TestOneRunASession(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		var group sync.WaitGroup
		for i := range 5 {
			text := fmt.Sprintf("message %d", i)
			turn := r.in(r.session, false, text)
			group.Go(func() {
				if result, err := pool.Run(r.Context(), turn); err != nil || result.Text != "echo: [Bob] "+text {
					t.Errorf("%s: %q, %v", text, result.Text, err)
				}
			})
		}
		group.Wait()
		r.wantSpawned(pool, 1)
	})
}

func TestParksAfterIdling(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.ParkAfter = 50 * time.Millisecond
	pool := r.pool()
	r.ask(pool, r.turn("one"))
	poll(t, "the process is parked", func() bool { return len(r.processes.all()) == 0 })
	r.ask(pool, r.turn("two"))
	if n := r.processes.spawned(); n != 2 {
		t.Errorf("%d processes were started, want 2", n)
	}
}

// A process that leaves and could not save its conversation makes that a problem of the host.
// Behaviour: transcript-lost.
func TestLostTranscript(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.ParkAfter = 50 * time.Millisecond
	pool := r.pool()
	lost := func() (why string, is bool) {
		for _, p := range pool.Problems(t.Context()) {
			if p.Code == health.TranscriptLost {
				return p.Detail, true
			}
		}
		return "", false
	}
	r.ask(pool, r.turn("one"))
	poll(t, "the process is parked", func() bool { return len(r.processes.all()) == 0 })
	if why, is := lost(); is {
		t.Errorf("a process that has saved everything is a problem: %s", why)
	}
	r.ask(pool, r.turn(`[[stub {"loses":"ENOSPC","answer":"two"}]]`))
	poll(t, "the loss is known", func() bool { why, is := lost(); return is && why == "the disk is full (ENOSPC)" })
}

func TestRetire(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		r.ask(pool, r.turn("idle when retired"))
		pool.Retire(r.session)
		poll(t, "the idle process ends", func() bool { return len(r.processes.all()) == 0 })

		r.session, r.started = uuid.NewString(), false
		turn := r.turn("running when retired")
		consumed := turn.Watcher.(watcher).consumed
		turn.Watcher = watcher{consumed: func() {
			consumed()
			pool.Retire(r.session)
		}}
		if got := r.ask(pool, turn).Text; got != "echo: [Bob] running when retired" {
			t.Errorf("answer = %q", got)
		}
		poll(t, "the process ends after its turn", func() bool { return len(r.processes.all()) == 0 })
		pool.Retire("nobody")
	})
}

// A session whose process is leaving gets the next one when that has left.
func TestNeverTwoProcessesOfASession(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		for i := range 10 {
			text := fmt.Sprintf("message %d", i)
			if got := r.ask(pool, r.turn(text)).Text; got != "echo: [Bob] "+text {
				t.Errorf("answer = %q", got)
			}
			pool.Retire(r.session)
		}
		r.wantSpawned(pool, 10)
	})
}

func TestCloseStopsTurns(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		r.ask(pool, r.in(uuid.NewString(), false, "leave one idle"))
		begun := filepath.Join(r.config.Workspace, "begun")
		running := r.begin(r.Context(), pool, r.turn(directive(map[string]any{"tool": "touch begun; sleep 100"})))
		poll(t, "the tool runs", func() bool { return exists(begun) })
		r.closeNow(pool)
		<-running.done
		r.wantClass(running.err, agent.Aborted)
		if left := tools(t, r.session); len(left) > 0 {
			t.Errorf("tools outlived the pool: %v", left)
		}
		if left := r.processes.all(); len(left) > 0 {
			t.Errorf("processes outlived the pool: %v", left)
		}
		_, err := pool.Run(r.Context(), r.in(uuid.NewString(), false, "too late"))
		r.wantClass(err, agent.Aborted)
	})
}

func TestCloseDoesNotWaitForPeople(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		turn := r.turn(directive(map[string]any{"hang": "dead"}))
		ctx, cancel := context.WithCancel(r.Context())
		turn.Watcher = watcher{consumed: cancel}
		running := r.begin(r.Context(), pool, turn)
		<-ctx.Done()
		if err := pool.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("close: %v", err)
		}
		<-running.done
		r.wantClass(running.err, agent.Aborted)
	})
}

func TestGiveUpWaiting(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.config.MaxProcesses = 1
		pool := r.pool()
		hold, release := context.WithCancel(r.Context())
		defer release()
		turn := r.turn(directive(map[string]any{"hang": "stream"}))
		holding := make(chan struct{})
		turn.Watcher = watcher{consumed: func() { close(holding) }}
		holder := r.begin(hold, pool, turn)
		<-holding
		ctx, cancel := context.WithCancel(r.Context())
		waiter := r.begin(ctx, pool, r.in(uuid.NewString(), false, "never"))
		second := r.begin(r.Context(), pool, r.in(uuid.NewString(), false, "later"))
		poll(t, "two wait", func() bool { return pool.Stats().Waiting == 2 })
		cancel()
		<-waiter.done
		r.wantClass(waiter.err, agent.Aborted)
		release()
		<-holder.done
		<-second.done
		if second.err != nil || second.result.Text != "echo: [Bob] later" {
			t.Errorf("the one that waited on got %q, %v", second.result.Text, second.err)
		}
	})
}

// An idle process that is killed is replaced before the next message is written, or with it; the user does not notice.
func TestIdleProcessDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	for i := range 5 {
		r.ask(pool, r.turn("message"))
		for _, pid := range pool.Stats().PIDs {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("after kill %d", i)
		if got := r.ask(pool, r.turn(text)).Text; got != "echo: [Bob] "+text {
			t.Errorf("answer = %q", got)
		}
	}
}

// Where a conversation goes on in another claude session, however that came, the process of the one before is not kept.
// Behaviour: process-new-conversation.
func TestOneProcessAConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	say := func(key, session string, started bool) {
		t.Helper()
		turn := r.in(session, started, "hello")
		turn.Key = key
		r.ask(pool, turn)
	}
	first, second, other, nameless := uuid.NewString(), uuid.NewString(), uuid.NewString(), uuid.NewString()
	say("", nameless, false)
	say("telegram:2", other, false)
	say("telegram:1", first, false)
	say("telegram:1", first, true)
	say("telegram:1", second, false)
	poll(t, "the process of the first is ended", func() bool { return !r.held()[first] })
	if held := r.held(); len(held) != 3 || !held[second] || !held[other] || !held[nameless] {
		t.Errorf("processes are held for %v", held)
	}
	say("telegram:1", first, true) // a message that is bound to it yet
	poll(t, "the process of the second is ended", func() bool { return !r.held()[second] })
	if n := r.processes.spawned(); n != 5 {
		t.Errorf("%d processes were started, want 5", n)
	}
}

// Turns that wait get a process in their order, also where others come back again and again.
// Behaviour: process-order.
func TestWaitingTurnsAreServedInOrder(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.config.MaxProcesses = 1
		pool := r.pool()
		var mu sync.Mutex
		var order []string
		consumes := func(name string, turn agent.Turn) agent.Turn {
			turn.Watcher = watcher{consumed: func() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			}}
			return turn
		}
		busy := uuid.NewString()
		holder := r.begin(r.Context(), pool, consumes("busy", r.in(busy, false, directive(map[string]any{"tool": until("begun", "go")}))))
		poll(t, "the tool runs", func() bool { return exists(r.file("begun")) })
		var others []*attempt
		for i := range 3 {
			others = append(others, r.begin(r.Context(), pool, consumes(fmt.Sprint(i), r.in(uuid.NewString(), false, "hello"))))
			poll(t, "it waits", func() bool { return pool.Stats().Waiting == i+1 })
		}
		r.touch("go")
		<-holder.done
		r.ask(pool, consumes("busy again", r.in(busy, true, "hello"))) // it is behind those that waited before
		for _, a := range others {
			<-a.done
			if a.err != nil {
				t.Error(a.err)
			}
		}
		if diff := cmp.Diff([]string{"busy", "0", "1", "2", "busy again"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

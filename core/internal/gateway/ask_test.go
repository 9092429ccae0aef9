package gateway_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/follow"
	"github.com/clawhost/clawhost/core/internal/gateway"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// turns are those of questions. Each lasts until the test ends it, or until it is stopped, which takes a second. The other
// methods of the store and the intake are not called.
type turns struct {
	gateway.Store

	followed follow.Turns

	mu       sync.Mutex
	order    []chat.EventID
	running  bool // they run; else they wait
	states   map[chat.EventID]domain.RunState
	watchers map[chat.EventID][]chan struct{}
}

// intake accepts turns.
type intake struct {
	gateway.Intake
	*turns
}

func (w intake) Turn(_ context.Context, key domain.Key, _ domain.Message) (inbox.Outcome, error) {
	id := key.EventID()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.states[id]; known {
		return inbox.Outcome{Verdict: chat.Duplicate, Session: "cli:main"}, nil
	}
	w.states[id], w.order = "", append(w.order, id)
	return inbox.Outcome{Verdict: chat.Accepted, Session: "cli:main", Number: int64(len(w.order))}, nil
}

func (w intake) Session(context.Context, string, chat.Chat, chat.ThreadID) (string, error) {
	return "cli:main", nil
}

func (w *turns) Outcome(_ context.Context, _ string, id chat.EventID) (domain.RunState, string, string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state, known := w.states[id]
	if !known {
		return "", "", "", false, domain.ErrNotFound
	}
	return state, map[domain.RunState]string{domain.RunDone: "tea"}[state], "", state != "", nil
}

func (w *turns) Watch(_ string, id chat.EventID) (<-chan struct{}, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{})
	w.watchers[id] = append(w.watchers[id], c)
	return c, func() {}
}

// end ends the newest turn.
func (w *turns) end(state domain.RunState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.order[len(w.order)-1]
	w.states[id] = state
	for _, c := range w.watchers[id] {
		close(c)
	}
	delete(w.watchers, id)
}

// message is the newest turn's message, for Claude.
func (w *turns) message() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return store.MessageUUID("cli", w.order[len(w.order)-1])
}

func (w *turns) WithdrawEvent(_ context.Context, _, _ string, id chat.EventID) error {
	w.mu.Lock()
	running, state := w.running, w.states[id]
	w.mu.Unlock()
	if running || state != "" {
		return domain.ErrNotFound
	}
	w.end(domain.RunCancelled)
	return nil
}

func (w *turns) StopMessage(context.Context, string, string) (bool, error) {
	time.Sleep(time.Second)
	w.end(domain.RunCancelled)
	return true, nil
}

// begun is how many turns were begun, and the state of the newest.
func (w *turns) begun() (int, domain.RunState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.order), w.states[w.order[len(w.order)-1]]
}

// asker is a caller that asks a question.
type asker struct {
	leave func()
	held  []string
	ended chan struct{}

	answer gateway.Answer
	err    error
}

// asks asks with a key, as a client that may come back if it stays.
func asks(t *testing.T, g *gateway.Gateway, key string, stays bool) *asker {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	a := &asker{leave: leave, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.answer, a.err = g.Ask(ctx, key, gateway.Prompt{Text: "what is there?", Stays: stays}, func(p gateway.Progress) {
			if p.Held != "" {
				a.held = append(a.held, p.Held)
			}
		})
	}()
	synctest.Wait()
	return a
}

func (a *asker) wants(t *testing.T, want gateway.Answer) {
	t.Helper()
	<-a.ended
	if diff := cmp.Diff(want, a.answer); a.err != nil || diff != "" {
		t.Errorf("the answer, %v (-want +got):\n%s", a.err, diff)
	}
}

func (a *asker) leaves(t *testing.T) {
	t.Helper()
	a.leave()
	<-a.ended
	if !errors.Is(a.err, context.Canceled) {
		t.Errorf("one that left has %+v, %v", a.answer, a.err)
	}
}

var tea = gateway.Answer{Session: "cli:main", Text: "tea"}

// A further question with the same key waits for the same turn, even if earlier callers have gone.
// Behaviour: program-ask-key.
func TestTheSameKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, w *turns, g *gateway.Gateway){
		"the first leaves, the second has the answer": func(t *testing.T, w *turns, g *gateway.Gateway) {
			first, second := asks(t, g, "k", false), asks(t, g, "k", false)
			first.leaves(t)
			if n, state := w.begun(); n != 1 || state != "" {
				t.Fatalf("%d turns, the last is %q", n, state)
			}
			w.end(domain.RunDone)
			second.wants(t, tea)
			asks(t, g, "k", false).wants(t, tea)
		},
		"the last one leaves": func(t *testing.T, w *turns, g *gateway.Gateway) {
			first, second := asks(t, g, "k", false), asks(t, g, "k", false)
			first.leaves(t)
			second.leaves(t)
			if n, state := w.begun(); n != 1 || state != domain.RunCancelled {
				t.Errorf("%d turns, the last is %q", n, state)
			}
		},
		"a connection is lost, and the question repeated": func(t *testing.T, w *turns, g *gateway.Gateway) {
			asks(t, g, "k", true).leaves(t)
			again := asks(t, g, "k", true)
			if n, state := w.begun(); n != 1 || state != "" {
				t.Fatalf("%d turns, the last is %q", n, state)
			}
			again.leaves(t)
			w.end(domain.RunDone)
			asks(t, g, "k", true).wants(t, tea)
			if n, _ := w.begun(); n != 1 {
				t.Errorf("%d turns", n)
			}
		},
		"a connection without a key is lost": func(t *testing.T, w *turns, g *gateway.Gateway) {
			asks(t, g, "", true).leaves(t)
			if n, state := w.begun(); n != 1 || state != domain.RunCancelled {
				t.Errorf("%d turns, the last is %q", n, state)
			}
		},
		"what was cancelled is asked again": func(t *testing.T, w *turns, g *gateway.Gateway) {
			for n := range 3 {
				asks(t, g, "k", false).leaves(t)
				if begun, state := w.begun(); begun != n+1 || state != domain.RunCancelled {
					t.Fatalf("%d turns, the last is %q", begun, state)
				}
			}
			last := asks(t, g, "k", false)
			w.end(domain.RunDone)
			last.wants(t, tea)
			asks(t, g, "k", false).wants(t, tea)
		},
		"one who comes while the turn is stopped asks again": func(t *testing.T, w *turns, g *gateway.Gateway) {
			w.running = true
			first := asks(t, g, "k", false)
			first.leave()
			synctest.Wait() // it is being stopped
			second := asks(t, g, "k", false)
			first.leaves(t)
			synctest.Wait()
			if n, state := w.begun(); n != 2 || state != "" {
				t.Fatalf("%d turns, the last is %q", n, state)
			}
			w.end(domain.RunDone)
			second.wants(t, tea)
		},
		"somebody else stops it": func(t *testing.T, w *turns, g *gateway.Gateway) {
			first := asks(t, g, "k", false)
			w.end(domain.RunCancelled)
			first.wants(t, gateway.Answer{Session: "cli:main", Text: "the turn was cancelled", Failed: true})
		},
		"a failure is the answer": func(t *testing.T, w *turns, g *gateway.Gateway) {
			first := asks(t, g, "k", false)
			w.end(domain.RunFailed)
			failed := gateway.Answer{Session: "cli:main", Text: "the turn was failed", Failed: true}
			first.wants(t, failed)
			asks(t, g, "k", false).wants(t, failed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newTurns()
				test(t, w, w.gateway())
			})
		})
	}
}

func newTurns() *turns {
	return &turns{states: map[chat.EventID]domain.RunState{}, watchers: map[chat.EventID][]chan struct{}{}}
}

func (w *turns) gateway() *gateway.Gateway {
	return gateway.New(gateway.Options{Store: w, Intake: intake{turns: w}, Turns: w, Followed: &w.followed}, hclog.NewNullLogger())
}

// A caller is told at once that a turn cannot begin, and gets the reason as the answer after a minute.
// Behaviour: program-ask-held.
func TestAQuestionThatIsHeld(t *testing.T) {
	t.Parallel()
	const why = "Claude cannot be started: no such file"
	for name, test := range map[string]struct {
		stays bool
		wait  time.Duration // of the hold
		began bool          // in the end it can begin
		ends  time.Duration
	}{
		"for good":                {ends: time.Minute, wait: time.Second},
		"for good, it would stay": {ends: time.Minute, wait: time.Second, stays: true},
		"known to be long":        {ends: 0, wait: time.Hour},
		"for a while":             {ends: 2 * time.Minute, wait: time.Second, began: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newTurns()
				began := time.Now()
				a := asks(t, w.gateway(), "k", test.stays)
				w.followed.Held("cli:main", why, test.wait)
				synctest.Wait()
				if len(a.held) != 1 || a.held[0] != why {
					t.Errorf("at once it is told %q", a.held)
				}
				if test.began {
					time.Sleep(30 * time.Second)
					w.followed.Held("cli:main", why, test.wait)
					w.followed.Progress("cli:main", w.message(), agent.Progress{Text: "te"})
					time.Sleep(90 * time.Second)
					w.end(domain.RunDone)
				}
				want := gateway.Answer{Session: "cli:main", Text: why, Failed: true}
				if test.began {
					want = tea
				}
				a.wants(t, want)
				if took := time.Since(began); took != test.ends {
					t.Errorf("it took %v, want %v", took, test.ends)
				}
				if _, state := w.begun(); !test.began && state != domain.RunCancelled {
					t.Errorf("the turn is %q", state)
				}
			})
		})
	}
}

package turn_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/turn"
)

// Tell keeps what the owners are told.
func (r *room) Tell(_, text string) { r.owners = append(r.owners, text) }

// wait has a turn tried that cannot begin, and waits until it may be tried again.
func (r *room) wait(t *testing.T, h *turn.Handler, run *store.Run) time.Duration {
	t.Helper()
	var held *agent.HeldError
	if err := h.Handle(t.Context(), run, nil); !errors.As(err, &held) || held.Wait < time.Second || held.Wait > 2*time.Minute {
		t.Fatalf("error %v: it is not held", err)
	}
	time.Sleep(held.Wait)
	return held.Wait
}

// A turn that cannot begin is tried until it can, ever less often and without end. Its chat and the owners are told once,
// but not of what passes within seconds, and the owners again when it is over.
func TestATurnThatCannotBeginIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &room{}
		h := r.handler()
		run := message(1)
		began := time.Now()
		tries, longest := 0, time.Duration(0)
		for ; time.Since(began) < 24*time.Hour; tries++ {
			r.results = []outcome{failure(agent.Unavailable)}
			r.turns = nil
			longest = max(longest, r.wait(t, h, run))
		}
		if len(r.owners) != 1 {
			t.Errorf("in a day the owners were told %q", r.owners)
		}
		if longest != 2*time.Minute || tries > 800 {
			t.Errorf("it was tried %d times in a day, after %v at last", tries, longest)
		}
		if len(r.posted) == 0 || len(r.completed) != 0 {
			t.Errorf("posted %+v, completed %+v", r.posted, r.completed)
		}
		for _, key := range r.keys {
			if key != r.keys[0] {
				t.Errorf("the chat is told under the keys %q, which is more than once", r.keys)
				break
			}
		}
		r.results, r.turns = []outcome{{result: agent.Result{Text: "hello"}}}, nil
		if err := h.Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		if len(r.completed) != 1 || len(r.completed[0].Notes) != 0 {
			t.Errorf("completed %+v, want no word of a crash", r.completed)
		}
		if len(r.owners) != 2 || !strings.Contains(r.owners[1], "again") {
			t.Errorf("the owners were told %q", r.owners)
		}
	})
}

// What passes within seconds nobody is told.
func TestAShortOutageIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &room{}
		h := r.handler()
		for range 3 {
			r.results, r.turns = []outcome{failure(agent.Unavailable)}, nil
			r.wait(t, h, message(1))
		}
		r.results, r.turns = []outcome{{result: agent.Result{Text: "hello"}}}, nil
		if err := h.Handle(t.Context(), message(1), nil); err != nil {
			t.Fatal(err)
		}
		if len(r.posted)+len(r.owners) != 0 {
			t.Errorf("the chat was told %+v, the owners %q", r.posted, r.owners)
		}
	})
}

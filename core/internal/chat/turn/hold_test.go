package turn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/turn"
)

// Tell keeps what the owners are told.
func (r *fixture) Tell(_ domain.Key, text string) { r.owners = append(r.owners, text) }

// Held keeps what programs are told.
func (r *fixture) Held(session, why string, wait time.Duration) {
	r.holds = append(r.holds, fmt.Sprintf("%s: %s, again in %v", session, why, wait))
}

// Programs that wait for an answer are told at once why there is none yet.
// Behaviour: program-ask-held.
func TestProgramsAreToldWhyATurnIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for class, want := range map[agent.Class]string{
			agent.Unavailable: "s: Claude cannot be started: no 'exec' format, again in 1s",
			agent.NoSpace:     "s: This machine has no space for files: no `exec` format, again in 1s",
			agent.ChannelAway: "s: Files cannot be fetched while their channel is not running., again in 1s",
			agent.RateLimit:   "s: Claude's usage limit is reached until 03:00 UTC. Send your message again then., again in 3h0m5s",
		} {
			r := &fixture{results: []outcome{{err: &agent.Failure{Class: class, Detail: "no `exec`\nformat", ResetsAt: time.Now().Add(3 * time.Hour)}}}, limits: config.Limits{OnUsageLimit: "wait"}}
			run := message(1)
			run.Head.Message.Silent = true
			var held *agent.HeldError
			if err := r.handler().Handle(t.Context(), run, nil); !errors.As(err, &held) {
				t.Errorf("%v: %v", class, err)
			}
			if want = strings.ReplaceAll(want, "`", "'"); len(r.holds) != 1 || r.holds[0] != want || len(r.posted) > 0 {
				t.Errorf("%v: programs are told %q, want %q; posted %+v", class, r.holds, want, r.posted)
			}
		}
	})
}

// wait has a turn tried that cannot begin, and waits until it may be tried again.
func (r *fixture) wait(t *testing.T, h *turn.Handler, run *domain.Run) time.Duration {
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
// Behaviour: claude-unavailable.
func TestATurnThatCannotBeginIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{}
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

// A turn is also held if its files cannot be fetched at its start, or stored at its end, because of a lack of space. The notice names the resource, and
// only a turn with files shows that it is over.
// Behaviour: file-retry.
func TestATurnWithoutRoomForFilesIsHeld(t *testing.T) {
	t.Parallel()
	full := &agent.Failure{Class: agent.NoSpace, Detail: "no space left on device", Err: errors.New("write /media/x7")}
	for name, lack := range map[string]func(r *fixture, err error){
		"as it begins": func(r *fixture, err error) { r.missing = err },
		"as it ends":   func(r *fixture, err error) { r.unkept = err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &fixture{}
				h := r.handler()
				handle := func(run *domain.Run) error {
					r.results, r.turns = []outcome{{result: agent.Result{Text: "hello\nMEDIA:/a"}}}, nil
					return h.Handle(t.Context(), run, nil)
				}
				run := message(1)
				lack(r, full)
				for began := time.Now(); time.Since(began) < time.Hour; {
					var held *agent.HeldError
					if err := handle(run); !errors.As(err, &held) || held.Wait > 2*time.Minute {
						t.Fatalf("error %v: it is not held", err)
					}
					time.Sleep(held.Wait)
				}
				if len(r.completed) != 0 || len(r.posted) == 0 || r.posted[0].Text != trouble(agent.NoSpace) || r.keys[0] != r.keys[len(r.keys)-1] {
					t.Errorf("completed %+v, the chat was told %+v under %q", r.completed, r.posted, r.keys)
				}
				if len(r.owners) != 1 || !strings.Contains(r.owners[0], "no space for files:\n\n```\nno space left on device\n```") {
					t.Errorf("the owners were told %q", r.owners)
				}
				lack(r, nil)
				other := message(1)
				other.Head.UUID = "other"
				if err := handle(other); err != nil || len(r.owners) != 1 {
					t.Errorf("a turn without files: %v, the owners were told %q", err, r.owners)
				}
				if err := handle(run); err != nil || len(r.owners) != 2 || !strings.Contains(r.owners[1], "again") {
					t.Errorf("with space: %v, the owners were told %q", err, r.owners)
				}
			})
		})
	}
}

// What was held and then dropped does not hide the next outage.
func TestADroppedTurnEndsNoOutageButIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{missing: &agent.Failure{Class: agent.NoSpace, Detail: "no space left on device"}}
		h := r.handler()
		for n, id := range []string{"first", "second"} {
			run := message(1)
			run.Head.UUID = id
			for range 10 {
				r.wait(t, h, run)
			}
			if len(r.owners) != n+1 {
				t.Errorf("the owners were told %q at the %s", r.owners, id)
			}
			time.Sleep(2 * time.Hour)
		}
	})
}

// A channel that is being started holds the turns that need its files. Nobody is told: the chat could not be, and the owners are by
// others.
// Behaviour: file-retry.
func TestAChannelThatIsAwayHoldsATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{missing: &agent.Failure{Class: agent.ChannelAway}}
		h := r.handler()
		for range 10 {
			r.wait(t, h, message(1))
		}
		r.missing, r.results = nil, []outcome{{result: agent.Result{Text: "hello"}}}
		if err := h.Handle(t.Context(), message(1), nil); err != nil {
			t.Fatal(err)
		}
		if len(r.posted)+len(r.owners) != 0 || len(r.completed) != 1 {
			t.Errorf("the chat was told %+v, the owners %q", r.posted, r.owners)
		}
	})
}

// What passes within seconds nobody is told.
// Behaviour: claude-unavailable.
func TestAShortOutageIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{}
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

package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// What concerns a running turn is announced, and nothing else is.
func TestChangesOfARunningTurnAreAnnounced(t *testing.T) {
	t.Parallel()
	steers := domain.Queueing{Mode: domain.Steer}
	interrupts := domain.Queueing{Mode: domain.Interrupt}
	commands := func(in domain.Inbound) domain.Inbound {
		in.Lane = domain.ControlLane
		return in
	}
	accept := func(in domain.Inbound) func(*testing.T, *bundle, *domain.Run) {
		return func(t *testing.T, b *bundle, _ *domain.Run) { t.Helper(); b.accept(t, in) }
	}
	amend := func(t *testing.T, b *bundle, run *domain.Run, n int) {
		t.Helper()
		if _, err := b.Amend(b.ctx, inbound("anna", n).Message, nil, run.ID); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		idle      bool // no turn runs
		do        func(*testing.T, *bundle, *domain.Run)
		announced bool
		waits     bool // a message waits then
		lost      bool // the run has lost its lane
	}{
		"a message that may be steered":                {do: accept(queued(2, steers)), announced: true, waits: true},
		"one that is for a turn of its own":            {do: accept(queued(2, domain.Queueing{Mode: domain.Followup})), waits: true},
		"one for another session":                      {do: accept(inbound("bert", 2))},
		"a command":                                    {do: accept(commands(queued(2, steers)))},
		"a message that interrupts":                    {do: accept(queued(2, interrupts)), announced: true, lost: true},
		"a message that may be steered, and none runs": {idle: true, do: accept(queued(2, steers))},
		"a message that interrupts, and none runs":     {idle: true, do: accept(queued(2, interrupts))},
		"a message that is dropped, because many wait": {waits: true, do: func(t *testing.T, b *bundle, _ *domain.Run) {
			t.Helper()
			b.accept(t, queued(2, domain.Queueing{Mode: domain.Followup}))
			if a := b.accept(t, queued(3, domain.Queueing{Mode: domain.Steer, Cap: 1, Drop: domain.DropNew})); a.Seq != 0 {
				t.Fatalf("not dropped: %+v", a)
			}
		}},
		"the next turn":       {idle: true, do: func(t *testing.T, b *bundle, _ *domain.Run) { t.Helper(); b.accept(t, inbound("anna", 2)); b.claim(t) }},
		"the end of the turn": {do: func(t *testing.T, b *bundle, run *domain.Run) { t.Helper(); b.complete(t, run) }},
		"a turn that goes back to its lane": {lost: true, do: func(t *testing.T, b *bundle, run *domain.Run) {
			t.Helper()
			if err := b.Release(b.ctx, run.ID, time.Time{}, "busy"); err != nil {
				t.Fatal(err)
			}
		}},
		"the start of a host that takes up what was left": {announced: true, lost: true, do: func(t *testing.T, b *bundle, _ *domain.Run) {
			t.Helper()
			if _, _, err := b.Reclaim(b.ctx); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			if test.idle {
				b.complete(t, run)
			}
			changed, unwatch := b.WatchTurn(run.Session.Key)
			defer unwatch()
			test.do(t, b, run)
			if poked(changed) != test.announced {
				t.Errorf("announced: %t", !test.announced)
			}
			if waits, err := b.MessagesWait(b.ctx, run.ID); waits != test.waits || errors.Is(err, domain.ErrFenced) != test.lost || err != nil && !test.lost {
				t.Errorf("messages wait: %t, error %v", waits, err)
			}
		})
	}
	t.Run("an edit", func(t *testing.T) {
		t.Parallel()
		b, run := busy(t)
		b.accept(t, steered(2))
		changed, unwatch := b.WatchTurn(run.Session.Key)
		defer unwatch()
		if amend(t, b, run, 2); poked(changed) {
			t.Error("an edit of a message that waits is announced")
		}
		b.join(t, run)
		if waits, err := b.MessagesWait(b.ctx, run.ID); waits || err != nil {
			t.Errorf("after it was steered: %t, %v", waits, err)
		}
		if amend(t, b, run, 2); !poked(changed) {
			t.Error("an edit of a message that was steered is not announced")
		}
		if waits, err := b.MessagesWait(b.ctx, run.ID); !waits || err != nil {
			t.Errorf("after the edit: %t, %v", waits, err)
		}
	})
}

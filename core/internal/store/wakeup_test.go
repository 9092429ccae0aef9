package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// due returns the wake-up of an instance that is due; the zero one: none is.
func (b *bundle) dueWakeUp(t *testing.T, instance string) domain.WakeUp {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	w, err := b.DueWakeUp(ctx, instance)
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return w
}

// Behaviour: wake-up.
func TestWakeUps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	wants := func(want string) domain.WakeUp {
		t.Helper()
		w := b.dueWakeUp(t, "schedule")
		if w.Key != want {
			t.Fatalf("due is %+v, want %q", w, want)
		}
		return w
	}
	start := b.clock.Now()
	must(b.WakeAt(b.ctx, "schedule", "later", start.Add(time.Hour)))
	must(b.WakeAt(b.ctx, "schedule", "first", start.Add(time.Minute)))
	must(b.WakeAt(b.ctx, "other", "first", start.Add(-time.Hour)))
	wants("")
	b.clock.Advance(time.Minute)
	first := wants("first")
	if !first.At.Equal(start.Add(time.Minute)) || first.Attempts != 0 || first.Instance != "schedule" {
		t.Errorf("due is %+v", first)
	}
	wants("first") // until it is done
	must(b.PutOffWakeUp(b.ctx, first, b.clock.Now().Add(time.Second)))
	wants("")
	b.clock.Advance(time.Second)
	if again := wants("first"); again.Attempts != 1 || !again.At.Equal(first.At) || again.Revision != first.Revision {
		t.Errorf("after a failure: %+v", again)
	}

	// The same time again changes nothing, and what was set to another time meanwhile stays: if that has passed, it is due a second
	// later, and if the call has failed, not before its next attempt.
	must(b.WakeAt(b.ctx, "schedule", "first", first.At))
	if again := wants("first"); again.Revision != first.Revision {
		t.Errorf("set to the same time: %+v", again)
	}
	must(b.WakeAt(b.ctx, "schedule", "first", first.At.Add(time.Microsecond)))
	wants("")
	b.clock.Advance(time.Second)
	again := wants("first")
	if again.Attempts != 1 || !again.At.Equal(first.At.Add(time.Millisecond)) {
		t.Errorf("set to another time: %+v", again)
	}
	must(b.WakeAt(b.ctx, "schedule", "first", b.clock.Now().Add(time.Second)))
	must(b.PutOffWakeUp(b.ctx, again, b.clock.Now().Add(2*time.Second)))
	b.clock.Advance(time.Second)
	wants("")
	b.clock.Advance(time.Second)
	must(b.WokenUp(b.ctx, again)) // of the time before
	again = wants("first")
	if again.Attempts != 0 {
		t.Errorf("after a success: %+v", again)
	}
	must(b.WokenUp(b.ctx, again))
	wants("")
	b.clock.Advance(time.Hour)
	wants("later")
	must(b.CancelWakeUp(b.ctx, "schedule", "later"))
	must(b.CancelWakeUp(b.ctx, "schedule", "later"))
	wants("")
	if w := b.dueWakeUp(t, "other"); w.Key != "first" {
		t.Errorf("another instance has %+v", w)
	}
}

// One that waits is woken by what is set meanwhile.
func TestWaitForAWakeUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := make(chan domain.WakeUp)
	go func() {
		w, _ := b.DueWakeUp(b.ctx, "schedule")
		got <- w
	}()
	b.dueWakeUp(t, "schedule")
	if err := b.WakeAt(b.ctx, "schedule", "now", b.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if w := <-got; w.Key != "now" {
		t.Errorf("woken by %+v", w)
	}
}

package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
)

// Behaviour: state-page-latency.
func TestLatencyByHour(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	turn := func(took, firstWord time.Duration, change func(*domain.Inbound), state domain.RunState) {
		t.Helper()
		n++
		in := inbound("anna", n)
		change(&in)
		b.accept(t, in)
		run := b.claim(t)
		b.clock.Advance(took)
		if err := b.Complete(b.ctx, run.ID, domain.Completion{State: state, Turn: &domain.TurnFigures{FirstWord: firstWord}}); err != nil {
			t.Fatal(err)
		}
	}
	plain := func(*domain.Inbound) {}
	first := b.clock.Now() // the begin of an hour
	for i := range 20 {    // 1 s, 2 s, … 20 s
		turn(time.Duration(i+1)*time.Second, time.Duration(i+1)*100*time.Millisecond, plain, domain.RunDone)
	}
	turn(5*time.Minute, time.Second, plain, domain.RunFailed)
	turn(5*time.Minute, time.Second, func(in *domain.Inbound) { in.Message.Origin = domain.OriginHeartbeat }, domain.RunDone)
	b.clock.Advance(2 * time.Hour)
	turn(0, 0, plain, domain.RunDone)

	near := func(name string, got, want time.Duration) {
		t.Helper()
		if ratio := float64(got) / float64(want); math.Abs(ratio-1) > .05 {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	got, err := b.LatencyByHour(b.ctx, first)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !got[0].At.Equal(first) || got[0].Answer.Count != 20 || got[0].FirstWord.Count != 20 {
		t.Errorf("the first hour is %+v", got[0])
	}
	near("the median", got[0].Answer.Median, 10*time.Second)
	near("the 95th percentile", got[0].Answer.P95, 19*time.Second)
	near("the median of the first word", got[0].FirstWord.Median, time.Second)
	near("the 95th percentile of the first word", got[0].FirstWord.P95, 1900*time.Millisecond)
	if want := (domain.Spread{Count: 1, Median: time.Millisecond, P95: time.Millisecond}); got[1].Answer != want || got[1].FirstWord.Count != 0 || !got[1].At.Equal(first.Add(2*time.Hour)) {
		t.Errorf("the last hour is %+v", got[1])
	}
	if got, err := b.LatencyByHour(b.ctx, first.Add(time.Hour)); err != nil || len(got) != 1 {
		t.Errorf("from the second hour on: %+v, %v", got, err)
	}
	b.clock.Advance(30 * 24 * time.Hour)
	if err := b.Purge(b.ctx, store.Ages{}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.LatencyByHour(b.ctx, first); err != nil || len(got) != 0 {
		t.Errorf("after 30 days: %+v, %v", got, err)
	}
}

package budget_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/budget"
)

// A flood is cut to the budget, each line that is missing is counted, and a source that has been quiet has a burst again.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds, rate = 60, 10_000 // lines a second
		var b budget.Budget
		logged, missing, notes := 0, 0, 0
		for range seconds * rate {
			ok, suppressed := b.Take(10)
			if ok {
				logged++
			}
			if suppressed > 0 {
				notes++
			}
			missing += suppressed
			time.Sleep(time.Second / rate)
		}
		missing += b.End()
		if logged+missing != seconds*rate {
			t.Errorf("%d logged and %d missing of %d lines", logged, missing, seconds*rate)
		}
		if logged > 20*(seconds+10) || logged < 20*seconds {
			t.Errorf("%d lines of a flood of %d seconds were logged", logged, seconds)
		}
		if notes > 2*seconds {
			t.Errorf("%d notes of what is missing in %d seconds", notes, seconds)
		}
		time.Sleep(time.Minute)
		for n := range 100 {
			if ok, _ := b.Take(10); !ok {
				t.Fatalf("line %d after a minute's silence is suppressed", n)
			}
		}
		if ok, _ := b.Take(1 << 20); ok {
			t.Error("a megabyte is logged at once")
		}
	})
}

package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// The same with a plugin that sets wake-ups: whatever is killed, each is called, and what the plugin does then under a key of the
// wake-up happens once.
// Behaviour: wake-up.
func TestCrashWithWakeUps(t *testing.T) {
	t.Parallel()
	kills := 8
	if long() {
		kills = 150
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	b := newBoard(t)
	end := filepath.Join(t.TempDir(), "end")
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-ticker", points: []string{"woken", "begun", "result", "sent", "completed"},
		config: fmt.Sprintf(`
queue { receipt = false }
reply { stream = "off" }
access { dm = "open" }
plugin "board" {
  config { board = %q }
}
plugin "ticker" {
  grants = ["board"]
  config { end = %q }
}
`, b.address, end),
	})
	defer w.close(t)
	for range kills {
		w.kill(t)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(w.dir, "state", "clawhost.db")
	w.keepUp(t, func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(drainTime); ; {
			if rows := storetest.Rows(t, database); len(rows["wake_ups"])+len(rows["inbox"])+len(rows["outbox"]) == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-late:
				t.Error("the host does not come to rest")
				return
			}
		}
	})
	w.end(t)
	told := strings.Join(b.texts()["chat0"], "\n")
	ticks := strings.Count(told, "Tick ")
	for n := range ticks {
		for _, what := range []string{fmt.Sprintf("Tick %d.", n), fmt.Sprintf("The end of tick %d.", n)} {
			if got := strings.Count(told, what); got != 1 {
				t.Errorf("%q is there %d times", what, got)
			}
		}
	}
	if ends := strings.Count(told, "The end of tick "); ticks == 0 || ends != ticks {
		t.Errorf("%d ticks, and %d turns", ticks, ends)
	}
	w.report(t, fmt.Sprintf("%d wake-ups: 0 lost, 0 done twice", ticks), b.repeats)
}

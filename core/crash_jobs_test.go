package core_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// The same with turns that start jobs: whatever is killed, no command runs twice, and each job that there is has its end told once and
// truthfully.
// Behaviour: jobs-told, jobs-adopted.
func TestCrashWithJobs(t *testing.T) {
	t.Parallel()
	kills := 8
	if long() {
		kills = 100
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	b := newBoard(t)
	address := freeAddress(t)
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-webhook", points: []string{"job-added", "job-recorded", "job-told", "result"}, claude: `allowed_tools = ["Bash"]`,
		config: fmt.Sprintf(`
queue { receipt = false }
reply { stream = "off" }
access { dm = "open" }
jobs { max_running = 100 }
plugin "board" {
  config { board = %q }
}
plugin "webhook" {
  grants = ["board"]
  config {
    listen = %q
    hooks = {
      chat0 = {
        form = "github", secret = "%[3]s chat0", to = "board:chat0", template = "{{.text}}"
      }
    }
  }
}
`, b.address, address, hookSecret),
	})
	defer w.close(t)
	ran := filepath.Join(w.dir, "ran")
	if err := os.Mkdir(ran, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sending.Go(func() {
		b.sendTurns(ctx, t, "http://"+address, "chat0", func(n int) string {
			return fmt.Sprintf(`[[stub {"calls": [{"tool": "jobs", "input": {"action": "run", "command": "echo ran >>%s/$CLAWHOST_JOB; sleep 0.0%d"}}], "answer": %q}]]`,
				ran, n%10, hookAnswer(n))
		})
	})
	for range kills {
		w.kill(t)
	}
	stop()
	database := filepath.Join(w.dir, "state", "clawhost.db")
	w.keepUp(t, func() {
		sending.Wait()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(drainTime); !rested(storetest.Rows(t, database)); {
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
	states := map[string]int{}
	for _, row := range storetest.Rows(t, database)["jobs"] {
		id, state := row["id"], row["state"]
		states[state]++
		text, err := os.ReadFile(filepath.Join(ran, id))
		runs := strings.Count(string(text), "ran")
		want := map[string]string{"exited": "has ended successfully", "failed": "did not begin", "interrupted": "was interrupted"}[state]
		switch {
		case want == "":
			t.Errorf("job %s is %s", id, state)
		case runs > 1, state == "exited" && runs != 1, state == "failed" && runs != 0:
			t.Errorf("job %s, which is %s, has run %d times: %v", id, state, runs, err)
		case strings.Count(told, "Job "+id+", which was started from this chat, "+want) != 1:
			t.Errorf("that job %s %s is told %d times", id, want, strings.Count(told, "Job "+id+", which was started from this chat, "+want))
		case strings.Count(told, "Job "+id+", which") != 1:
			t.Errorf("of job %s is told more than its end", id)
		}
	}
	if states["exited"] == 0 {
		t.Errorf("no job has ended: %v", states)
	}
	w.report(t, fmt.Sprintf("jobs: %v, none twice", states), b.repeats)
}

// rested reports whether no job runs, no turn waits, and all is sent.
func rested(rows map[string][]storetest.Row) bool {
	running := slices.ContainsFunc(rows["jobs"], func(r storetest.Row) bool { return r["state"] == "running" })
	return !running && len(rows["inbox"]) == 0 && len(rows["outbox"]) == 0
}

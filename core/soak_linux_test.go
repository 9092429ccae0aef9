package core_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// soakSpeed is how much faster than life the soak is: a wake-up each minute, a program's turn every few minutes, a job each quarter of an
// hour.
const soakSpeed = 1000

// usage is what a host uses.
type usage struct{ memory, descriptors, threads, children, files int } // memory in KB; files are those of the state folder

func (w *crashWorld) usage(t *testing.T) (u usage) {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d", w.host.Process.Pid)
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "RssAnon":
			u.memory = n
		case "Threads":
			u.threads = n
		}
	}
	descriptors, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread may end meanwhile
		u.children += len(strings.Fields(string(children)))
	}
	u.descriptors = len(descriptors)
	err = filepath.WalkDir(filepath.Join(w.dir, "state"), func(path string, d fs.DirEntry, err error) error {
		if d != nil && !d.IsDir() && !strings.Contains(path, "/jobs/") { // the output of jobs is kept
			u.files++
		}
		return nil // files come and go
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A day at a thousandfold speed, without a kill: at its end the host uses what it used in the morning, every turn was answered once, every
// wake-up was done once, the end of every job was told once, nothing waits, and the log has no error.
// Behaviour: wake-up, jobs-told.
func TestSoak(t *testing.T) {
	t.Parallel()
	day := 4 * time.Second
	if long() {
		day = 24 * time.Hour / soakSpeed
	}
	random, _ := crashSeed(t)
	b := newBoard(t)
	address, end := freeAddress(t), filepath.Join(t.TempDir(), "end")
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-ticker", claude: `allowed_tools = ["Bash"]`,
		config: fmt.Sprintf(`
queue { receipt = false }
reply { stream = "off" }
access { dm = "open" }
jobs { max_running = 100 }
plugin "board" {
  config { board = %q }
}
plugin "ticker" {
  grants = ["board"]
  config { end = %q }
}
plugin "webhook" {
  grants = ["board"]
  config {
    listen = %q
    hooks = {
      chat1 = {
        form = "github", secret = "%[4]s chat1", to = "board:chat1", template = "{{.text}}"
      }
      chat2 = {
        form = "github", secret = "%[4]s chat2", to = "board:group:chat2", template = "{{.text}}"
      }
    }
  }
}
`, b.address, end, address, hookSecret),
	})
	defer w.close(t)
	w.start(t, "")
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	asked := make([]int, 3)
	for i := 1; i <= 2; i++ {
		sending.Go(func() {
			asked[i] = b.sendTurns(ctx, t, "http://"+address, fmt.Sprint("chat", i), func(n int) string {
				job := ""
				if n%10 == 0 {
					job = `"calls": [{"tool": "jobs", "input": {"action": "run", "command": "sleep 0.2; echo done"}}], `
				}
				return fmt.Sprintf(`[[stub {"delay_ms": 100, %s"answer": %q}]] %d`, job, hookAnswer(n), n)
			})
		})
	}
	w.pause(day / 4)
	morning := w.usage(t)
	w.pause(day - day/4)
	evening := w.usage(t)
	stop()
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(w.dir, "state", "clawhost.db")
	w.keepUp(t, func() {
		sending.Wait()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(drainTime); ; {
			if rows := storetest.Rows(t, database); rested(rows) && len(rows["wake_ups"]) == 0 {
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
	rows := storetest.Rows(t, database)
	w.end(t)

	t.Logf("in the morning %+v, in the evening %+v", morning, evening)
	for name, n := range map[string][2]int{
		"KB of memory": {morning.memory, evening.memory - morning.memory/2 - 10_000}, "descriptors": {morning.descriptors, evening.descriptors - 10},
		"threads": {morning.threads, evening.threads - 10}, "children": {morning.children, evening.children - 20}, "files": {morning.files, evening.files - 10},
	} {
		if n[1] > n[0] {
			t.Errorf("there were %d %s in the morning: %+v, and in the evening %+v", n[0], name, morning, evening)
		}
	}
	texts := b.texts()
	for i, n := range asked {
		for k := range n {
			if got := b.count(fmt.Sprint("chat", i), hookAnswer(k)); got != 1 {
				t.Errorf("turn %d of chat%d is answered %d times", k, i, got)
			}
		}
	}
	told := strings.Join(texts["chat0"], "\n")
	ticks, ends := strings.Count(told, "Tick "), strings.Count(told, "The end of tick ")
	for n := range ticks {
		if strings.Count(told, fmt.Sprintf("Tick %d.", n)) != 1 || strings.Count(told, fmt.Sprintf("The end of tick %d.", n)) != 1 {
			t.Errorf("wake-up %d was not done once", n)
		}
	}
	all := strings.Join(slices.Concat(texts["chat1"], texts["chat2"]), "\n")
	for _, row := range rows["jobs"] {
		if n := strings.Count(all, "Job "+row["id"]+", which"); row["state"] != "exited" || n != 1 {
			t.Errorf("job %s is %s, and told of %d times", row["id"], row["state"], n)
		}
	}
	if ticks == 0 || ticks != ends || len(rows["jobs"]) == 0 || len(rows["dead_pieces"]) > 0 {
		t.Errorf("%d wake-ups with %d turns, %d jobs, %d dead letters", ticks, ends, len(rows["jobs"]), len(rows["dead_pieces"]))
	}
	log, err := os.ReadFile(w.log.Name())
	if err != nil || bytes.Contains(log, []byte("[ERROR]")) {
		t.Errorf("the log has errors, %v", err)
	}
	t.Logf("%d turns of programs, %d wake-ups with a turn each, %d jobs", asked[1]+asked[2], ticks, len(rows["jobs"]))
}

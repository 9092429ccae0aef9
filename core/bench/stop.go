package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// stop has turns run tools of several processes, some of which leave their parents' session or lose their parents,
// sends /stop in the chat, and measures how long the last of them lives after that. Like claude, the stub ends a tool's
// process group, and not processes that have left it.
func (b *bench) stop(ctx context.Context) error {
	const repeats, kin = 30, 4
	var gone, notified sample
	err := b.with(ctx, setup{plugins: []string{"echo"}, processes: 1}, func(h *host) error {
		c, err := dial(h.rig.address, "anna")
		if err != nil {
			return err
		}
		defer c.leave()
		for n := range repeats {
			nap := fmt.Sprintf("sleep %d.%d", 1_000_000+n, os.Getpid()) // a unique duration identifies the processes
			script, err := json.Marshal(map[string]string{"tool": fmt.Sprintf("(%s & %[1]s & wait) & (setsid %[1]s &); setsid %[1]s & wait", nap)})
			if err != nil {
				return err
			}
			if _, err := c.say(2*n+1, fmt.Sprintf("[[stub %s]] rest", script)); err != nil {
				return err
			}
			tree, err := family(nap, kin)
			if err != nil {
				return err
			}
			began, err := c.say(2*n+2, "/stop")
			if err != nil {
				return err
			}
			end, err := outlive(tree)
			if err != nil {
				return err
			}
			answered, err := c.answered(0)
			if err != nil {
				return err
			}
			gone, notified = append(gone, end.Sub(began)), append(notified, answered.Sub(began))
		}
		return nil
	})
	if err != nil {
		return err
	}
	line("measured", fmt.Sprintf("%d turns, each with a tool of %d processes", repeats, kin))
	const target = 200 * time.Millisecond
	judged("/stop written → all processes are gone",
		fmt.Sprintf("%s (at most %s)", millis(gone.median()), millis(gone.quantile(1))), "p50 < 200 ms", gone.median() < target)
	line("/stop written → the chat is told", millis(notified.median()))
	return nil
}

// family waits until there are n processes with this command line, and returns them.
func family(command string, n int) (pids []int, err error) {
	want := strings.ReplaceAll(command, " ", "\x00") + "\x00"
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; <-tick.C {
		pids = pids[:0]
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return nil, err
		}
		for _, path := range lines {
			if words, err := os.ReadFile(path); err == nil && string(words) == want {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the pattern guarantees a number
				pids = append(pids, pid)
			}
		}
		if len(pids) == n {
			return pids, nil
		}
	}
	return nil, fmt.Errorf("%d processes of %q were seen, not %d", len(pids), command, n)
}

// outlive waits until all these processes are gone, and returns when. It polls: they are not children of this process.
func outlive(pids []int) (time.Time, error) {
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; <-tick.C {
		for len(pids) > 0 {
			if _, err := process.StartTime(pids[0]); err == nil {
				break
			}
			pids = pids[1:]
		}
		if len(pids) == 0 {
			return time.Now(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%d processes of a stopped tool live on", len(pids))
}

//go:build e2e

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A stopped turn leaves no tool behind when Run returns, and the session goes on.
func TestStopKillsTheTool(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"in the foreground":       "sleep %s",
		"forked":                  "sleep %s & wait",
		"in a session of its own": "setsid sleep %s & wait",
		"orphaned":                "(setsid sleep %s &); sleep 1000",
		"in a bare environment":   "env -i setsid sleep %s & wait",
		"deaf to signals":         "trap '' TERM INT HUP; sleep %s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, nil)
			pool := r.pool()
			seconds := unheardOf()
			r.api.Enqueue(messagesapi.Bash(strings.ReplaceAll(command, "%s", seconds)))

			ctx, stop := context.WithCancel(r.ctx)
			defer stop()
			attempt := r.begin(ctx, pool, r.turn("wait for it"))
			r.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
			stop()
			<-attempt.done
			r.wantClass(attempt.err, agent.Aborted)
			if n := sleeping(seconds); n != 0 {
				t.Errorf("%d processes of the tool outlived the stop", n)
			}

			if got := r.run(pool, r.turn("still there?")).Text; !strings.HasSuffix(got, "still there?") {
				t.Errorf("answer after the stop = %q", got)
			}
			r.remembers("wait for it")
		})
	}
}

// unheardOf is a duration in seconds that no other process sleeps for.
func unheardOf() string { return strconv.Itoa(1e6+rand.IntN(1e6)) + "." + strconv.Itoa(os.Getpid()) }

// sleeping counts the sleep processes with this argument.
func sleeping(seconds string) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
	n := 0
	for _, line := range lines {
		// A process that ended in between has no command line.
		if words, err := os.ReadFile(line); err == nil && string(words) == "sleep\x00"+seconds+"\x00" {
			n++
		}
	}
	return n
}

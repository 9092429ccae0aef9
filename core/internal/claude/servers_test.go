package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// server is an MCP server that starts two processes, in a group and in a session of their own, which have nothing of its own
// any more. They are started once its folder has three files, and it says there when it has ended by itself.
func server(dir string) *agent.Setup {
	const child = `sh -c 'echo $$ >"$0"; exec sleep 1000' `
	return &agent.Setup{Servers: []agent.MCPServer{{Name: "local", Env: map[string]string{"DIR": dir}, Command: []string{"sh", "-c", `exec >/dev/null 2>&1
set -m; ` + child + `"$DIR/group" </dev/null & set +m
setsid ` + child + `"$DIR/session" </dev/null &
echo $$ >"$DIR/server"; while read -r line; do :; done; sleep 0.1; touch "$DIR/ended"`}}}}
}

// started waits for the server's processes, and returns their pids.
func started(t *testing.T, dir string) (pids []int) {
	t.Helper()
	poll(t, "the server has started its children", func() bool {
		pids = nil
		for _, name := range []string{"group", "session", "server"} {
			data, _ := os.ReadFile(filepath.Join(dir, name)) // it is empty while it is written
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == 3
	})
	t.Cleanup(func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // of a failed test; else it is gone
		}
	})
	return pids
}

// When a claude ends for any reason, its MCP servers and what they have started end, too.
// Behaviour: mcp-end.
func TestServersEndWithTheirProcess(t *testing.T) {
	t.Parallel()
	kill := func(r *rig, pool *claude.Pool) {
		for _, pid := range pool.Stats().PIDs {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				r.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		tool   string                   // that the turn uses; empty: none
		end    func(*rig, *claude.Pool) // what ends the process while the tool runs, or after the turn
		config func(*setup)             // nil: as usual
		gentle bool                     // the server may end by itself
		want   agent.Class              // of the turn; zero: it is answered
	}{
		"parked":              {gentle: true, config: func(c *setup) { c.ParkAfter = 50 * time.Millisecond }},
		"replaced each turn":  {gentle: true, config: func(c *setup) { c.OneShot = true }},
		"no longer used":      {gentle: true, end: func(r *rig, pool *claude.Pool) { pool.Retire(r.session) }},
		"killed while idle":   {gentle: true, end: kill},
		"killed in a turn":    {tool: "touch begun; sleep 100", end: kill, want: agent.Died},
		"the host has closed": {gentle: true, end: func(r *rig, pool *claude.Pool) { _ = pool.Close(context.Background()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := newRig(t), t.TempDir()
			if tc.config != nil {
				tc.config(&r.config)
			}
			pool := r.pool()
			turn := r.turn(directive(map[string]any{"tool": tc.tool + "\nwhile [ ! -s " + dir + "/session ]; do sleep 0.01; done", "answer": "done"}))
			turn.Profile.Setup = server(dir)
			running := r.begin(r.Context(), pool, turn)
			pids := started(t, dir)
			if tc.want != 0 {
				poll(t, "the tool runs", func() bool { return exists(filepath.Join(r.config.Workspace, "begun")) })
				tc.end(r, pool)
			}
			<-running.done
			if tc.want != 0 {
				r.wantClass(running.err, tc.want)
			} else if running.err != nil {
				t.Error(running.err)
			} else if tc.end != nil {
				tc.end(r, pool)
			}
			poll(t, "the server and its children are gone", func() bool {
				for _, pid := range pids {
					if _, err := process.StartTime(pid); !errors.Is(err, process.ErrGone) {
						return false
					}
				}
				return true
			})
			if tc.gentle && !exists(filepath.Join(dir, "ended")) {
				t.Error("the server had no time to end by itself")
			}
		})
	}
}

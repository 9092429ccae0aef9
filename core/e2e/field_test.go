//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/messagesapi"
)

// wrapped runs the CLI by a shell that does something first.
func wrapped(t *testing.T, first string) func(*claude.Config) {
	t.Helper()
	return func(c *claude.Config) {
		script := filepath.Join(t.TempDir(), "claude")
		if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s\nexec %q \"$@\"\n", first, c.Command), 0o700); err != nil {
			t.Fatal(err)
		}
		c.Command = script
	}
}

// scripted is a text that has the model answer with these replies, one after the other.
func scripted(replies ...messagesapi.Reply) string {
	script, _ := json.Marshal(replies) // without gates they always encode
	return "go on [[reply " + string(script) + "]]"
}

// counts has a subagent use the shell, in the background if that is possible.
func counts(command string) messagesapi.Reply {
	return uses("Agent", map[string]any{
		"description": "Count the beans", "prompt": scripted(messagesapi.Bash(command), messagesapi.Reply{Text: "CANARY of the subagent"}),
		"subagent_type": "general-purpose", "run_in_background": true,
	})
}

// A subagent runs within its turn, even if the model wants it to run in the background.
// Behaviour: turn-end.
func TestSubagentEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	got := r.run(pool, r.turn(scripted(counts("echo counted"), messagesapi.Reply{Text: "all counted"})))
	last := r.api.Messages()[len(r.api.Messages())-1]
	if results := last.Prompt.ToolResults(); got.Text != "all counted" || len(results) != 1 || !strings.Contains(results[0], "CANARY of the subagent") {
		t.Errorf("the turn brings %q, the subagent %q", got.Text, results)
	}
	if got := r.run(pool, r.turn("and now?")).Text; !strings.HasSuffix(got, "and now?") {
		t.Errorf("the next turn brings %q", got)
	}
	if n := r.processes.count(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
}

// Where a subagent goes on after the result, it is ended with its tools, and what it says is no turn's answer.
// Behaviour: turn-end.
func TestSubagentThatGoesOn(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"for long": "sh -c 'sleep %s'", "for a moment": "sh -c 'sleep 0.3; true %s'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, wrapped(t, "unset CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"))
			pool, seconds := r.pool(), unheardOf()
			first := r.turn(scripted(counts(fmt.Sprintf(command, seconds)), messagesapi.Reply{Text: "it is under way"}))
			if got := r.run(pool, first); got.Text != "it is under way" {
				t.Errorf("the turn brings %+v", got)
			}
			for range 2 {
				if got := r.run(pool, r.turn("and now?")).Text; !strings.HasSuffix(got, "and now?") || strings.Contains(got, "CANARY") {
					t.Errorf("the next turn brings %q", got)
				}
			}
			if n := sleeping(seconds); n != 0 {
				t.Errorf("%d processes of the subagent are left", n)
			}
			if list := pool.Tasks(r.session); len(list) != 0 {
				t.Errorf("%+v is left", list)
			}
			if n := r.processes.count(); n != 2 {
				t.Errorf("%d processes were started, want another one", n)
			}
		})
	}
}

// What an MCP server has started, in a group and in a session of its own, ends with its claude, however that ends. By itself
// the CLI ends only the server.
// Behaviour: mcp-end.
func TestServersEndWithTheirProcess(t *testing.T) {
	t.Parallel()
	kill := func(r *rig, pool *claude.Pool) { r.signal(pool, syscall.SIGKILL) }
	for name, tc := range map[string]struct {
		end    func(*rig, *claude.Pool)
		inTurn bool
		edit   func(*claude.Config)
	}{
		"parked":            {edit: func(c *claude.Config) { c.ParkAfter = 50 * time.Millisecond }},
		"no longer used":    {end: func(r *rig, pool *claude.Pool) { pool.Retire(r.session) }},
		"killed while idle": {end: kill},
		"killed in a turn":  {end: kill, inTurn: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, tc.edit)
			r.config.Env["CLAUDE_CODE_MCP_STARTUP_WAIT_MS"] = "60000"
			test, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			pool, seconds := r.pool(), unheardOf()
			turn := r.turn("hello")
			turn.Profile.Setup = &agent.Setup{Servers: []agent.MCPServer{{Name: "local", Env: map[string]string{serverVariable: "1"}, Command: []string{
				"sh", "-c",
				`set -m; sleep "$0" </dev/null >/dev/null 2>&1 & set +m; setsid sleep "$0" </dev/null >/dev/null 2>&1 & exec "$1"`, seconds, test,
			}}}}
			if tc.inTurn {
				r.api.Enqueue(gated("begun", "go"))
			}
			a := r.begin(r.ctx, pool, turn)
			if tc.inTurn {
				r.awaitFile("begun")
			} else if <-a.done; a.err != nil {
				t.Fatal(a.err)
			}
			if n := sleeping(seconds); n != 2 && tc.edit == nil {
				t.Fatalf("the server runs %d processes, want 2", n)
			}
			if tc.end != nil {
				tc.end(r, pool)
			}
			<-a.done
			r.poll("what the server has started is gone", func() bool { return sleeping(seconds) == 0 })
		})
	}
}

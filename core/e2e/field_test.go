//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// wrapped runs the CLI by a shell that does something first.
func wrapped(t *testing.T, first string) func(*runner) {
	t.Helper()
	return func(c *runner) {
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
			if n := r.processes.count(); n != 2 && name == "for long" { // the other may have ended before the turn is over
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
		edit   func(*runner)
	}{
		"parked":            {edit: func(c *runner) { c.ParkAfter = 50 * time.Millisecond }},
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

// A limit that comes without the time of its end has none that is known, and the next turn asks again.
func TestLimitWithoutAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	delete(r.config.Env, "ANTHROPIC_API_KEY")
	r.config.Env["CLAUDE_CODE_OAUTH_TOKEN"] = key
	pool := r.pool()
	limit := messagesapi.RateLimited(0)
	limit.Failure.Header = map[string]string{
		"Anthropic-Ratelimit-Unified-Status": "rejected", "Anthropic-Ratelimit-Unified-Representative-Claim": "five_hour",
	}
	r.api.Enqueue(limit)
	_, err := r.try(pool, r.turn("too much"))
	r.wantClass(err, agent.RateLimit)
	if failure := new(agent.Failure); errors.As(err, &failure) && !failure.ResetsAt.IsZero() {
		t.Errorf("it ends at %v", failure.ResetsAt)
	}
	if got := r.run(pool, r.turn("and now?")).Text; !strings.HasSuffix(got, "and now?") {
		t.Errorf("the next turn brings %q", got)
	}
}

// While people are asked, the silence of the CLI is no reason to end the turn.
// Behaviour: ask-time.
func TestSilenceLimitExcludesQuestions(t *testing.T) {
	t.Parallel()
	const stall = 2 * time.Second
	r := newRig(t, messagesapi.Options{}, func(c *runner) { c.AllowedTools, c.Stall = nil, stall })
	pool := r.pool()
	r.api.Enqueue(messagesapi.Bash("touch asked"), messagesapi.Reply{Text: "done"})
	turn := r.turn("touch it")
	turn.Asker = askFunc(func(ctx context.Context, _ agent.Question) agent.Decision {
		select {
		case <-time.After(stall + stall/2):
		case <-ctx.Done():
		}
		return agent.Decision{Allow: ctx.Err() == nil}
	})
	if got := r.run(pool, turn); got.Text != "done" || got.Tools[0].Failed {
		t.Errorf("the turn brings %+v", got)
	}
}

// A turn whose result never comes is ended, whether or not the service keeps the connection alive, and the next one is
// answered.
func TestNoResult(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply          messagesapi.Reply
		timeout, stall time.Duration
		want           agent.Class
	}{
		"no answer at all":     {messagesapi.Reply{Text: "never", DelayMS: 3600_000}, 0, time.Second, agent.Timeout},
		"no word":              {messagesapi.Reply{Text: "never", Hang: new(0)}, 0, time.Second, agent.Timeout},
		"a word now and again": {messagesapi.Reply{Text: strings.Repeat("word ", 1000), DeltaDelayMS: 100}, 2 * time.Second, 0, agent.TimeUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, func(c *runner) { c.Stall = tc.stall })
			pool := r.pool()
			r.api.Enqueue(tc.reply)
			turn := r.turn("hello")
			turn.Timeout = tc.timeout
			_, err := r.try(pool, turn)
			r.wantClass(err, tc.want)
			r.config.Stall = 0
			r.close(pool)
			if got := r.run(r.pool(), r.turn("still there?")).Text; !strings.HasSuffix(got, "still there?") {
				t.Errorf("the next turn brings %q", got)
			}
		})
	}
}

// What a hook of the workspace says that refuses a message is the answer to it, and the message is not tried again.
func TestHookRefusesTheMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, func(c *runner) { c.TrustProject = true })
	folder := filepath.Join(r.config.Workspace, ".claude")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo not today >&2; exit 2"}]}]}}`
	if err := os.WriteFile(filepath.Join(folder, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.run(r.pool(), r.turn("go on")).Text; !strings.Contains(got, "not today") {
		t.Errorf("the turn brings %q", got)
	}
	if n := r.processes.count(); n != 1 || len(r.api.Messages()) != 0 {
		t.Errorf("%d processes were started, and the model was asked %v", n, r.api.Messages())
	}
}

// A conversation whose record is damaged goes on, with what is left of it: the CLI repairs it when it resumes.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	line := func(fields map[string]any) string {
		data, _ := json.Marshal(fields) // maps of texts always encode
		return string(data) + "\n"
	}
	for name, damage := range map[string]func(record string) string{
		"cut in its last line": func(record string) string { return record[:len(record)-20] },
		"garbage behind it":    func(record string) string { return record + "\x00\x01 no JSON {\"type\":\n" },
		"a result without a use": func(record string) string {
			return record + line(map[string]any{
				"type": "user", "uuid": uuid.NewString(), "parentUuid": lastUUID(record), "sessionId": "", "timestamp": "2026-11-24T12:00:00Z",
				"message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}}},
			})
		},
		"a use without a result": func(record string) string {
			return record + line(map[string]any{
				"type": "assistant", "uuid": uuid.NewString(), "parentUuid": lastUUID(record), "timestamp": "2026-11-24T12:00:00Z",
				"message": map[string]any{
					"id": "msg_none", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "tool_use",
					"content": []any{map[string]any{"type": "tool_use", "id": "toolu_none", "name": "Bash", "input": map[string]any{"command": "true"}}},
				},
			})
		},
		"each line twice": func(record string) string { return record + record },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{Answer: refusesOrphans}, nil)
			pool := r.pool()
			r.run(pool, r.turn("my number is 4711"))
			r.run(pool, r.turn("and it is odd"))
			r.close(pool)
			paths, err := filepath.Glob(filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "projects", "*", r.session+".jsonl"))
			if err != nil || len(paths) != 1 {
				t.Fatalf("transcripts = %v, %v", paths, err)
			}
			if err := os.WriteFile(paths[0], []byte(damage(r.transcript(r.session))), 0o600); err != nil {
				t.Fatal(err)
			}
			pool = r.pool()
			for range 2 {
				if got := r.run(pool, r.turn("which number?")).Text; !strings.HasSuffix(got, "which number?") {
					t.Errorf("the next turn brings %q", got)
				}
			}
			r.remembers("my number is 4711")
		})
	}
}

// lastUUID is the id of the last message in a record.
func lastUUID(record string) (id string) {
	for line := range strings.Lines(record) {
		var l struct {
			UUID    string         `json:"uuid"`
			Message map[string]any `json:"message"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Message != nil {
			id = l.UUID
		}
	}
	return id
}

// refusesOrphans refuses a conversation in which uses and results of tools do not belong together, as the API does.
func refusesOrphans(p messagesapi.Prompt) (messagesapi.Reply, bool) {
	open, seen := map[string]bool{}, map[string]bool{}
	for _, m := range p.Messages {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_use" && seen[b.ID], b.Type == "tool_result" && !open[b.Result]:
				return messagesapi.Reply{Failure: &messagesapi.Failure{Status: http.StatusBadRequest, Message: "messages: tool use and result do not match"}}, true
			case b.Type == "tool_use":
				open[b.ID], seen[b.ID] = true, true
			case b.Type == "tool_result":
				delete(open, b.Result)
			}
		}
	}
	if len(open) > 0 {
		return messagesapi.Reply{Failure: &messagesapi.Failure{Status: http.StatusBadRequest, Message: "messages: a tool use has no result"}}, true
	}
	return messagesapi.Reply{}, false
}

// A user continues a conversation in a terminal while the host uses it, too. Each gets its own answers. After a crash, the host
// takes only the answer to its own message.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	mine := r.turn("my number is 4711")
	first := r.run(pool, mine)

	terminal := exec.CommandContext(r.ctx, r.config.Command, "--print", "--resume", r.session, "CANARY of the terminal")
	terminal.Dir, terminal.Env = r.config.Workspace, []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range r.config.Env {
		terminal.Env = append(terminal.Env, name+"="+value)
	}
	if out, err := terminal.CombinedOutput(); err != nil || !strings.Contains(string(out), "CANARY of the terminal") {
		t.Fatalf("the terminal: %v, %q", err, out)
	}
	for _, text := range []string{"which number?", "and again?"} {
		if got := r.run(pool, r.turn(text)).Text; !strings.HasSuffix(got, text) {
			t.Errorf("the turn brings %q", got)
		}
	}
	r.remembers("my number is 4711")
	r.close(pool)
	pool = r.pool()
	mine.Again = true
	if again := r.run(pool, mine); !again.Recovered || again.Text != first.Text {
		t.Errorf("after a crash the message is answered by %+v", again)
	}
	if got := r.run(pool, r.turn("next")).Text; !strings.HasSuffix(got, "next") {
		t.Errorf("the next turn brings %q", got)
	}
}

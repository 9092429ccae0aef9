package claude_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

func TestFailures(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.config.MaxProcesses = 2
		pool := r.pool()
		for name, want := range map[string]agent.Class{
			"401": agent.Auth, "403": agent.Auth, "nologin": agent.Auth,
			"402": agent.Billing, "credit": agent.Billing,
			"429": agent.RateLimit, "limit": agent.RateLimit,
			"500": agent.Server, "refused": agent.Server,
			"529": agent.Overloaded, "529repeat": agent.Overloaded, "overloaded": agent.Overloaded,
			"timeout": agent.Timeout, "timeout2": agent.Timeout,
			"overflow": agent.ContextOverflow, "blocking": agent.ContextOverflow, "window": agent.ContextOverflow, "413": agent.ContextOverflow,
			"refusal": agent.ContentFilter, "filter": agent.ContentFilter,
			"404": agent.Model, "maxturns": agent.Limit, "budget": agent.Limit, "other": agent.Rejected,
		} {
			_, err := pool.Run(r.Context(), r.turn(directive(map[string]any{"error": name})))
			failure := r.wantClass(err, want)
			if failure.Detail == "" {
				t.Errorf("%s has no detail", name)
			}
			if got := failure.ResetsAt.Unix(); name == "limit" && got != 1795250000 {
				t.Errorf("the limit resets at %v", failure.ResetsAt)
			}
		}
		// Failures leave the process alive.
		r.wantSpawned(pool, 1)
		if got := r.ask(pool, r.turn("and now?")).Text; got != "echo: [Bob] and now?" {
			t.Errorf("answer = %q", got)
		}
	})
}

// What a failed turn says of itself is shown without the credentials that claude was given.
func TestFailureIsRedacted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Env["SOME_TOKEN"] = "something else"
	_, err := r.pool().Run(r.Context(), r.turn(directive(map[string]any{"error": "other"})))
	if got, want := r.wantClass(err, agent.Rejected).Detail, "API Error: 400 [redacted]"; got != want {
		t.Errorf("failed by %q, want %q", got, want)
	}
}

// A claude that nothing sensible can be heard of any more is ended at once, and not after a long silence.
// Behaviour: claude-output-bounded.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script map[string]any
		want   string
	}{
		"a line without an end": {map[string]any{"endless": true}, "it wrote a line over the limit"},
		"a closed output":       {map[string]any{"mute": true}, "it closed its output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.config.Timeout, r.config.Stall = time.Minute, time.Hour
			pool := r.pool()
			_, err := pool.Run(t.Context(), r.turn(directive(tc.script)))
			if failure := r.wantClass(err, agent.Died); !strings.Contains(failure.Detail, tc.want) {
				t.Errorf("failed by %q, want %q", failure.Detail, tc.want)
			}
			if got := r.ask(pool, r.turn("and now?")).Text; got != "echo: [Bob] and now?" {
				t.Errorf("the next turn brings %q", got)
			}
		})
	}
}

// What the CLI may write among a turn's events does not disturb the turn.
func TestForeignEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script map[string]any
		want   string
	}{
		"garbage":              {map[string]any{"garbage": true, "answer": "fine"}, "fine"},
		"an unsolicited turn":  {map[string]any{"unsolicited": true, "answer": "mine"}, "mine"},
		"a compaction":         {map[string]any{"compact": true, "answer": "fine"}, "fine"},
		"an unknown request":   {map[string]any{"question": "frobnicate", "answer": "fine"}, "fine"},
		"a hook":               {map[string]any{"question": "hook_callback", "answer": "fine"}, "fine"},
		"a tool's result":      {map[string]any{"tool": "echo hello", "answer": "fine"}, "fine"},
		"blocks":               {map[string]any{"blocks": true, "answer": "one\ntwo"}, "one\n\ntwo"},
		"words one by one":     {map[string]any{"token_delay_ms": 1, "answer": "a b c d"}, "a b c d"},
		"a line of 2 MB":       {map[string]any{"huge": 2 << 20}, strings.Repeat("x", 2<<20)},
		"an answer of nothing": {map[string]any{"answer": " "}, ""},
	} {
		for _, legacy := range []string{"", "1"} {
			t.Run(name+legacy, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.config.Env["CLAUDE_STUB_LEGACY"] = legacy
				pool := r.pool()
				for range 2 {
					if got := r.ask(pool, r.turn(directive(tc.script))).Text; got != tc.want {
						t.Errorf("answer = %.100q, want %.100q", got, tc.want)
					}
				}
				if n := r.processes.spawned(); n != 1 {
					t.Errorf("%d processes were started", n)
				}
			})
		}
	}
}

// A line that is over the limit ends the process as one without an end does, which is what is tried for every change.
func TestLineOverTheLimit(t *testing.T) {
	t.Parallel()
	if os.Getenv("CLAWHOST_LONG") == "" {
		t.Skip("65 MB are for the long tests")
	}
	r := newRig(t)
	pool := r.pool()
	_, err := pool.Run(r.Context(), r.turn(directive(map[string]any{"huge": 65 << 20})))
	if failure := r.wantClass(err, agent.Died); !strings.Contains(failure.Detail, "over the limit") {
		t.Errorf("failure = %v", failure)
	}
	if got := r.ask(pool, r.turn("smaller")).Text; got != "echo: [Bob] smaller" {
		t.Errorf("answer = %q", got)
	}
}

func TestToolsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	r.ask(pool, r.turn(directive(map[string]any{"tool": "touch done", "ask": true})))
	if exists(filepath.Join(r.config.Workspace, "done")) {
		t.Error("a tool ran that is not allowed")
	}
	if !strings.Contains(r.transcript(), "the owner can add it to claude.allowed_tools") {
		t.Error("the model was not told why")
	}
	allowed := newRig(t)
	allowed.config.AllowedTools = []string{"Read", "Bash"}
	allowed.ask(allowed.pool(), allowed.turn(directive(map[string]any{"tool": "touch done", "ask": true})))
	if !exists(filepath.Join(allowed.config.Workspace, "done")) {
		t.Error("an allowed tool did not run")
	}
}

func TestPromptsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	for _, prompt := range []string{"/clear", "/", "", "  \n"} {
		turn := r.turn("")
		turn.Prompt = prompt
		if _, err := pool.Run(r.Context(), turn); err == nil {
			t.Errorf("the prompt %q was taken", prompt)
		}
	}
	if n := r.processes.spawned(); n != 0 {
		t.Errorf("%d processes were started", n)
	}
}

// The agent's tools see an allowlisted environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "x")
	t.Setenv("ANTHROPIC_API_KEY", "x")
	t.Setenv("CLAUDE_CODE_SESSION_ID", "outer")
	t.Setenv("LC_TIME", "C")
	t.Setenv("TZ", "UTC")
	r := newRig(t)
	r.config.Env["MINE"] = "a value"
	r.config.Env["CLAUDE_CODE_DISABLE_ATTACHMENTS"] = "0"
	r.config.Env["CLAUDE_CODE_MAX_RETRIES"] = "1"
	r.ask(r.pool(), r.turn(directive(map[string]any{"tool": "env -0 > env"})))
	data, err := os.ReadFile(filepath.Join(r.config.Workspace, "env"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	values := map[string]string{}
	for _, pair := range strings.Split(strings.TrimRight(string(data), "\x00"), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		names, values[name] = append(names, name), value
	}
	known := []string{
		"HOME", "PATH", "USER", "LANG", "TZ", "TERM", "TMPDIR", "LC_TIME", "LC_ALL", "LC_CTYPE", "MINE",
		"CLAUDE_CONFIG_DIR", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAWHOST_RUN",
		"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
		"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_ATTACHMENTS",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "CLAUDE_CODE_DISABLE_CRON", "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
		"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "CLAUDE_CODE_STREAM_EVENT_HOLD_MS",
		"PWD", "SHLVL", "_", "OLDPWD", // the shell's
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("the tools see %s", name)
		}
	}
	want := map[string]string{
		"MINE": "a value", "LC_TIME": "C", "TZ": "UTC", "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
		"CLAUDE_CODE_SESSION_ID": r.session, "CLAUDE_CONFIG_DIR": r.config.Env["CLAUDE_CONFIG_DIR"],
	}
	for name, value := range want {
		if values[name] != value {
			t.Errorf("%s = %q, want %q", name, values[name], value)
		}
	}
}

func TestFilesOfTheFlags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	state := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(state, link); err != nil {
		t.Fatal(err)
	}
	r.config.DenyPaths = []string{link, "/etc/clawhost.hcl", "/srv/a (b) [c]"}
	r.ask(r.pool(), r.turn("hello"))
	if info, err := os.Stat(filepath.Join(r.config.RunDir, "claude-settings.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the settings are %v, %v", info, err)
	}
	data, err := os.ReadFile(filepath.Join(r.config.RunDir, "claude-settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		CleanupPeriodDays int
		Permissions       struct{ Deny []string }
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range []string{link, state, "/etc/clawhost.hcl", `/srv/a (b) \[c\]`} {
		for _, tool := range []string{"Read", "Edit"} {
			want = append(want, tool+"(/"+path+")", tool+"(/"+path+"/**)")
		}
	}
	if diff := cmp.Diff(want, got.Permissions.Deny); diff != "" {
		t.Errorf("denied (-want +got):\n%s", diff)
	}
	for _, path := range []string{"relative", `/back\slash`, "/line\nbreak"} {
		bad := newRig(t)
		bad.config.DenyPaths = []string{path}
		if _, err := claude.New(bad.config.pool(), hclog.NewNullLogger(), bad.processes); err == nil {
			t.Errorf("the path %q cannot be denied and was taken", path)
		}
	}
	if got.CleanupPeriodDays < 3650 {
		t.Errorf("transcripts are kept for %d days", got.CleanupPeriodDays)
	}
}

// A failure to write the settings passes.
func TestSettingsThatCannotBeWrittenYet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := os.WriteFile(r.config.RunDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pool := r.pool()
	turn := r.turn("hello")
	if _, err := pool.Run(t.Context(), turn); err == nil || !strings.Contains(err.Error(), "settings") {
		t.Errorf("without the folder: %v", err)
	}
	if err := os.Remove(r.config.RunDir); err != nil {
		t.Fatal(err)
	}
	r.ask(pool, turn)
}

// The rules of one workspace under two names are not for the agent that has it.
// Behaviour: agent-apart.
func TestAgentsOfOneWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.config.Workspace, link); err != nil {
		t.Fatal(err)
	}
	config := r.config.pool()
	same, other := r.config.Options, r.config.Options
	same.Workspace, same.RunDir = link, filepath.Join(t.TempDir(), "run")
	other.Workspace = t.TempDir()
	config.Agents["same"], config.Agents["other"] = same, other
	pool, err := claude.New(config, hclog.NewNullLogger(), r.processes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close(context.Background()) })
	for _, label := range []string{"", "same"} {
		r.session, r.started = uuid.NewString(), false
		turn := r.turn("hello")
		turn.Agent = label
		r.ask(pool, turn)
		data, err := os.ReadFile(filepath.Join(config.Agents[label].RunDir, "claude-settings.json"))
		if err != nil {
			t.Fatal(err)
		}
		conversations := string(cli.Transcripts(other, other.Workspace))
		if text := string(data); strings.Contains(text, link) || strings.Contains(text, r.config.Workspace) || !strings.Contains(text, other.Workspace) || !strings.Contains(text, conversations) {
			t.Errorf("agent %q: %s", label, text)
		}
	}
}

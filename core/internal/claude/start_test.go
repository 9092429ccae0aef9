package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// Behaviour: conversation-broken, claude-refuses.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	t.Run("not installed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.config.Command = "claude-that-is-not-there"
		_, err := claude.New(r.config.pool(), hclog.NewNullLogger(), r.processes)
		var missing *cli.NotInstalledError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), "npm install") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.config.Command = filepath.Join(t.TempDir(), "claude")
		if err := os.Link(binary, r.config.Command); err != nil {
			t.Skipf("link the stub: %v", err)
		}
		pool := r.pool()
		if err := os.Remove(r.config.Command); err != nil {
			t.Fatal(err)
		}
		_, err := pool.Run(r.Context(), r.turn("hello"))
		r.wantClass(err, agent.Unavailable)
		var missing *cli.NotInstalledError
		if !errors.As(err, &missing) {
			t.Errorf("error = %v does not say how to install it", err)
		}
	})
	t.Run("says why", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.config.Env["MY_TOKEN"] = "canary-credential"
		r.config.Env["CLAUDE_STUB_START_ERROR"] = "Error: bad luck with canary-credential and sk-ant-abcdefgh"
		pool := r.pool()
		for range 6 { // more than there are slots
			_, err := pool.Run(r.Context(), r.turn("hello"))
			failure := r.wantClass(err, agent.Unavailable)
			if !strings.Contains(failure.Error(), "bad luck") {
				t.Errorf("failure %q does not say why", failure)
			}
			if strings.Contains(failure.Error(), "canary") || strings.Contains(failure.Error(), "abcdefgh") {
				t.Errorf("failure %q shows a credential", failure)
			}
		}
	})
	t.Run("refuses", func(t *testing.T) {
		t.Parallel()
		for _, said := range []string{
			"--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons", "error: unknown option '--frobnicate'",
			"error: option '--max-turns <turns>' argument 'x' is invalid. must be a number", "Error: Invalid MCP configuration:\nMCP config file not found: /x",
		} {
			r := newRig(t)
			r.config.Env["CLAUDE_STUB_START_ERROR"] = said
			_, err := r.pool().Run(r.Context(), r.turn("hello"))
			if failure := r.wantClass(err, agent.Refused); failure.Detail != said {
				t.Errorf("the reason is %q, want %q", failure.Detail, said)
			}
		}
	})
	t.Run("one conversation", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.config.MaxProcesses = 1
		r.config.Env["CLAUDE_STUB_RESUME_ERROR"] = "RangeError: bad record"
		pool := r.pool()
		for range 3 { // more than there are slots
			_, err := pool.Run(r.Context(), r.in(uuid.NewString(), true, "hello"))
			if failure := r.wantClass(err, agent.Unresumable); !strings.Contains(failure.Error(), "bad record") {
				t.Errorf("failure %q does not say why", failure)
			}
		}
		poll(t, "no process runs any more", func() bool { return len(pool.Stats().PIDs) == 0 })
		if got := r.ask(pool, r.in(uuid.NewString(), false, "hello")).Text; got != "echo: [Bob] hello" {
			t.Errorf("a new conversation brings %q", got)
		}
	})
	t.Run("all conversations", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.config.Env["CLAUDE_STUB_START_ERROR"] = "RangeError: bad record"
		_, err := r.pool().Run(r.Context(), r.in(uuid.NewString(), true, "hello"))
		r.wantClass(err, agent.Unavailable)
	})
	t.Run("half written", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.config.Command = filepath.Join(t.TempDir(), "claude")
		if err := os.WriteFile(r.config.Command, []byte("this is no program"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := r.pool().Run(r.Context(), r.turn("hello"))
		r.wantClass(err, agent.Unavailable)
	})
	t.Run("not recorded", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.processes.fail = errors.New("disk full")
		pool := r.pool()
		_, err := pool.Run(r.Context(), r.turn("hello"))
		r.wantClass(err, agent.Unavailable)
		poll(t, "no process runs unrecorded", func() bool { return len(pool.Stats().PIDs) == 0 })
	})
	t.Run("flag of the host", func(t *testing.T) {
		t.Parallel()
		for _, arg := range []string{"--session-id", "--resume=x", "--permission-mode", "-p", "--dangerously-skip-permissions"} {
			r := newRig(t)
			r.config.Args = []string{arg}
			if _, err := claude.New(r.config.pool(), hclog.NewNullLogger(), r.processes); err == nil {
				t.Errorf("claude.args took %s", arg)
			}
		}
	})
}

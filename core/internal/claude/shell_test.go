package claude_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

func TestShellRunsALine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	for line, want := range map[string]struct {
		output string
		code   int
	}{
		"pwd; echo no >&2":         {r.config.Workspace + "\nno\n", 0},
		"false":                    {"", 1},
		"exit 7":                   {"", 7},
		"kill -TERM $$":            {"", 143},
		"sleep 100 & echo begun":   {"begun\n", 0},
		"sleep 0.01 & wait; echo ": {"\n", 0},
	} {
		var output bytes.Buffer
		code, err := pool.Shell(r.Context(), "", "", cli.Line{Name: "shell:" + r.session + line, Text: line, Stdout: &output, Stderr: &output})
		if err != nil || code != want.code || output.String() != want.output {
			t.Errorf("%s: code %d, error %v, output %q", line, code, err, output.String())
		}
		if left := tools(t, "shell:"+r.session+line); len(left) > 0 {
			t.Errorf("%s leaves %v", line, left)
		}
	}
	if got := r.processes.spawned(); got == 0 {
		t.Error("the lines were not recorded")
	}
}

// Behaviour: bash-bounded.
func TestShellHasACleanEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-hush")
	t.Setenv("CLAWHOST_SECRET", "hush")
	t.Setenv("LC_TIME", "C")
	r := newRig(t)
	r.config.Env["ANTHROPIC_AUTH_TOKEN"] = "hush"
	var output bytes.Buffer
	if _, err := r.pool().Shell(r.Context(), "", "", cli.Line{Name: "shell:x", Text: "env", Stdout: &output}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(output.String()) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	known := []string{"HOME", "PATH", "USER", "LANG", "TZ", "TERM", "TMPDIR", "LC_TIME", "LC_ALL", "LC_CTYPE", "CLAUDE_CODE_SESSION_ID", "CLAWHOST_RUN", "PWD", "SHLVL", "_", "OLDPWD"}
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("a line has the variable %s", name)
		}
	}
	if strings.Contains(output.String(), "hush") || !slices.Contains(names, "PATH") || !slices.Contains(names, "LC_TIME") {
		t.Errorf("a line has the environment\n%s", output.String())
	}
}

// Behaviour: bash.
func TestShellIsKilledWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"itself":   "touch begun; sleep 100",
		"forked":   "(sleep 100 & sleep 100 & wait) & touch begun; wait",
		"orphaned": "(setsid sleep 100 &); touch begun; sleep 100",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			pool := r.pool()
			ctx, stop := context.WithCancelCause(r.Context())
			defer stop(nil)
			done := make(chan error, 1)
			go func() {
				_, err := pool.Shell(ctx, "", "", cli.Line{Name: "shell:" + r.session, Text: line})
				done <- err
			}()
			poll(t, "the line runs", func() bool {
				_, err := os.Stat(filepath.Join(r.config.Workspace, "begun"))
				return err == nil
			})
			stop(agent.ErrStopped)
			if err := <-done; !errors.Is(err, agent.ErrStopped) {
				t.Errorf("the line ended with %v", err)
			}
			if left := tools(t, "shell:"+r.session); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

package cli_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/programtest"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// program writes a program and returns its path.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	programtest.Write(t, path, text)
	return path
}

func TestInspect(t *testing.T) {
	t.Parallel()
	const version = `#!/bin/sh
if [ "$1" = --version ]; then echo '2.1.331 (Claude Code)'; exit 0; fi
`
	for _, c := range []struct {
		name, text string
		env        map[string]string
		want       string
		old        bool
	}{
		{"logged in", version + `echo '{"loggedIn": true, "authMethod": "claude.ai", "subscriptionType": "max"}'`, nil, "Claude Code 2.1.331, logged in (claude.ai max)", false},
		{"not logged in", version + `echo '{"loggedIn": false, "authMethod": "none"}'; exit 1`, nil, "Claude Code 2.1.331, not logged in", false},
		{"without the question", version + `echo 'unknown command auth' >&2; exit 1`, nil, "Claude Code 2.1.331, login unknown", false},
		{"a key of the config", version + `exit 1`, map[string]string{"ANTHROPIC_API_KEY": "x"}, "Claude Code 2.1.331, logged in (keys of the host)", false},
		{"old", strings.Replace(version, "2.1.331", "2.0.99", 1), nil, "Claude Code 2.0.99, login unknown", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := cli.Inspect(t.Context(), cli.Options{Command: program(t, c.text), Env: c.env})
			if err != nil || got.String() != c.want || got.TooOld() != c.old {
				t.Errorf("got %v, too old: %v, %v; want %v", got, got.TooOld(), err, c.want)
			}
		})
	}
}

func TestInspectBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"placeholder":   {"echo \"Error: claude native binary not installed.\" >&2\nexit 1\n", "is only a placeholder"},
		"no program":    {"\x00\x01\x02", "it is no program for this machine"},
		"fails":         {"#!/bin/sh\necho 'no such library' >&2\nexit 127\n", "does not run: exit status 127: no such library"},
		"another":       {"#!/bin/sh\necho 'cowsay 3'\n", `it is not Claude Code: for --version it printed "cowsay 3"`},
		"endless words": {"#!/bin/sh\nhead -c 10000000 /dev/zero | tr '\\0' x\n", "it is not Claude Code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cli.Inspect(t.Context(), cli.Options{Command: program(t, c.text)})
			var broken *cli.BrokenError
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
	_, err := cli.Inspect(t.Context(), cli.Options{Command: "no-such-claude"})
	var missing *cli.NotInstalledError
	if !errors.As(err, &missing) {
		t.Errorf("a missing program: %v", err)
	}
}

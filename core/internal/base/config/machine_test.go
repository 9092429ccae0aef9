package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the machine does not have is reported at its place in the file, or about the file if the file does not name it.
// Behaviour: config-machine.
func TestCheckOfTheMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	program := filepath.Join(os.Getenv("PATH"), "claude")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const state = "state_dir = \"state\"\n"
	for name, tt := range map[string]struct {
		text, want string
		demo       bool
	}{
		"all is there":      {text: state},
		"no claude":         {text: state + "claude {\n  command = \"klaude\"\n}\n", want: ":3:13: Missing program; claude.command: there is no program \"klaude\" here."},
		"no claude, a demo": {text: state + "claude {\n  command = \"klaude\"\n}\n", demo: true},
		"no claude of an agent": {
			text: state + "agent \"x\" {\n  workspace = \"~/x\"\n  claude {\n    command = \"klaude\"\n  }\n}\n",
			want: ":5:15: Missing program; claude.command of agent \"x\": there is no program \"klaude\" here.",
		},
		"a state folder in a file": {
			text: "log {}\nstate_dir = \"config.hcl/state\"\n", want: ":2:13: Unusable folder; state_dir: the folder D/config.hcl/state cannot be made or written: not a directory.",
		},
		"a state folder that is a file": {
			text: "state_dir = \"config.hcl\"\n", demo: true, want: ":1:13: Unusable folder; state_dir: the folder D/config.hcl cannot be made or written: not a directory.",
		},
		"two mistakes, in order": {
			text: "claude {\n  command = \"klaude\"\n}\nstate_dir = \"config.hcl\"\n", want: ":2:13: Missing program;",
		},
	} {
		c := load(t, tt.text, nil)
		got := ""
		if err := c.Check(tt.demo); err != nil {
			got = strings.ReplaceAll(strings.TrimPrefix(err.Error(), c.Path), filepath.Dir(c.Path), "D")
		}
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if entries, err := os.ReadDir(filepath.Dir(c.Path)); err != nil || len(entries) != 1 {
			t.Errorf("%s: the check has left something: %v, %v", name, entries, err)
		}
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	c := load(t, "log {}\n"+state, nil)
	const want = `: Missing program; claude.command: there is no program "claude" here. Install Claude Code, or write the program's path.`
	if err := c.Check(false); err == nil || err.Error() != c.Path+want {
		t.Errorf("without claude: %v", err)
	}
}

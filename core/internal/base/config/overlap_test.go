package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// What is in the workspace can be sent to whoever may write. So nothing of the host's may be there, whatever links lead to it.
// Behaviour: workspace-apart.
func TestWorkspaceIsApart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string // with the folder of the file written as @
		env  map[string]string
		want string // the problem's place and the beginning of its detail; empty: the file is good
	}{
		{"a folder of its own", `agent { workspace = "work" }`, nil, ""},
		{"one that is not there yet", `agent { workspace = "new/work" }`, nil, ""},
		{"beside all the others", "state_dir = \"state\"\nplugin_dir = \"bin\"\nagent {\n  workspace = \"work\"\n}", nil, ""},
		{"beside a folder with a longer name", "state_dir = \"work-state\"\nagent {\n  workspace = \"work\"\n}", nil, ""},
		{"in the plugins' folder", "plugin_dir = \".\"\nagent {\n  workspace = \"work\"\n}", nil, ""},
		{"the home folder", `agent { workspace = "~" }`, nil, "1:21 agent.workspace must not be or contain your home folder"},
		{"above the home folder", `agent { workspace = "~/.." }`, nil, "1:21 agent.workspace must not be or contain your home folder"},
		{"a link to the home folder", `agent { workspace = "home-link" }`, nil, "1:21 agent.workspace must not be or contain your home folder"},
		{"the config file's folder", `agent { workspace = "." }`, nil, "1:21 agent.workspace must not be or contain your home folder"},
		{"holds the config file only", `agent { workspace = "." }`, map[string]string{"HOME": "/home/u"}, "1:21 agent.workspace must not contain the config file, "},
		{"holds state_dir", "state_dir = \"work/state\"\nagent {\n  workspace = \"work\"\n}", nil, "3:15 agent.workspace must not contain state_dir, @/work/state"},
		{"is state_dir", "state_dir = \"work\"\nagent {\n  workspace = \"work\"\n}", nil, "3:15 agent.workspace must not contain state_dir, "},
		{"in state_dir", "state_dir = \"state\"\nagent {\n  workspace = \"state/work\"\n}", nil, "3:15 agent.workspace must not be in state_dir, "},
		{"in state_dir, neither there", "state_dir = \"a/b\"\nagent {\n  workspace = \"a/b/c/d\"\n}", nil, "3:15 agent.workspace must not be in state_dir, "},
		{"state_dir behind a link into it", "state_dir = \"link/state\"\nagent {\n  workspace = \"work\"\n}", nil, "3:15 agent.workspace must not contain state_dir, "},
		{"state_dir behind a link to what is not there", "state_dir = \"dangling\"\nagent {\n  workspace = \"work\"\n}", nil, "3:15 agent.workspace must not contain state_dir, "},
		{"the default workspace holds state_dir", `state_dir = "~/clawhost/state"`, nil, "1:13 agent.workspace must not contain state_dir, "},
		{"holds the plugins", "plugin_dir = \"work/bin\"\nagent {\n  workspace = \"work\"\n}", nil, "3:15 agent.workspace must not contain plugin_dir, "},
		{"holds a plugin", "agent {\n  workspace = \"work\"\n}\nplugin \"p\" {\n  source = \"./work/p\"\n}", nil, `2:15 agent.workspace must not contain the binary of plugin "p", `},
		{"holds a disabled plugin", "agent {\n  workspace = \"work\"\n}\nplugin \"p\" {\n  enabled = false\n  source = \"./work/p\"\n}", nil, ""},
		{"holds Claude's login", `agent { workspace = "work" }`, map[string]string{"CLAUDE_CONFIG_DIR": "@/work/claude"}, "1:21 agent.workspace must not contain the folder of Claude Code's login, @/work/claude"},
		{"holds Claude's login by claude.env", "agent {\n  workspace = \"work\"\n}\nclaude {\n  env = { CLAUDE_CONFIG_DIR = \"@/work\" }\n}", nil, "2:15 agent.workspace must not contain the folder of Claude Code's login, "},
		{"claude.env goes before the environment", "agent {\n  workspace = \"work\"\n}\nclaude {\n  env = { CLAUDE_CONFIG_DIR = \"@/login\" }\n}", map[string]string{"CLAUDE_CONFIG_DIR": "@/work"}, ""},
		{"Claude's login in the workspace by a relative path", "agent {\n  workspace = \"work\"\n}\nclaude {\n  env = { CLAUDE_CONFIG_DIR = \"login\" }\n}", nil, "2:15 agent.workspace must not contain the folder of Claude Code's login, "},
		{"Claude's login in another home", "agent {\n  workspace = \"work\"\n}\nclaude {\n  env = { HOME = \"@/work\" }\n}", nil, "2:15 agent.workspace must not contain the folder of Claude Code's login, @/work/.claude"},
		{"in Claude's folder", `agent { workspace = "~/.claude/work" }`, nil, "1:21 agent.workspace must not be in the folder of Claude Code's login, "},
		{"a file", `agent { workspace = "config.hcl" }`, nil, "1:21 agent.workspace must be a folder, and @/config.hcl is a file."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "w") // the path of the control socket must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				t.Fatal(err)
			}
			here := func(text string) string { return strings.ReplaceAll(text, "@", dir) }
			path := filepath.Join(dir, "config.hcl")
			if err := os.WriteFile(path, []byte(here(test.text)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{"link": "work", "dangling": "work/not/there", "home-link": "."} {
				if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			_, err = config.Load(path, func(name string) (string, bool) {
				if value, ok := test.env[name]; ok {
					return here(value), true
				}
				return dir, name == "HOME"
			})
			if test.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			var problems config.Problems
			if !errors.As(err, &problems) || len(problems) != 1 {
				t.Fatalf("want one problem, got %v", err)
			}
			p := problems[0]
			if got := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Detail); !strings.HasPrefix(got, here(test.want)) {
				t.Errorf("got  %s\nwant %s", got, here(test.want))
			}
		})
	}
}

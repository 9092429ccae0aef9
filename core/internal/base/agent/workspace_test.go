package agent_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// tree returns what is in a folder, by name: a file's text, or "/" for a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if entry.IsDir() {
			found[name] = "/"
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Behaviour: workspace-new.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, workspace := range map[string]string{"empty": dir, "missing": filepath.Join(t.TempDir(), "a", "b")} {
		if err := agent.Bootstrap(workspace); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := tree(t, workspace)
		for _, file := range []string{"AGENTS.md", "MEMORY.md", "HEARTBEAT.md"} {
			want, err := os.ReadFile(filepath.Join("testdata", file+".golden"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got[file]); diff != "" || len(want) > 4<<10 {
				t.Errorf("%s: %s of %d bytes (-want +got):\n%s", name, file, len(want), diff)
			}
			info, err := os.Stat(filepath.Join(workspace, file))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode()&0o600 != 0o600 || info.Mode()&0o133 != 0 {
				t.Errorf("%s: %s is %s", name, file, info.Mode())
			}
		}
		if got["memory"] != "/" || got["skills"] != "/" || len(got) != 5 {
			t.Errorf("%s: there are %d entries, %v and %v", name, len(got), got["memory"], got["skills"])
		}
		if !agent.HeartbeatEmpty(got["HEARTBEAT.md"]) {
			t.Errorf("%s: HEARTBEAT.md asks for something", name)
		}
		if prompt := agent.NewPrompter(plain(workspace)).Prompt(direct); len(prompt.Problems) > 0 || prompt.Skills != "" {
			t.Errorf("%s: skills %q, problems %v", name, prompt.Skills, prompt.Problems)
		}

		// What is the user's stays so.
		write(t, workspace, "MEMORY.md", "mine")
		if err := os.Remove(filepath.Join(workspace, "AGENTS.md")); err != nil {
			t.Fatal(err)
		}
		before := tree(t, workspace)
		if err := agent.Bootstrap(workspace); err != nil {
			t.Fatalf("%s: again: %v", name, err)
		}
		if diff := cmp.Diff(before, tree(t, workspace)); diff != "" {
			t.Errorf("%s: again: %s", name, diff)
		}
	}

	for _, name := range []string{".hidden", "notes.md", "folder/x"} {
		dir := t.TempDir()
		write(t, dir, name, "")
		before := tree(t, dir)
		if err := agent.Bootstrap(dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Errorf("with %s in it: %s", name, diff)
		}
	}
	if err := agent.Bootstrap(write(t, t.TempDir(), "file", "")); err == nil {
		t.Error("a file is no workspace, and that is no error")
	}
}

// Behaviour: heartbeat-nothing.
func TestHeartbeatEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                                  true,
		" \n\t\r\n":                         true,
		"# Heartbeat\n\n###### Deep\n#\n##": true,
		"\ufeff# Heartbeat":                 true,
		"<!-- a\nb -->\n":                   true,
		"<!-- a --> <!-- b -->":             true,
		"# x\n<!-- never closed\n- do it":   true,
		"-\n*\n+\n- \n1.\n2)\n  -\n":        true,
		"- [ ]\n* [x]\n1. [ ]\n- []":        true,
		"- <!-- an example -->":             true,

		"do it":                      false,
		"# x\n\nlook at the disk":    false,
		"- [ ] look at the disk":     false,
		"- look":                     false,
		"1. look":                    false,
		"#look":                      false,
		"####### seven":              false,
		"<!-- a --> look <!-- b -->": false,
		"<!-- a -->\n- look":         false,
		"<!- look ->":                false,
		"> look":                     false,
		"[ ]x":                       false,
		"--":                         false,
	} {
		if got := agent.HeartbeatEmpty(text); got != want {
			t.Errorf("HeartbeatEmpty(%q) = %v", text, got)
		}
	}
}

package forget

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Behaviour: forget-found.
func TestSearch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &config.Config{StateDir: filepath.Join(dir, "state"), Log: config.Log{File: filepath.Join(dir, "logs", "host.log")}}
	c.Agent.Workspace, c.Agent.Claude.ConfigDir = filepath.Join(dir, "work"), filepath.Join(dir, "claude")
	long := strings.Repeat("x ", pieceBytes/2-3) // a term is between two pieces
	for name, text := range map[string]string{
		"work/notes/a.md": "about 1001, again", "work/notes/b.md": "11001 10011", "work/long.md": long + "José Ann",
		"work/1001.txt": "nothing", "claude/projects/-w/t.jsonl": `{"text":"Jos\u00e9 Ann"}`, "claude/projects/-w/u.jsonl": `{"text":"José  Ann"}`,
		"claude/projects/-w/quoted.jsonl": `{"text":"the \"Boss\""}`, "state/plugins/x/db": "\x00\x00abc1001def", "logs/host.log": "user=1001",
		"logs/host-2026.log": "user=1001", "logs/other.log": "user=1001",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "logs"), filepath.Join(dir, "work", "link")); err != nil {
		t.Fatal(err)
	}
	left, more, err := search(t.Context(), c, []string{"1001", "José Ann", `the "Boss"`, "xy"})
	if err != nil || more {
		t.Fatal(more, err)
	}
	var found []string
	for _, l := range left {
		name, _ := filepath.Rel(dir, l.Path)
		found = append(found, name)
	}
	want := "state/plugins/x/db work/1001.txt work/long.md work/notes/a.md claude/projects/-w/quoted.jsonl claude/projects/-w/t.jsonl logs/host-2026.log logs/host.log"
	if got := strings.Join(found, " "); got != want {
		t.Errorf("found\n%s, want\n%s", got, want)
	}
}

// A host that has done nothing yet has not all folders, such as Claude Code's.
func TestSearchWhereThereIsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &config.Config{StateDir: filepath.Join(dir, "state"), Log: config.Log{File: filepath.Join(dir, "logs", "host.log")}}
	c.Agent.Workspace, c.Agent.Claude.ConfigDir = filepath.Join(dir, "work"), filepath.Join(dir, "claude")
	if left, more, err := search(t.Context(), c, []string{"1001"}); err != nil || more || len(left) > 0 {
		t.Errorf("found %v, %t, %v", left, more, err)
	}
}

package transcript_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// Behaviour: retention.
func TestDiscard(t *testing.T) {
	t.Parallel()
	const ended, other = "0d7c1f9a-6f1e-4a53-8f0e-0a4a4b0c7b11", "5a1de5f2-2b0b-4b7f-9a70-3f4c7f2f9a22"
	config, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{
		"projects/-work/" + ended + ".jsonl", "projects/-work/" + ended + "/subagents/a.jsonl", "projects/-home/" + ended + ".jsonl",
		"file-history/" + ended + "/1", "todos/" + ended + "-agent-" + ended + ".json", "tasks/" + ended + "/1.json",
		"projects/-work/" + other + ".jsonl", "projects/-work/" + ended + "x.jsonl", "file-history/" + other + "/1", ".credentials.json",
		"projects/-work/memory.md",
	} {
		path := filepath.Join(config, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, ended+".jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(config, "projects", "-link")); err != nil {
		t.Fatal(err)
	}
	removed, err := transcript.Discard(t.Context(), config, map[string]bool{ended: true})
	if err != nil || removed != 6 {
		t.Errorf("removed %d, %v; want 6", removed, err)
	}
	var left []string
	err = filepath.WalkDir(config, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			name, _ := filepath.Rel(config, path)
			left = append(left, name)
		}
		return err
	})
	if err != nil || len(left) != 5 {
		t.Errorf("left %q, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(outside, ended+".jsonl")); err != nil {
		t.Errorf("a file outside: %v", err)
	}
	if n, err := transcript.Discard(t.Context(), filepath.Join(config, "none"), map[string]bool{ended: true}); n != 0 || err != nil {
		t.Errorf("without a folder: %d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(config, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made the folder: %v", err)
	}
}

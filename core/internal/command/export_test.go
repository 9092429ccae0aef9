package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestExport(t *testing.T) {
	t.Parallel()
	d := &desk{exports: filepath.Join(t.TempDir(), "exports"), session: store.Session{Key: "telegram:7"}}
	if got, err := d.registry().Run(t.Context(), d.call("/export", chat.Owner)); err != nil || got != "There is nothing to export yet." {
		t.Errorf("%q, %v", got, err)
	}
	for i := range 7 {
		d.entries = append(d.entries, chat.TranscriptEntry{ID: int64(i + 1), Role: chat.User, Text: fmt.Sprintf("message %d", i), At: now.Add(time.Duration(i) * time.Minute)})
	}
	path := filepath.Join(d.exports, "telegram_7-20260315T143000.000Z.jsonl")
	if got, err := d.registry().Run(t.Context(), d.call("/export-session", chat.Owner)); err != nil || got != "Exported 7 messages to `"+path+"` on the host." {
		t.Fatalf("%q, %v", got, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "export", string(text))
	for name, want := range map[string]os.FileMode{path: 0o600, d.exports: 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if got, err := d.registry().Run(t.Context(), d.call("/export", chat.Owner)); err == nil {
		t.Errorf("a second export in the same instant wrote over the first: %q", got)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(text) {
		t.Errorf("the first export is another one now: %v", err)
	}
}

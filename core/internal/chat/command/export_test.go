package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: export.
func TestExport(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.exports = filepath.Join(t.TempDir(), "exports")
		if got, err := textOf(d.registry().Run(t.Context(), d.call("/export", chat.Owner))); err != nil || got != "There is nothing to export yet." {
			t.Errorf("%q, %v", got, err)
		}
		var said []chat.TranscriptEntry
		for i := range 7 {
			at := now.Add(time.Duration(i) * time.Minute)
			said = append(said, chat.TranscriptEntry{Role: chat.User, Text: fmt.Sprintf("message %d", i), At: at})
		}
		d.record(t, "first", said...)
		path := filepath.Join(d.exports, "telegram_7-20260315T143000.000Z.jsonl")
		if got, err := textOf(d.registry().Run(t.Context(), d.call("/export-session", chat.Owner))); err != nil || got != "Exported 7 messages to `"+path+"` on the host." {
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
		if got, err := textOf(d.registry().Run(t.Context(), d.call("/export", chat.Owner))); err == nil {
			t.Errorf("a second export in the same instant wrote over the first: %q", got)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(text) {
			t.Errorf("the first export is another one now: %v", err)
		}
		d.record(t, "many", slices.Repeat(said, 300)...)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		got, err := textOf(d.registry().Run(t.Context(), d.call("/export", chat.Owner)))
		if err != nil || !strings.HasPrefix(got, "Exported 2107 messages") {
			t.Errorf("of many: %q, %v", got, err)
		}
	})
}

// record records what was said in the session.
func (d *hostCommands) record(t *testing.T, id chat.EventID, said ...chat.TranscriptEntry) {
	t.Helper()
	recorded := domain.Passive{EventID: id, Channel: "telegram", Session: "telegram:7", Transcript: said}
	if _, err := d.store.RecordPassive(t.Context(), recorded); err != nil {
		t.Fatal(err)
	}
}

// Exports are never removed, so they are bounded: what does not fit is refused and not left in part.
func TestExportsAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.exports = t.TempDir()
		d.record(t, "first", chat.TranscriptEntry{Role: chat.User, Text: "hello", At: now})
		earlier := filepath.Join(d.exports, "earlier.jsonl")
		for space, want := range map[int64]string{
			100:     "This export does not fit: all exports together may have 1 GB. Remove some from `" + d.exports + "` on the host.",
			1 << 20: "Exported 1 message to `" + filepath.Join(d.exports, "telegram_7-20260315T143000.000Z.jsonl") + "` on the host.",
		} {
			if err := os.WriteFile(earlier, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(earlier, 1<<30-space); err != nil { // a sparse file
				t.Fatal(err)
			}
			if got, err := textOf(d.registry().Run(t.Context(), d.call("/export", chat.Owner))); err != nil || got != want {
				t.Errorf("with %d bytes left: %q, %v", space, got, err)
			}
			left, err := filepath.Glob(filepath.Join(d.exports, "telegram*"))
			if wanted := space > 100; err != nil || (len(left) == 1) != wanted {
				t.Errorf("with %d bytes left there are %v, %v", space, left, err)
			}
			for _, path := range left {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

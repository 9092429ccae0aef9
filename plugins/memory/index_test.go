package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// An index that cannot be used is rebuilt when the plugin starts.
func TestADamagedIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"no database": func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
		},
		"overwritten": func(t *testing.T, path string) {
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			info, err := file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size())-4096), 4096); err != nil {
				t.Fatal(err)
			}
		},
		"another version": func(t *testing.T, path string) { execute(t, path, "PRAGMA user_version = 999") },
		"another schema":  func(t *testing.T, path string) { execute(t, path, "DROP TABLE passages") },
		"another's":       func(t *testing.T, path string) { execute(t, path, "PRAGMA user_version = 0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, nil)
			p.write("MEMORY.md", "The zebra is called Zora.\n")
			if got := p.ask(anna, "the zebra"); !strings.Contains(got, "Zora") {
				t.Fatalf("got %q", got)
			}
			p.Shutdown()
			damage(t, filepath.Join(p.state, "index.db"))
			p.restart(nil)
			if got := p.ask(anna, "the zebra"); !strings.Contains(got, "Zora") {
				t.Errorf("got %q", got)
			}
			if !strings.Contains(p.Logs(), "rebuilding the index") {
				t.Errorf("the log does not tell: %s", p.Logs())
			}
			p.tell(anna.Session, 1, "the aardvark", "is well")
			if got := p.ask(anna, "the aardvark"); !strings.Contains(got, "is well") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// execute changes a database that is not open.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	x := &index{}
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	x.write = db
	defer x.close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// An index that is damaged while the plugin runs ends it: the host starts it again, and the start repairs it.
func TestAnIndexThatIsDamagedInUse(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "The zebra is called Zora.\n")
	p.ask(anna, "the zebra")
	execute(t, filepath.Join(p.state, "index.db"), "DROP TABLE passages")
	if _, err := p.BeforeAgentStart(sdk.AgentStart{Caller: anna, Prompt: "the zebra"}); err == nil {
		t.Fatal("the hook does not fail")
	}
	select {
	case err := <-p.Failed():
		if !strings.Contains(err.Error(), errDamaged.Error()) {
			t.Errorf("the plugin ends by %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the plugin does not end")
	}
	p.restart(nil)
	if got := p.ask(anna, "the zebra"); !strings.Contains(got, "Zora") {
		t.Errorf("got %q", got)
	}
}

// What was said before a restart of the plugin is found after it, also in other forms of its words.
func TestTheVocabularyOutlivesARestart(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.tell(anna.Session, 1, "the crocodile has an appointment", "on Monday")
	p.restart(nil)
	if got := p.ask(anna, "crocodlie"); !strings.Contains(got, "appointment") {
		t.Errorf("got %q", got)
	}
}

// A turn whose context ends is not kept waiting.
func TestRecallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	x := opened(t)
	log := &transcripts{index: x, limit: maxEntries}
	err := log.append(t.Context(), "s", []chat.TranscriptEntry{{ID: 1, Role: chat.User, Text: "the zebra", At: today}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.recall(ctx, view{session: "s"}, "zebra", today, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("recall: %v", err)
	}
	f := newFiles(t.TempDir(), false, x, slog.New(slog.DiscardHandler), time.Now)
	f.turn <- struct{}{} // another process reads the files
	if err := f.sync(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("sync: %v", err)
	}
}

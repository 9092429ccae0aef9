package backup_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/backup"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// cut is a context that ends after some steps of putting an archive into place.
type cut struct {
	context.Context
	state string
	left  *int // steps
}

// Err counts the steps.
func (c cut) Err() error {
	if begun, _ := filepath.Glob(filepath.Join(c.state, "restore-[mp]*")); len(begun) > 0 {
		if *c.left--; *c.left < 0 {
			return context.Canceled
		}
	}
	return c.Context.Err()
}

// A restore that is interrupted between any two of its last steps is completed before a host opens the state, or by the next restore.
// Behaviour: restore-resumes.
func TestInterruptedRestoreIsCompleted(t *testing.T) {
	t.Parallel()
	from := newPlace(t)
	s := from.open(t)
	storetest.Accept(t, s, inbound("1", "one"))
	write(t, filepath.Join(from.state, "media", "test", "picture"), "a new picture")
	write(t, filepath.Join(from.state, "plugins", "test", "file"), "a new file")
	archive := archiveOf(t, from)
	cuts := 0
	for ; ; cuts++ {
		to, left := newPlace(t), cuts
		old := to.open(t)
		storetest.Accept(t, old, inbound("1", "old"))
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to.state, "media", "test", "picture"), "an old picture")
		write(t, filepath.Join(to.state, "exports", "one.jsonl"), "an old export")
		_, err := backup.Restore(cut{t.Context(), to.state, &left}, bytes.NewReader(archive), to.target(true))
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if cuts%2 == 0 {
			err = backup.Resume(t.Context(), to.state)
		} else if _, err = backup.Restore(t.Context(), bytes.NewReader(archive), to.target(false)); errors.As(err, new(*backup.HoldsError)) {
			err = nil // it has completed the first one
		}
		if err != nil {
			t.Fatal(cuts, err)
		}
		if got := read(t, filepath.Join(to.state, "media", "test", "picture")) + read(t, filepath.Join(to.state, "plugins", "test", "file")); got != "a new picturea new file" {
			t.Errorf("cut at %d: %q", cuts, got)
		}
		aside, err := filepath.Glob(to.state + ".before-*")
		if err != nil || len(aside) != 1 {
			t.Fatalf("cut at %d: aside %q, %v", cuts, aside, err)
		}
		if got := read(t, filepath.Join(aside[0], "media", "test", "picture")) + read(t, filepath.Join(aside[0], "exports", "one.jsonl")); got != "an old picturean old export" {
			t.Errorf("cut at %d: aside %q", cuts, got)
		}
		if _, err := os.Stat(filepath.Join(to.state, "exports")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("cut at %d: the old exports: %v", cuts, err)
		}
		if rest, _ := filepath.Glob(filepath.Join(to.state, "restore-*")); len(rest) > 0 {
			t.Errorf("cut at %d: left %q", cuts, rest)
		}
		for path, want := range map[string]string{to.state: "one", aside[0]: "old"} {
			if got := first(t, place{state: path}); got != want {
				t.Errorf("cut at %d: the message in %s is %q, want %q", cuts, strings.TrimPrefix(path, to.state), got, want)
			}
		}
	}
	if cuts < 10 {
		t.Errorf("only %d steps can be interrupted", cuts)
	}
}

// first is the text of the message that waits.
func first(t *testing.T, p place) (text string) {
	t.Helper()
	s := p.open(t)
	defer s.Close()
	if err := s.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(r *domain.Run) { text = r.Head.Message.Text }); err != nil {
		t.Fatal(err)
	}
	return text
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// notebook is a workspace with an index of its own.
type notebook struct {
	*files
	t    *testing.T
	dir  string
	logs *bytes.Buffer
	time time.Time
}

func newNotebook(t *testing.T) *notebook {
	t.Helper()
	w := &notebook{t: t, dir: t.TempDir(), logs: &bytes.Buffer{}, time: today}
	log := slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.files = newFiles(w.dir, false, opened(t), log, func() time.Time { return w.time })
	if err := os.Mkdir(filepath.Join(w.dir, "memory"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// write writes a file as of a time.
func (w *notebook) write(name, text string, at time.Time) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		w.t.Fatal(err)
	}
}

func (w *notebook) read() {
	w.t.Helper()
	if err := w.sync(w.t.Context(), ""); err != nil {
		w.t.Fatal(err)
	}
	same(w.t, w.index)
}

// finds tells which files have a passage with the word.
func (w *notebook) finds(word string) string {
	w.t.Helper()
	best, err := w.index.recall(w.t.Context(), view{session: "s"}, word, today, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	var paths []string
	for _, c := range best {
		paths = append(paths, c.origin.path)
	}
	return strings.Join(paths, " ")
}

// ids are those of a file's passages: they change when it is indexed again.
func (w *notebook) ids(name string) (all string) {
	w.t.Helper()
	row := w.index.read.QueryRowContext(w.t.Context(), "SELECT coalesce(group_concat(id), '') FROM passages WHERE path = ?", name)
	if err := row.Scan(&all); err != nil {
		w.t.Fatal(err)
	}
	return all
}

func TestOnlyChangedFilesAreIndexed(t *testing.T) {
	t.Parallel()
	w := newNotebook(t)
	old := today.Add(-time.Hour)
	w.write("MEMORY.md", "the zebra", old)
	w.write("memory/a.md", "the aardvark", old)
	w.write("memory/b.MD", "the buffalo", old)
	w.write("memory/c.txt", "the crocodile", old)
	w.read()
	for word, want := range map[string]string{"zebra": "MEMORY.md", "aardvark": "memory/a.md", "buffalo": "memory/b.MD", "crocodile": ""} {
		if got := w.finds(word); got != want {
			t.Errorf("%s is in %q, want %q", word, got, want)
		}
	}
	zebra := w.ids("MEMORY.md")

	w.write("MEMORY.md", "the zebra", old.Add(time.Minute)) // touched
	w.write("memory/a.md", "the antelope", old.Add(time.Minute))
	w.time = w.time.Add(time.Hour)
	w.read()
	if got := w.ids("MEMORY.md"); got != zebra {
		t.Errorf("a file that was only touched is indexed again: %s, %s", zebra, got)
	}
	if w.finds("antelope") != "memory/a.md" || w.finds("aardvark") != "" {
		t.Error("a changed file is as it was")
	}

	if err := os.Remove(filepath.Join(w.dir, "memory/a.md")); err != nil {
		t.Fatal(err)
	}
	w.read()
	if got := w.finds("antelope"); got != "" {
		t.Errorf("a deleted file is recalled: %q", got)
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.read()
	if got := w.finds("zebra"); got != "" {
		t.Errorf("a deleted workspace is recalled: %q", got)
	}
}

// A file that is written twice within a tick of the clock keeps its size and time.
func TestAChangeThatDoesNotShow(t *testing.T) {
	t.Parallel()
	w := newNotebook(t)
	young := today.Add(-racy / 2)
	w.write("MEMORY.md", "the zebra", young)
	w.read()
	w.write("MEMORY.md", "the camel", young)
	w.read()
	if w.finds("camel") == "" || w.finds("zebra") != "" {
		t.Error("the second text is not indexed")
	}
	// Once the file is old, its time is enough.
	w.time = today.Add(time.Minute)
	w.read()
	w.write("MEMORY.md", "the llama", young)
	w.read()
	if w.finds("camel") == "" {
		t.Error("a file that looks unchanged was read again")
	}
	// Nor is one whose time is in the future read each time.
	far := today.AddDate(1, 0, 0)
	w.write("memory/far.md", "the otter", far)
	w.read()
	w.write("memory/far.md", "the beast", far)
	w.read()
	if w.finds("otter") == "" {
		t.Error("a file of the future that looks unchanged was read again")
	}
}

func TestFilesThatAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newNotebook(t)
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("the zebra outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(w.dir, "memory", name) }
	for _, err := range []error{
		os.Symlink(outside, in("link.md")),
		os.Symlink("../../secret.md", in("up.md")),
		os.Symlink("loop.md", in("loop.md")),
		os.Mkdir(in("folder.md"), 0o700),
		syscall.Mkfifo(in("pipe.md"), 0o600),
		os.Symlink("plain", in("inner.md")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.write("memory/plain", "the zebra inside", today)
	w.write("memory/binary.md", "the zebra\x00", today)
	w.write("memory/latin.md", "the zebra \xe4", today)
	w.write("memory/huge.md", "the zebra"+strings.Repeat(" ", maxFileSize), today)
	w.write("memory/empty.md", "", today)
	w.read()
	w.read()
	if got := w.finds("zebra"); got != "memory/inner.md" {
		t.Errorf("recalled are %q", got)
	}
	for _, name := range []string{"link", "up", "loop", "folder", "pipe", "binary", "latin", "huge"} {
		if n := strings.Count(w.logs.String(), "file=memory/"+name+".md"); n != 1 {
			t.Errorf("the log tells %d times of %s:\n%s", n, name, w.logs)
		}
	}
	// The folder itself may not lead out either.
	if err := os.RemoveAll(filepath.Join(w.dir, "memory")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(w.dir, "memory")); err != nil {
		t.Fatal(err)
	}
	w.read()
	if got := w.finds("zebra"); got != "" {
		t.Errorf("recalled through a folder that is a link: %q", got)
	}
}

func TestManyFiles(t *testing.T) {
	t.Parallel()
	w := newNotebook(t)
	w.write("MEMORY.md", "the zebra", today)
	for i := range maxFiles + 20 {
		w.write(fmt.Sprintf("memory/%04d.md", i), fmt.Sprintf("note%d", i), today.Add(-time.Hour))
	}
	w.read()
	if _, total := w.index.words.snapshot(); total != maxFiles {
		t.Errorf("%d files are indexed", total)
	}
	if w.finds("zebra") == "" || w.finds(fmt.Sprintf("note%d", maxFiles+19)) == "" || w.finds("note0") != "" {
		t.Error("the newest by name are not those that are kept")
	}
	if !strings.Contains(w.logs.String(), "there are 520 files") {
		t.Errorf("the log does not tell: %s", w.logs)
	}
}

func TestTheDayOfAFile(t *testing.T) {
	t.Parallel()
	w := newNotebook(t)
	changed := time.Date(2026, time.April, 2, 3, 4, 5, 0, time.Local)
	for name, want := range map[string]string{
		"2026-03-01.md": "2026-03-01", "2026-03-01-trip.md": "2026-03-01", "2026-13-01.md": "2026-04-02", "trip.md": "2026-04-02",
	} {
		w.write(name, "x", changed)
		info, err := os.Stat(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := written("memory/"+name, info).Format(time.DateOnly); got != want {
			t.Errorf("%s is of %s, want %s", name, got, want)
		}
	}
}

// A pipe in the place of a folder is left out like any other file, and what else there is remains known.
// Behaviour: workspace-reads.
func TestAPipeForTheFolder(t *testing.T) {
	t.Parallel()
	w := newNotebook(t)
	w.write("MEMORY.md", "the aardvark sleeps", today)
	w.read()
	folder := filepath.Join(w.dir, "memory")
	if err := errors.Join(os.Remove(folder), syscall.Mkfifo(folder, 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- w.sync(t.Context(), "") }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the index waits for the other end of the pipe")
	}
	if got := w.finds("aardvark"); got != "MEMORY.md" || !strings.Contains(w.logs.String(), "not a folder") {
		t.Errorf("found %q; the log: %s", got, w.logs)
	}
}

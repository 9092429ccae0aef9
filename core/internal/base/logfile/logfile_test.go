package logfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/logfile"
)

// The log is appended to a private file and still goes where it went.
// Behaviour: log-file.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "clawhost.log")
	var out bytes.Buffer
	for _, entry := range []string{"one\n", "two\n"} {
		f, err := logfile.Open(path, logfile.Megabyte, 1, &out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(entry)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if string(data) != "one\ntwo\n" || err != nil || out.String() != "one\ntwo\n" {
		t.Errorf("the file has %q, %v; %q was written on", data, err, &out)
	}
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %o", name, info.Mode(), err, want)
		}
	}
}

// A full file is replaced by one that is as private, and the oldest are removed.
// Behaviour: log-file.
func TestFullFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "clawhost.log")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := logfile.Open(path, logfile.Megabyte, 2, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	entry := []byte(strings.Repeat("x", logfile.Megabyte/4-1) + "\n")
	for range 4 * 6 {
		if _, err := f.Write(entry); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() { // old files are removed in the background
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was removed meanwhile
			}
			if err != nil || info.Mode().Perm() != 0o600 || info.Size() > logfile.Megabyte {
				t.Fatalf("%s has %d bytes, %v, %v", e.Name(), info.Size(), info.Mode(), err)
			}
		}
		if len(entries) == 3 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files are left, want 3", len(entries))
		}
	}
}

// Where the file cannot be written, the log still goes where it went, and says so once.
// Behaviour: log-file.
func TestFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, os.DevNull, filepath.Join(dir, "file", "clawhost.log")} {
		if _, err := logfile.Open(path, logfile.Megabyte, 1, nil); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	path, out := filepath.Join(dir, "logs", "clawhost.log"), new(bytes.Buffer)
	f, err := logfile.Open(path, logfile.Megabyte, 1, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.Write([]byte("an entry\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Count(got, "an entry\n") != 2 || strings.Count(got, "cannot be written") != 1 {
		t.Errorf("written on: %q", got)
	}
}

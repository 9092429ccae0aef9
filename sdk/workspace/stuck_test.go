package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A file system that does not answer costs one caller the patience, and the others nothing, until it answers.
func TestAFileSystemThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w, answers := New(filepath.Dir(path)), make(chan struct{})
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = call(w, func() (*os.File, error) { <-answers; return file, nil })
		if took := time.Since(begun); !errors.Is(err, ErrStuck) || took != Patience {
			t.Fatalf("the first call failed with %v after %s", err, took)
		}
		begun = time.Now()
		_, err = w.Open()
		if took := time.Since(begun); !errors.Is(err, ErrStuck) || took != 0 {
			t.Errorf("the next call failed with %v after %s", err, took)
		}
		close(answers)
		synctest.Wait()
		if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the late file is open: %v", err)
		}
		f, err := w.Open()
		if err != nil {
			t.Fatalf("it answers again, and yet: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// While the file system does not answer, a cache returns what it has. It does not keep what was read meanwhile.
func TestACacheOfAFileSystemThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	c, reads := NewCache[int](dir), 0
	read := func(f *Folder) int {
		_, _ = f.Stat(".")
		reads++
		return reads
	}
	get := func(want int, fresh bool, problem error) {
		t.Helper()
		if value, isFresh, err := c.Get(read); value != want || isFresh != fresh || !errors.Is(err, problem) {
			t.Errorf("there is %d, fresh: %t, %v; want %d, %t, %v", value, isFresh, err, want, fresh, problem)
		}
	}
	stuck := func(f *Folder) int {
		c.workspace.stuck.Add(1)
		defer c.workspace.stuck.Add(-1)
		return -read(f)
	}
	if value, fresh, err := c.Get(stuck); value != -1 || !fresh || err != nil {
		t.Errorf("while nothing is kept there is %d, fresh: %t, %v", value, fresh, err)
	}
	get(2, true, nil)
	get(2, false, nil)
	c.workspace.stuck.Add(1)
	get(2, false, ErrStuck)
	c.workspace.stuck.Add(-1)
	if err := os.Chtimes(dir, old, old.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if value, fresh, err := c.Get(stuck); value != 2 || fresh || !errors.Is(err, ErrStuck) {
		t.Errorf("while the reader is stuck there is %d, fresh: %t, %v", value, fresh, err)
	}
	get(4, true, nil)
}

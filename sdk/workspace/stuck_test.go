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

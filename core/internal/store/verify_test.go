package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "state", File)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = Verify(t.Context(), path)
	if locked, ok := errors.AsType[*sqlite.LockedError](err); !ok || !strings.HasPrefix(err.Error(), "another clawhost ") || runtime.GOOS == "linux" && locked.PID != os.Getpid() {
		t.Errorf("a database that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), path); err != nil {
		t.Errorf("a whole database: %v", err)
	}
	unfinished := filepath.Join(t.TempDir(), File)
	if err := sqlite.Snapshot(t.Context(), path, unfinished); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Edit(t.Context(), unfinished, func(t *engine.Tx) error {
		_, err := t.Exec("DELETE FROM store")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), unfinished); !errors.Is(err, engine.ErrUnfinished) {
		t.Errorf("an unfinished copy: %v", err)
	}
	if err := sqlite.Edit(t.Context(), path, func(t *engine.Tx) error {
		_, err := t.Exec("INSERT INTO schema_version (version) VALUES (9999)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), path); !errors.Is(err, engine.ErrNewer) {
		t.Errorf("a database of a newer version: %v", err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), path); err == nil || !strings.Contains(err.Error(), "does not read as it was written") {
		t.Errorf("a damaged database: %v", err)
	}
}

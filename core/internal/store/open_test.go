package store_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver named "sqlite", with which tests look at databases alongside the store

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
)

func TestDatabaseBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	b := setup(t)
	_, err := store.Open(b.ctx, b.path, store.Options{})
	if err == nil || !strings.Contains(err.Error(), ") uses "+b.path) {
		t.Fatalf("a second Open: %v", err)
	}
	if a := b.accept(t, inbound("anna", 1)); a.Seq != 1 {
		t.Errorf("the first store after it: %+v", a)
	}
	b.reopen(t)
}

// Whoever copies the one file of a host that has ended must have all of it.
func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	if _, err := b.Session(b.ctx, "telegram:anna"); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(b.path + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", suffix, err)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	dir := filepath.Join(t.TempDir(), "a", "state dir?#%41") // what a URI would take apart
	path := filepath.Join(dir, "clawhost.db")
	open := func() {
		t.Helper()
		s, err := store.Open(t.Context(), path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if _, err := s.Accept(t.Context(), inbound("anna", 1)); err != nil {
			t.Fatal(err)
		}
		want := map[string]fs.FileMode{".": 0o700, "clawhost.db": 0o600, "clawhost.db-wal": 0o600, "clawhost.db-shm": 0o600, "clawhost.db.lock": 0o600}
		for name, mode := range want {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
			} else if info.Mode().Perm() != mode {
				t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
			}
		}
	}
	open()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open()
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	b := setup(t)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, b.path)
	if _, err := db.Exec("UPDATE schema_version SET version = version + 1"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(b.ctx, b.path, store.Options{})
	if err == nil || !strings.Contains(err.Error(), "newer clawhost") {
		t.Fatalf("open: %v", err)
	}
	if _, err := db.Exec("UPDATE schema_version SET version = version - 1"); err != nil {
		t.Fatal(err)
	}
	b.open(t) // the refusal let go of the lock
}

func TestWhatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	text := strings.Repeat("not a database. ", 100)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), path, store.Options{}); err == nil {
		t.Fatal("opened")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := b.Accept(b.ctx, inbound("anna", 1)); err == nil {
		t.Error("accepted by a closed store")
	}
	if _, err := b.Session(b.ctx, "x"); err == nil || errors.Is(err, domain.ErrNotFound) {
		t.Errorf("read from a closed store: %v", err)
	}
}

func TestEndedContextDropsTheStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.Accept(ctx, inbound("anna", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("accept: %v", err)
	}
	b.idle(t)
}

// raw opens a database without its store, to look at it or to spoil it.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := store.Raw(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// The folder is locked as well as the file in it, which may be removed.
func TestOpenWithoutItsLockFile(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	second, err := store.Open(t.Context(), path, store.Options{})
	if err == nil {
		_ = second.Close()
		t.Fatal("a second host opens the database of a live one")
	}
	if !strings.Contains(err.Error(), "another clawhost (process ") {
		t.Errorf("a second host is refused by %q", err)
	}
}

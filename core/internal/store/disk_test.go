package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/store"
)

// A database that a failed disk has left unreadable is said to be that, not only "malformed (11)".
func TestADamagedDatabaseIsExplained(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		in := inbound("anna", n)
		in.Message.Text = strings.Repeat("x", 2000)
		if _, err := s.Accept(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
	damage(t, path)
	s, err = store.Open(t.Context(), path, store.Options{})
	if err == nil {
		_, err = s.Accept(t.Context(), inbound("anna", 1000))
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "mostly because the disk failed") {
		t.Errorf("got %v", err)
	}
}

// whole brings all that was written into the database's own file.
func whole(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
}

// damage overwrites all pages but the first.
func damage(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const page = 4096
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size())-page)), page); err != nil {
		t.Fatal(err)
	}
}

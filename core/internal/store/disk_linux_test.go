package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/store"
)

// sound opens a database, whose integrity must be whole, and returns how many messages wait in it.
func sound(t *testing.T, path string) (waiting int) {
	t.Helper()
	db := raw(t, path)
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity: %q, %v", verdict, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM inbox").Scan(&waiting); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return waiting
}

// TestAFullDisk: what cannot be written is not accepted, what was accepted stays, and once there is space the store continues.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700")
	if errors.Is(err, os.ErrPermission) {
		t.Skip("only root may mount a small file system")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil { // also while the store is open, where the test has failed
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "clawhost.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const before = 3
	for n := range before {
		if _, err := s.Accept(t.Context(), inbound("anna", n)); err != nil {
			t.Fatal(err)
		}
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, bytes.Repeat([]byte("x"), 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	accepted, n := before, before
	for ; n < before+50; n++ { // The log still has some space of its own.
		switch _, err := s.Accept(t.Context(), inbound("anna", n)); {
		case err == nil:
			accepted++
		case !errors.Is(err, syscall.ENOSPC): // as it is for a file
			t.Fatalf("on a full disk: %v", err)
		}
	}
	if accepted == n {
		t.Fatal("a full disk takes everything")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), inbound("anna", n)); err != nil {
		t.Errorf("there is space again: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if waiting := sound(t, path); waiting != accepted+1 {
		t.Errorf("%d messages are there, %d were accepted", waiting, accepted+1)
	}
}

// TestACopyMadeMeanwhile: SQLite's own means copy a database whole while the host writes to it.
func TestACopyMadeMeanwhile(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	b := setup(t)
	var writing sync.WaitGroup
	stop, accepted := make(chan struct{}), 0
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := b.Accept(b.ctx, inbound("anna", accepted)); err != nil {
				t.Error(err)
				return
			}
			accepted++
		}
	})
	db, before := raw(t, b.path), 0
	for n := range 5 {
		copied := filepath.Join(t.TempDir(), "copy.db")
		if _, err := db.Exec("VACUUM INTO ?", copied); err != nil {
			t.Fatal(err)
		}
		waiting := sound(t, copied)
		if waiting < before {
			t.Errorf("copy %d has %d messages, fewer than the one before (%d)", n, waiting, before)
		}
		before = waiting
		s, err := store.Open(b.ctx, copied, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writing.Wait()
	if before > accepted {
		t.Errorf("a copy has %d messages, %d were accepted", before, accepted)
	}
}

// Package storetest opens stores for tests of other packages, looks into their outboxes, and spoils their files.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
)

// empty is the file of a new store. To make one takes a second under the race detector.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "clawhost.db")
	s, err := store.Open(context.Background(), path, store.Options{}) // it is for all tests
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Open returns an empty store, which is closed when the test ends.
func Open(t testing.TB) *store.Store {
	t.Helper()
	return OpenWith(t, store.Options{})
}

// OpenWith is [Open] with settings.
func OpenWith(t testing.TB, options store.Options) *store.Store {
	t.Helper()
	file, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "clawhost.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// MakeNewer makes the database at path one of a newer version of the host.
func MakeNewer(path string) (err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return sqlitex.ExecuteTransient(conn, "INSERT INTO schema_version (version) VALUES (9999)", nil)
}

// Sent delivers what is due on a channel and returns it, in order for each chat.
func Sent(t testing.TB, s *store.Store, channel string) (sent []domain.OutboxItem) {
	t.Helper()
	for {
		due, err := s.DeliveriesDue(t.Context(), channel)
		if err != nil {
			t.Fatal(err)
		}
		if !due {
			return sent
		}
		list, err := s.ClaimDeliveries(t.Context(), channel, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if err := s.Delivered(t.Context(), d.ID, nil); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, d.Item)
		}
	}
}

// Texts delivers what is due on a channel and returns its texts.
func Texts(t testing.TB, s *store.Store, channel string) (texts []string) {
	t.Helper()
	for _, item := range Sent(t, s, channel) {
		texts = append(texts, item.Text)
	}
	return texts
}

// Accept puts a message into a session's lane.
func Accept(t testing.TB, s *store.Store, in domain.Inbound) {
	t.Helper()
	if _, err := s.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/google/go-cmp/cmp"
)

// The schema is the same in SQLite and in PostgreSQL, however each has come to it.
func TestSchemasAreTheSame(t *testing.T) {
	t.Parallel()
	if os.Getenv(inPostgres) == "" {
		t.Skip("it is compared where the tests run in PostgreSQL")
	}
	inSQLite, err := Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inSQLite.Close() }()
	inServer := openTest(t)
	want, number, err := inSQLite.db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, also, err := inServer.db.Tables(t.Context())
	if err != nil || number != also {
		t.Fatalf("schema %d in SQLite, %d in PostgreSQL, %v", number, also, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-SQLite +PostgreSQL):\n%s", diff)
	}
	indexes := func(s *Store, query string) (names []string) {
		t.Helper()
		if err := s.db.View(t.Context()).Each(query, nil, func(r engine.Rows) error {
			var name string
			defer func() { names = append(names, name) }()
			return r.Scan(&name)
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		return names
	}
	// Those of keys have no name of ours.
	named := indexes(inSQLite, `SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if diff := cmp.Diff(named, indexes(inServer, `SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		JOIN pg_class c ON c.oid = x.indrelid WHERE c.relnamespace = current_schema()::regnamespace AND NOT EXISTS
			(SELECT 1 FROM pg_constraint k WHERE k.conindid = i.oid)`)); diff != "" {
		t.Errorf("indexes (-SQLite +PostgreSQL):\n%s", diff)
	}
}

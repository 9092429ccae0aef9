package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"
)

// keepingStatements is a database with the numbers 1, 2 and 3, and one connection to it.
func keepingStatements(t *testing.T) (*sql.DB, statements) {
	t.Helper()
	source := statements{&sqlite.Driver{}, "file:" + filepath.Join(t.TempDir(), "test.db")}
	db := sql.OpenDB(source)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE numbers (n INTEGER PRIMARY KEY); INSERT INTO numbers VALUES (1), (2), (3)`); err != nil {
		t.Fatal(err)
	}
	return db, source
}

// TestStatementsAreKept by each connection, up to a number.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	_, source := keepingStatements(t)
	c, err := source.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := c.(*keeping)
	for n := range 3 * maxStatements {
		s, err := k.PrepareContext(t.Context(), fmt.Sprintf("SELECT n FROM numbers WHERE n = %d", n/2%(2*maxStatements)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := k.PrepareContext(t.Context(), "SELECT n FROM numbers WHERE n = 0")
	if len(k.kept) != maxStatements || first != k.kept["SELECT n FROM numbers WHERE n = 0"] {
		t.Errorf("%d statements are kept", len(k.kept))
	}
	if again, err := k.PrepareContext(t.Context(), "SELECT n FROM numbers WHERE n = 0"); err != nil || again == first {
		t.Errorf("a statement is used twice at the same time: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestKeptStatementsAreAsNew whatever happened to them before.
func TestKeptStatementsAreAsNew(t *testing.T) {
	t.Parallel()
	db, _ := keepingStatements(t)
	const query = `SELECT * FROM numbers WHERE n >= ? ORDER BY n`
	read := func(rows *sql.Rows, err error) (got []int) {
		t.Helper()
		for err == nil && rows.Next() {
			var n int
			err = rows.Scan(&n)
			got = append(got, n)
		}
		if err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
		return got
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	outer, err := tx.Query(query, 1)
	if err != nil || !outer.Next() {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2, 3}, read(tx.Query(query, 2))); diff != "" {
		t.Errorf("beside itself (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 3}, read(outer, nil)); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
	left, err := tx.Query(query, 1)
	if err != nil || !left.Next() {
		t.Fatal(err)
	}
	if err := left.Close(); err != nil { // Before its end.
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := db.Exec(`INSERT INTO numbers VALUES (?)`, 1); err == nil {
			t.Error("a number is there twice")
		}
		if diff := cmp.Diff([]int{3}, read(db.Query(query, 3))); diff != "" {
			t.Errorf("after a failure (-want +got):\n%s", diff)
		}
	}
	if _, err := db.Exec(`ALTER TABLE numbers ADD COLUMN name TEXT`); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(query, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if columns, err := rows.Columns(); err != nil || len(columns) != 2 {
		t.Errorf("after a change of the table there are the columns %q, %v", columns, err)
	}
}

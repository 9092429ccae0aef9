package storetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Row is a row of a table: its values by column, as text.
type Row map[string]string

// Rows returns all rows of the database at path, by table. It does not migrate it, and a host may use it meanwhile.
func Rows(t testing.TB, path string) map[string][]Row {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	conn.SetBusyTimeout(10 * time.Second)
	all := map[string][]Row{}
	for _, table := range tables(t, conn) {
		all[table] = []Row{}
		err := sqlitex.ExecuteTransient(conn, fmt.Sprintf("SELECT * FROM %q", table), &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			row := Row{}
			for i := range stmt.ColumnCount() {
				row[stmt.ColumnName(i)] = stmt.ColumnText(i)
			}
			all[table] = append(all[table], row)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func tables(t testing.TB, conn *sqlite.Conn) (names []string) {
	t.Helper()
	err := sqlitex.ExecuteTransient(conn, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			names = append(names, stmt.ColumnText(0))
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var timeColumn = lazyregexp.New(`^(at|.*_(at|until))$`)

// Later moves all times in the columns of the database at path by so much, so that what was recorded long ago has not expired. The file
// and its log stay apart, as after a kill.
func Later(t testing.TB, path string, by time.Duration) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	run := func(query string) {
		t.Helper()
		if err := sqlitex.ExecuteTransient(conn, query, nil); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	run("PRAGMA wal_autocheckpoint = 0")
	run("BEGIN")
	for _, table := range tables(t, conn) {
		var columns []string
		err := sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA table_info(%q)", table), &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if name := stmt.GetText("name"); timeColumn().MatchString(name) {
				columns = append(columns, name)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range columns {
			run(fmt.Sprintf("UPDATE %q SET %q = %q + %d WHERE %q > 0", table, column, column, by.Milliseconds(), column))
		}
	}
	run("COMMIT")
	// The last connection that is closed moves the log into the file, so the files are put back as they are before that.
	files := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		if files[suffix], err = os.ReadFile(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(path+suffix, files[suffix], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

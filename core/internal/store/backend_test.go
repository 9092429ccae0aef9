package store

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // as "pgx", for tests that look into a database

	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
)

// inPostgres is the variable that has the tests keep their stores in PostgreSQL.
const inPostgres = "CLAWHOST_TEST_POSTGRES"

// The steps of the store do the same in PostgreSQL: all tests run again there, the short ones, but for those of SQLite's files.
func TestStoreInPostgreSQL(t *testing.T) {
	t.Parallel()
	if os.Getenv(inPostgres) != "" {
		t.Skip("this is that run")
	}
	postgrestest.Shared(t) // skips the test where there is none
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=0", "-test.parallel=4")
	cmd.Env = append(os.Environ(), inPostgres+"=yes", "CLAWHOST_LONG=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// SQLiteOnly skips a test of files where stores are kept in PostgreSQL.
func SQLiteOnly(t testing.TB) {
	t.Helper()
	if os.Getenv(inPostgres) != "" {
		t.Skip("it is about SQLite")
	}
}

// databases are the DSNs of the stores of tests in PostgreSQL, by the paths that they would have in SQLite.
var databases sync.Map

// Prepare makes the database of a store at a path, if the tests keep theirs in PostgreSQL, and reports whether they do.
func Prepare(t testing.TB, path string) bool {
	t.Helper()
	if os.Getenv(inPostgres) == "" {
		return DSN(path) != ""
	}
	PrepareServer(t, path)
	return true
}

// PrepareServer makes the database of a store at a path in PostgreSQL, where several hosts use it.
func PrepareServer(t testing.TB, path string) {
	t.Helper()
	if _, made := databases.Load(path); !made {
		databases.Store(path, postgrestest.Shared(t).DatabaseFor(t, "store", func(dsn string) error {
			s, err := OpenServer(context.Background(), dsn, Options{})
			if err != nil {
				return err
			}
			return s.Close()
		}, empty))
	}
}

// DSN is that of the database of a store at a path, if the tests keep theirs in PostgreSQL.
func DSN(path string) string {
	dsn, _ := databases.Load(path)
	text, _ := dsn.(string)
	return text
}

// OpenTest opens the store of a test at a path, wherever the tests keep theirs.
func OpenTest(ctx context.Context, path string, opts Options) (*Store, error) {
	if dsn := DSN(path); dsn != "" {
		return OpenServer(ctx, dsn, opts)
	}
	return Open(ctx, path, opts)
}

// Raw opens a database without its store, to look at it or to spoil it.
func Raw(path string) (*sql.DB, error) {
	if dsn := DSN(path); dsn != "" {
		return sql.Open("pgx", dsn)
	}
	return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
}

// Empty makes the database of a store at a path, which is not open, as a new one, if it is kept in PostgreSQL.
func Empty(path string) error { return empty(DSN(path)) }

func empty(dsn string) error {
	ctx := context.Background() // a test that ends calls it
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var tables string
	if err := conn.QueryRow(ctx, `SELECT string_agg(quote_ident(table_name), ', ') FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_name NOT IN ('store', 'schema_version')`).Scan(&tables); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `TRUNCATE `+tables+` RESTART IDENTITY; UPDATE store SET uncertain = 0, state_revision = 0`, pgx.QueryExecModeSimpleProtocol)
	return err
}

// RawServer opens a database of PostgreSQL without its store.
func RawServer(dsn string) (*sql.DB, error) { return sql.Open("pgx", dsn) }

package postgrestest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Each test has an empty database of its own, which ends with it.
func TestDatabase(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	var first string
	t.Run("a test", func(t *testing.T) {
		first = s.Database(t)
		a, b := connect(t, first), connect(t, s.Database(t))
		do(t, a, "CREATE TABLE things (n INT)")
		do(t, b, "CREATE TABLE things (n INT)", "INSERT INTO things VALUES (1)")
		if n := ask[int](t, a, "SELECT count(*) FROM things"); n != 0 {
			t.Errorf("a table has %d rows of another database", n)
		}
		if ask[bool](t, a, "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user") {
			t.Error("the role may do more than to own a database")
		}
	})
	_, err := pgx.Connect(t.Context(), first)
	if unknown := (*pgconn.PgError)(nil); !errors.As(err, &unknown) || unknown.Code != "3D000" {
		t.Errorf("after the test: %v, want that there is no such database", err)
	}
}

// A database that was used before is as a new one, and no two tests have the same at a time.
func TestDatabaseFor(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	run := func(statement string) func(dsn string) error {
		return func(dsn string) error {
			conn, err := pgx.Connect(context.Background(), dsn)
			if err != nil {
				return err
			}
			_, err = conn.Exec(context.Background(), statement)
			return errors.Join(err, conn.Close(context.Background()))
		}
	}
	var seen sync.Map
	t.Run("tests", func(t *testing.T) {
		for range 4 {
			t.Run("", func(t *testing.T) {
				dsn := s.DatabaseFor(t, "things", run("CREATE TABLE things (n INT); INSERT INTO things VALUES (7)"), run("DELETE FROM things WHERE n != 7"))
				seen.Store(dsn, true)
				other := s.DatabaseFor(t, "things", run("CREATE TABLE things (n INT); INSERT INTO things VALUES (7)"), run("DELETE FROM things WHERE n != 7"))
				seen.Store(other, true)
				if other == dsn {
					t.Error("it is another test's")
				}
				conn := connect(t, dsn)
				if got := ask[string](t, conn, "SELECT string_agg(n::text, ' ') FROM things"); got != "7" {
					t.Errorf("it has %q", got)
				}
				do(t, conn, "INSERT INTO things VALUES (8)")
			})
		}
	})
	created := 0
	seen.Range(func(any, any) bool {
		created++
		return true
	})
	if created != 2 {
		t.Errorf("%d databases were created", created)
	}
}

// Texts are sorted as on most servers, so that a test sees what relies on the order of bytes.
func TestOrderOfTexts(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	if s.installation.version < 15 {
		t.Skip("PostgreSQL before 15 sorts as the system's locale does")
	}
	const query = "SELECT string_agg(word, ' ' ORDER BY word) FROM (VALUES ('b'), ('B'), ('a'), ('C')) AS words (word)"
	if got := ask[string](t, connect(t, s.Database(t)), query); got != "a b B C" {
		t.Errorf("sorted: %s", got)
	}
}

// A failed test shows what the server has logged since it began, and a passed one does not.
func TestLogOfAFailedTest(t *testing.T) {
	t.Parallel()
	s := Start(t)
	conn := connect(t, s.Database(t))
	_, _ = conn.Exec(t.Context(), "SELECT 'earlier' / 0")
	for _, fails := range []bool{false, true} {
		fake := &fakeTest{TB: t, fails: fails}
		s.explain(fake)
		_, _ = conn.Exec(t.Context(), "SELECT broken")
		fake.end()
		if got := strings.Contains(fake.log, "SELECT broken"); got != fails || strings.Contains(fake.log, "earlier") {
			t.Errorf("a test that fails: %t, shows %q", fails, fake.log)
		}
	}
}

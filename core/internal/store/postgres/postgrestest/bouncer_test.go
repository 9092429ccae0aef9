package postgrestest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// PgBouncer passes queries on, and gives the transactions of one connection to different connections of the server.
func TestBouncer(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	direct := s.Database(t)
	dsn := s.Bouncer(t, direct, 0)
	config, err := pgx.ParseConfig(dsn)
	check(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // without named statements
	pooled := func() *pgx.Conn {
		conn, err := pgx.ConnectConfig(t.Context(), config)
		check(t, err)
		t.Cleanup(func() { _ = conn.PgConn().Conn().Close() })
		return conn
	}
	a, b := pooled(), pooled()
	do(t, a, "CREATE TABLE things (n INT)", "INSERT INTO things VALUES (5)")
	if n := ask[int](t, connect(t, direct), "SELECT n FROM things"); n != 5 {
		t.Errorf("the database has %d", n)
	}
	pid := ask[int](t, a, "SELECT pg_backend_pid()")
	do(t, b, "BEGIN")
	if got := ask[int](t, b, "SELECT pg_backend_pid()"); got != pid {
		t.Errorf("a free connection of the server is not used: %d, %d", got, pid)
	}
	if got := ask[int](t, a, "SELECT pg_backend_pid()"); got == pid {
		t.Error("two transactions have the same connection of the server")
	}
}

package postgrestest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestProxyCut(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	p := NewProxy(t, s)
	dsn := p.DSN(s.Database(t))
	conn := connect(t, dsn)
	do(t, conn, "SELECT 1")
	p.Cut()
	failed := make(chan error, 1)
	go func() { failed <- conn.Ping(t.Context()) }()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a cut connection answers")
		}
	case <-time.After(patience):
		t.Fatal("a cut connection stays open")
	}
	if _, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Error("a cut network connects")
	}
	p.Heal()
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a connection that was cut answers")
	}
	do(t, connect(t, dsn), "SELECT 1")
}

// A black hole holds everything back, also a new connection and that one was closed, until the network heals.
func TestProxyBlackHole(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	p := NewProxy(t, s)
	dsn := s.Database(t)
	direct, conn, closed := connect(t, dsn), connect(t, p.DSN(dsn)), connect(t, p.DSN(dsn))
	do(t, direct, "CREATE TABLE things (n INT)")
	pid := ask[int](t, closed, "SELECT pg_backend_pid()")
	serves := func() bool {
		return ask[bool](t, direct, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", pid)
	}

	p.BlackHole()
	inserted, connected := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "INSERT INTO things VALUES (1)")
		inserted <- err
	}()
	go func() {
		other, err := pgx.Connect(t.Context(), p.DSN(dsn))
		if err == nil {
			err = other.Close(t.Context())
		}
		connected <- err
	}()
	_ = closed.PgConn().Conn().Close()
	hears(t, inserted, false)
	hears(t, connected, false)
	if n := ask[int](t, direct, "SELECT count(*) FROM things"); n != 0 {
		t.Error("the black hole passed on a statement")
	}
	if !serves() {
		t.Error("the server knows that a connection was closed")
	}
	p.Heal()
	hears(t, inserted, true)
	hears(t, connected, true)
	if n := ask[int](t, direct, "SELECT count(*) FROM things"); n != 1 {
		t.Errorf("%d rows were inserted", n)
	}
	check(t, until("the server knows that the connection was closed", func() (bool, error) { return !serves(), nil }))
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	p := NewProxy(t, s)
	conn := connect(t, p.DSN(s.Database(t)))
	p.Delay(time.Hour)
	answer := make(chan error, 1)
	go func() { answer <- conn.Ping(t.Context()) }()
	hears(t, answer, false)
	p.Delay(10 * time.Millisecond)
	hears(t, answer, true)
}

// The end of a test ends what its proxy holds back.
func TestProxyEndsWithItsTest(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	answer := make(chan error, 1)
	t.Run("a test", func(t *testing.T) {
		dsn := s.Database(t) // outlives the proxy
		p := NewProxy(t, s)
		conn, err := pgx.Connect(t.Context(), p.DSN(dsn))
		check(t, err)
		p.BlackHole()
		go func() { answer <- conn.Ping(context.Background()) }() // until the network is cut
		hears(t, answer, false)
	})
	if err := <-answer; err == nil {
		t.Error("the server answered")
	}
}

package postgrestest

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// What was committed is there after an orderly restart and after a kill, at the same DSN; what was not is not.
func TestCommittedDataSurvives(t *testing.T) {
	t.Parallel()
	s := Start(t, "fsync=on")
	dsn := s.Database(t)
	conn := connect(t, dsn)
	if got := ask[string](t, conn, "SHOW fsync"); got != "on" {
		t.Fatalf("fsync is %s", got)
	}
	do(t, conn, "CREATE TABLE things (n INT)", "INSERT INTO things VALUES (1)")
	s.Stop(t)
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
	if _, err := pgx.Connect(t.Context(), s.TCP(dsn)); err == nil {
		t.Error("a stopped server accepts connections")
	}
	s.Start(t)

	conn, other := connect(t, dsn), connect(t, dsn)
	do(t, conn, "INSERT INTO things VALUES (2)")
	do(t, other, "BEGIN", "INSERT INTO things VALUES (3)")
	s.Kill(t)
	if pids, err := workers(s.data()); err != nil || len(pids) > 0 {
		t.Errorf("the killed server has the processes %d, %v", pids, err)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	s.Start(t)
	if got := ask[string](t, connect(t, dsn), "SELECT string_agg(n::text, ' ' ORDER BY n) FROM things"); got != "1 2" {
		t.Errorf("after the kill there is %q", got)
	}
	if log := s.log(0); !strings.Contains(log, "automatic recovery in progress") {
		t.Errorf("the server did not recover:\n%s", log)
	}
}

// A port that somebody else has taken is seen, so that another one is tried.
func TestPortIsTaken(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Stop(t)
	s.port = Shared(t).port
	if err := s.run(); err == nil || !strings.Contains(err.Error(), portBusy) {
		t.Errorf("at a port that is taken: %v", err)
	}
}

// A paused server does not answer, and answers when it goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	s := Start(t)
	conn := connect(t, s.Database(t))
	s.Pause(t)
	answer := make(chan error, 1)
	go func() { answer <- conn.Ping(t.Context()) }()
	hears(t, answer, false)
	s.Resume(t)
	hears(t, answer, true)
}

// hears waits for an answer, which comes or does not come.
func hears(t *testing.T, answer <-chan error, comes bool) {
	t.Helper()
	limit := patience
	if !comes {
		limit = 100 * time.Millisecond
	}
	select {
	case err := <-answer:
		if !comes || err != nil {
			t.Fatalf("the server answered: %v", err)
		}
	case <-time.After(limit):
		if comes {
			t.Fatalf("the server did not answer in %v", limit)
		}
	}
}

// Nobody gets in by TCP without the password, not even the administrator, and others cannot enter the socket's folder.
func TestNobodyElseGetsIn(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	dsn := s.Database(t)
	if got := ask[string](t, connect(t, s.TCP(dsn)), "SELECT current_user"); got != role {
		t.Errorf("by TCP the role is %s", got)
	}
	for _, as := range []*url.Userinfo{url.UserPassword(role, "wrong"), url.User(role), url.User("admin"), url.UserPassword("admin", s.password)} {
		u, err := url.Parse(s.TCP(dsn))
		if err != nil {
			t.Fatal(err)
		}
		u.User = as
		if conn, err := pgx.Connect(t.Context(), u.String()); err == nil {
			_ = conn.Close(t.Context())
			t.Errorf("%s got in", as.Username())
		}
	}
	for _, dir := range []string{s.installation.dir, s.dir} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has the mode %v", dir, info.Mode())
		}
	}
}

// The tests of a binary share one server, which none of them can take from the others.
func TestShared(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	if Shared(t) != s {
		t.Error("there are two shared servers")
	}
	for name, end := range map[string]func(testing.TB){"Kill": s.Kill, "Stop": s.Stop, "Pause": s.Pause, "Resume": s.Resume, "Start": s.Start} {
		fake := &fakeTest{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			end(fake)
		}()
		<-ended
		if fake.fatal == "" {
			t.Errorf("%s is allowed", name)
		}
	}
	if err := connect(t, s.Database(t)).Ping(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

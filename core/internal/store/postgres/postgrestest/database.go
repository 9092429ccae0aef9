package postgrestest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// kept are the databases that no test uses, by their purpose.
type kept struct {
	mu   sync.Mutex
	free map[string][]string
}

func (k *kept) take(purpose string) (name string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	free := k.free[purpose]
	if len(free) == 0 {
		return "", false
	}
	k.free[purpose] = free[1:]
	return free[0], true
}

func (k *kept) give(purpose, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.free == nil {
		k.free = map[string][]string{}
	}
	k.free[purpose] = append(k.free[purpose], name)
}

// Database creates an empty database, and drops it when the test ends. The DSN is that of a role that owns it and is no superuser; it
// leads to the Unix socket, so that connecting is fast.
func (s *Server) Database(t testing.TB) (dsn string) {
	t.Helper()
	name, err := s.create(t.Context(), "template0")
	check(t, err)
	if s.shared {
		s.explain(t)
	}
	t.Cleanup(func() {
		if s.paused {
			s.Resume(t)
		}
		if !s.running() {
			return // the database ends with the server
		}
		if err := s.sql(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.dsn(role, name)
}

// DatabaseFor returns a database of a purpose, which tests before may have used: to create one writes 16 MB. Prepare makes a new one ready;
// empty does so with one that a test has used, when the test ends. Both have closed their connections when they return.
func (s *Server) DatabaseFor(t testing.TB, purpose string, prepare, empty func(dsn string) error) (dsn string) {
	t.Helper()
	name, used := s.kept.take(purpose)
	if !used {
		var err error
		name, err = s.create(t.Context(), "template0")
		check(t, err)
		check(t, prepare(s.dsn(role, name)))
	}
	if s.shared {
		s.explain(t)
	}
	t.Cleanup(func() {
		if !s.running() {
			return // the database ends with the server
		}
		if err := empty(s.dsn(role, name)); err != nil {
			t.Errorf("empty a database: %v", err)
			return
		}
		s.kept.give(purpose, name)
	})
	return s.dsn(role, name)
}

func (s *Server) create(ctx context.Context, template string) (name string, err error) {
	name = fmt.Sprintf("test%d", s.databases.Add(1))
	return name, s.sql(ctx, "CREATE DATABASE "+name+" OWNER "+role+" TEMPLATE "+template)
}

// dsn leads to the Unix socket.
func (s *Server) dsn(user, database string) string { return socketDSN(s.dir, s.port, user, database) }

func socketDSN(dir string, port int, user, database string) string {
	query := url.Values{"host": {dir}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database, RawQuery: query.Encode()}).String()
}

// TCP returns the DSN of the same database by TCP, with the password.
func (s *Server) TCP(dsn string) string { return s.tcp(dsn, s.port) }

func (s *Server) tcp(dsn string, port int) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // which pgx refuses
	}
	u.Host, u.User = net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), url.UserPassword(role, s.password)
	query := u.Query()
	query.Del("host")
	query.Del("port")
	u.RawQuery = query.Encode()
	return u.String()
}

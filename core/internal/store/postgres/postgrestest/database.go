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

// templates are the databases that are copied, by name.
type templates struct {
	mu   sync.Mutex
	made map[string]func() (string, error)
}

// Database creates an empty database, and drops it when the test ends. The DSN is that of a role that owns it and is no superuser; it
// leads to the Unix socket, so that connecting is fast.
func (s *Server) Database(t testing.TB) (dsn string) {
	t.Helper()
	return s.copy(t, "template0")
}

// DatabaseFrom creates a copy of a database, and drops it when the test ends. The first caller with this name prepares the original,
// and must have closed its connections when prepare returns.
func (s *Server) DatabaseFrom(t testing.TB, name string, prepare func(dsn string) error) (dsn string) {
	t.Helper()
	s.templates.mu.Lock()
	made := s.templates.made[name]
	if made == nil {
		made = sync.OnceValues(func() (string, error) { return s.template(prepare) })
		if s.templates.made == nil {
			s.templates.made = map[string]func() (string, error){}
		}
		s.templates.made[name] = made
	}
	s.templates.mu.Unlock()
	template, err := made()
	check(t, err)
	return s.copy(t, template)
}

// template creates the original of databases. Nobody may connect to it once it is prepared.
func (s *Server) template(prepare func(dsn string) error) (name string, err error) {
	ctx := context.Background() // it is for all tests
	if name, err = s.create(ctx, "template0"); err != nil {
		return "", err
	}
	if err := prepare(s.dsn(role, name)); err != nil {
		return "", fmt.Errorf("prepare a database: %w", err)
	}
	return name, s.sql(ctx, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
}

func (s *Server) create(ctx context.Context, template string) (name string, err error) {
	name = fmt.Sprintf("test%d", s.databases.Add(1))
	return name, s.sql(ctx, "CREATE DATABASE "+name+" OWNER "+role+" TEMPLATE "+template)
}

func (s *Server) copy(t testing.TB, template string) (dsn string) {
	t.Helper()
	name, err := s.create(t.Context(), template)
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

package postgrestest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	bouncerPort = 6432 // names its socket; it does not listen by TCP
	bouncerFile = `[databases]
* = host=%s port=%d

[pgbouncer]
listen_addr =
listen_port = %d
unix_socket_dir = %s
unix_socket_mode = 0700
auth_type = trust
auth_file = %s/users
pool_mode = transaction
%s`
)

// Bouncer puts PgBouncer with pools for transactions before a database, and returns its DSN there. It ends with the test. The number
// is its max_prepared_statements for each connection: with 0 it supports none that have a name. More need PgBouncer 1.21; with an older
// one the test is skipped, also in CI.
func (s *Server) Bouncer(t testing.TB, dsn string, preparedStatements int) string {
	t.Helper()
	u, err := url.Parse(dsn)
	check(t, err)
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer") // only on the PATH of root
	}
	if err != nil {
		err = fmt.Errorf("pgbouncer: %w: install the Debian package pgbouncer", errMissing)
	}
	check(t, err)
	version, err := versionOf(program)
	check(t, err)
	prepared := fmt.Sprintf("max_prepared_statements = %d\n", preparedStatements)
	if version[0] == 1 && version[1] < 21 {
		if preparedStatements > 0 {
			t.Skipf("PgBouncer %d.%d has no prepared statements: install 1.21", version[0], version[1])
		}
		prepared = ""
	}
	dir, err := s.installation.folder("b")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.writeBouncer(t, dir, "users", fmt.Sprintf("%q \"\"\n", role))
	s.writeBouncer(t, dir, "ini", fmt.Sprintf(bouncerFile, s.dir, s.port, bouncerPort, dir, dir, prepared))

	cmd := s.installation.command(dir, program, filepath.Join(dir, "ini"))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	check(t, cmd.Start())
	gone := watched(cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-gone
		if t.Failed() {
			t.Logf("the log of PgBouncer:\n%s", &log)
		}
	})
	check(t, until("PgBouncer accepts connections", func() (bool, error) {
		select {
		case <-gone:
			return false, fmt.Errorf("PgBouncer has ended\n%s", &log)
		default:
		}
		conn, err := net.Dial("unix", filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", bouncerPort)))
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	}))
	return socketDSN(dir, bouncerPort, role, strings.TrimPrefix(u.Path, "/"))
}

// writeBouncer writes one of its files.
func (s *Server) writeBouncer(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	check(t, os.WriteFile(path, []byte(text), 0o600))
	check(t, s.installation.give(path))
}

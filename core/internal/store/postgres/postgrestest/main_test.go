package postgrestest

import (
	"bufio"
	"context"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// connect connects to a database until the test ends.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func do(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// ask returns the value that a query returns.
func ask[T any](t *testing.T, conn *pgx.Conn, query string, args ...any) (value T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// victim is the variable that makes the test binary one that is killed.
const victim = "POSTGRESTEST_VICTIM"

// A server ends with its test binary, also if that is killed and the server is paused, and its files are removed.
func TestServerEndsWithItsTests(t *testing.T) {
	if how := os.Getenv(victim); how != "" {
		beVictim(t, how)
		return
	}
	t.Parallel()
	check(t, missing())
	for how, end := range map[string]func(*os.Process, io.Closer) error{
		"killed":             func(p *os.Process, _ io.Closer) error { return p.Kill() },
		"killed, and paused": func(p *os.Process, _ io.Closer) error { return p.Kill() },
		"shared":             func(_ *os.Process, stdin io.Closer) error { return stdin.Close() }, // and nothing stops it
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestServerEndsWithItsTests$")
			cmd.Env = append(os.Environ(), victim+"="+how)
			stdin, err := cmd.StdinPipe()
			check(t, err)
			defer stdin.Close()
			stdout, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			var dir string
			for lines := bufio.NewScanner(stdout); dir == "" && lines.Scan(); {
				if u, err := url.Parse(lines.Text()); err == nil {
					dir = u.Query().Get("host")
				}
			}
			pids, err := workers(dir)
			check(t, err)
			check(t, end(cmd.Process, stdin))
			_ = cmd.Wait()
			if dir == "" || len(pids) < 5 {
				t.Fatalf("the server in %q has the processes %d", dir, pids)
			}
			check(t, until("the server and its files are gone", func() (bool, error) {
				left, err := workers(dir)
				if err != nil || len(left) > 0 {
					return false, err
				}
				_, err = os.Stat(filepath.Dir(dir)) // what the test binary had
				return os.IsNotExist(err), nil
			}))
		})
	}
}

// beVictim has a server with a connection until its input ends.
func beVictim(t *testing.T, how string) {
	t.Helper()
	s := Shared(t)
	if how != "shared" {
		s = Start(t)
	}
	do(t, connect(t, s.Database(t)), "BEGIN")
	if strings.Contains(how, "paused") {
		s.Pause(t)
	}
	if _, err := io.WriteString(os.Stdout, "\n"+s.dsn("", "")+"\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func missing() error {
	_, _, err := programs()
	return err
}

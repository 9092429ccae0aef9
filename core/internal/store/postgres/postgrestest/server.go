package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

const (
	role     = "clawhost" // owns the databases of the tests, and may do nothing else
	tries    = 5          // to find a free port
	portBusy = "Address already in use"
	logBytes = 16 << 10 // of the log that a failed test shows, its end
)

// Server is a server of its own. Its databases may be used by tests that run at the same time. Starting, stopping, killing and pausing
// it is for one goroutine.
type Server struct {
	installation *installation
	dir          string // has its data, its socket and its log
	port         int
	password     string // of the role
	settings     []string
	shared       bool
	databases    atomic.Int64 // that were created
	kept         kept

	gone   chan struct{} // closed when the process has ended
	main   *os.Process
	paused bool
}

// Start starts a server for one test. Settings are PostgreSQL's own, such as "fsync=on", which is off without that.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := start(settings)
	check(t, err)
	t.Cleanup(func() {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	})
	s.explain(t)
	return s
}

// Shared returns the server that all tests of this test binary share. Its first caller starts it, and it ends with the test binary.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s
}

var shared = sync.OnceValues(func() (*Server, error) {
	s, err := start(nil)
	if err != nil {
		return nil, err
	}
	s.shared = true
	return s, nil
})

func start(settings []string) (*Server, error) {
	i, err := installed()
	if err != nil {
		return nil, err
	}
	s := &Server{installation: i, settings: settings, password: rand.Text()}
	if s.dir, err = i.folder("s"); err != nil {
		return nil, err
	}
	if err := i.run("cp", "-a", i.initial, s.data()); err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if err = s.run(); err == nil {
			break
		}
		if !strings.Contains(err.Error(), portBusy) || n == tries {
			return nil, err
		}
	}
	return s, s.sql(context.Background(), "CREATE ROLE "+role+" LOGIN PASSWORD '"+s.password+"'") // the server is for all tests
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run starts the server's process and waits until it accepts connections, after its recovery if it was killed.
func (s *Server) run() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port)}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.installation.command(s.dir, filepath.Join(s.installation.bin, "postgres"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.main, s.gone, s.paused = cmd.Process, watched(cmd), false
	return until("PostgreSQL accepts connections", func() (bool, error) {
		if !s.running() {
			return false, fmt.Errorf("PostgreSQL has ended\n%s", s.log(0))
		}
		// Its first line is the process, which may still be one that was killed, and its last whether it is ready.
		lines, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
		return err == nil && strings.HasPrefix(string(lines), strconv.Itoa(s.main.Pid)+"\n") && strings.Contains(string(lines), "\nready"), nil
	})
}

// watched returns a channel that is closed when a started command has ended.
func watched(cmd *exec.Cmd) chan struct{} {
	gone := make(chan struct{})
	go func() { // ends with the command, for which its owner waits
		_ = cmd.Wait()
		close(gone)
	}()
	return gone
}

func (s *Server) running() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

// own fails a test that would take the server away from others.
func (s *Server) own(t testing.TB) {
	t.Helper()
	if s.shared {
		t.Fatal("the server is shared with other tests: Start one for this")
	}
}

// Start starts the server again, after Stop or Kill, and returns when it accepts connections. Its DSNs stay the same.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.own(t)
	if s.running() {
		t.Fatal("PostgreSQL runs already")
	}
	check(t, s.run())
}

// Stop shuts the server down in good order, after it has closed all connections.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.Resume(t)
	if !s.running() {
		t.Fatal("PostgreSQL does not run")
	}
	check(t, s.main.Signal(syscall.SIGINT))
	check(t, until("PostgreSQL has ended", func() (bool, error) { return !s.running(), nil }))
}

// Kill kills all processes of the server by SIGKILL. After that Start repeats what it has committed.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.own(t)
	check(t, s.kill())
}

// Pause stops all processes of the server by SIGSTOP: connections stay and are not answered.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.own(t)
	check(t, s.pause())
}

// Resume lets a paused server go on.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.own(t)
	check(t, s.resume())
}

// pause returns when no process is left that runs, also none that was just starting.
func (s *Server) pause() error {
	s.paused = true
	return until("all processes of PostgreSQL are paused", func() (bool, error) {
		if err := s.signal(syscall.SIGSTOP); err != nil {
			return false, err
		}
		pids, err := workers(s.data())
		return !slices.ContainsFunc(pids, func(pid int) bool { return !stopped(pid) }), err
	})
}

func (s *Server) resume() error {
	s.paused = false
	return s.signal(syscall.SIGCONT)
}

// signal sends a signal to all processes of the server.
func (s *Server) signal(signal syscall.Signal) error {
	pids, err := workers(s.data())
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // it may just have ended
	}
	return err
}

// kill pauses the processes first, so that none sees another end.
func (s *Server) kill() error {
	if s.running() {
		if err := s.pause(); err != nil {
			return err
		}
	}
	s.paused = false
	return until("all processes of PostgreSQL have ended", func() (bool, error) {
		if s.running() {
			_ = s.main.Kill()
		}
		if err := s.signal(syscall.SIGKILL); err != nil {
			return false, err
		}
		left, err := workers(s.data())
		return len(left) == 0 && !s.running(), err
	})
}

// remove ends the server at once and removes its files.
func (s *Server) remove() error {
	if err := s.resume(); err != nil {
		return err
	}
	if s.running() {
		_ = s.main.Signal(syscall.SIGQUIT) // it removes its shared memory
	}
	if err := until("PostgreSQL has ended", func() (bool, error) {
		left, err := workers(s.data())
		return len(left) == 0 && !s.running(), err
	}); err != nil {
		return err
	}
	return os.RemoveAll(s.dir)
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// log returns the end of what the server has logged after a position.
func (s *Server) log(from int64) string {
	file, err := os.Open(s.logFile())
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	from = max(from, info.Size()-logBytes)
	text := make([]byte, max(info.Size()-from, 0))
	n, err := file.ReadAt(text, from)
	if err != nil {
		return err.Error()
	}
	return string(text[:n])
}

// explain shows, if the test fails, what the server logs from now on.
func (s *Server) explain(t testing.TB) {
	t.Helper()
	var from int64
	if info, err := os.Stat(s.logFile()); err == nil {
		from = info.Size()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of PostgreSQL:\n%s", s.log(from))
		}
	})
}

// sql runs statements as the administrator.
func (s *Server) sql(ctx context.Context, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn("admin", "template1"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(statement)[:2], " "), err)
		}
	}
	return nil
}

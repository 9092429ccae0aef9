package systemd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/operate/systemd"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

const patience = 20 * time.Second

// manager is the socket on which systemd is told about a service.
type manager struct{ *net.UnixConn }

// manages makes this process a service of a manager, with this watchdog.
func manages(t *testing.T, watchdog string) manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "n") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", address.Name)
	t.Setenv("WATCHDOG_USEC", watchdog)
	return manager{socket}
}

// next is the next thing that the manager is told before a deadline; empty: nothing.
func (m manager) next(t *testing.T, deadline time.Time) string {
	t.Helper()
	if err := m.SetReadDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	told := make([]byte, 4096)
	n, err := m.Read(told)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return string(told[:n])
}

// serve runs a service of a host with one plugin, which does not run, until the returned function is called.
func serve(t *testing.T, s *store.Store) (said *journal.Journal, service *systemd.Service, stop func()) {
	t.Helper()
	said = &journal.Journal{}
	log := hclog.New(&hclog.LoggerOptions{Output: said})
	service = systemd.New(systemd.Options{
		Store: s, Dispatcher: dispatch.New(s, dispatch.Options{Turns: 1}, log), Plugins: plugintest.Registry("echo"),
	}, log)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		service.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return said, service, stop
}

// Systemd learns that the host is ready, that it works, and that it shuts down.
// Behaviour: systemd.
func TestService(t *testing.T) {
	m := manages(t, "20000")
	said, service, stop := serve(t, storetest.Open(t))
	deadline := time.Now().Add(patience)
	if got, want := m.next(t, deadline), "READY=1\nSTATUS=plugins running: 0 of 1; turns: 0"; got != want {
		t.Errorf("first it is told %q, want %q", got, want)
	}
	for range 3 {
		if got, want := m.next(t, deadline), "WATCHDOG=1\nSTATUS=plugins running: 0 of 1; turns: 0"; got != want {
			t.Errorf("then it is told %q, want %q", got, want)
		}
	}
	stop()
	service.Stop()
	last := m.next(t, deadline)
	for strings.HasPrefix(last, "WATCHDOG=1\n") {
		last = m.next(t, deadline)
	}
	if want := "STOPPING=1"; last != want {
		t.Errorf("at the end it is told %q, want %q", last, want)
	}
	if text := said.String(); text != "" {
		t.Errorf("the log says %q", text)
	}
}

// The watchdog is not told that the host works once its store does not answer.
// Behaviour: systemd.
func TestServiceThatDoesNotWork(t *testing.T) {
	m := manages(t, "20000")
	s := storetest.Open(t)
	said, _, _ := serve(t, s)
	deadline := time.Now().Add(patience)
	m.next(t, deadline)
	m.next(t, deadline)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	failed := regexp.MustCompile("the store does not answer")
	if err := said.Await(t.Context(), nil, 0, failed); err != nil {
		t.Fatal(err)
	}
	for m.next(t, time.Now().Add(time.Millisecond)) != "" {
	}
	if err := said.Await(t.Context(), nil, said.Mark(), failed); err != nil {
		t.Fatal(err)
	}
	if got := m.next(t, time.Now().Add(time.Millisecond)); got != "" {
		t.Errorf("it is told %q", got)
	}
}

// Without systemd nothing is told, and nothing runs.
func TestNoService(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	log := hclog.NewNullLogger()
	service := systemd.New(systemd.Options{
		Dispatcher: dispatch.New(nil, dispatch.Options{Turns: 1}, log), Plugins: plugintest.Registry(),
	}, log)
	service.Run(t.Context()) // returns
	service.Stop()
}

// A manager that cannot be told is an error in the log, and not the end.
func TestServiceWithoutItsManager(t *testing.T) {
	m := manages(t, "20000")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	said, _, _ := serve(t, storetest.Open(t))
	cannot := regexp.MustCompile("(?s)systemd cannot be told.*systemd cannot be told")
	if err := said.Await(t.Context(), nil, 0, cannot); err != nil {
		t.Error(err)
	}
}

// The log says which signal ended the host.
func TestReason(t *testing.T) {
	t.Setenv("INVOCATION_ID", "")
	for sent, want := range map[syscall.Signal]string{
		syscall.SIGINT: "SIGINT (Ctrl-C)", syscall.SIGTERM: "SIGTERM", syscall.SIGUSR1: "user defined signal 1 signal received",
	} {
		ctx, stop := signal.NotifyContext(t.Context(), sent)
		if err := syscall.Kill(os.Getpid(), sent); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
		if got := systemd.Reason(context.Cause(ctx)); got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
}

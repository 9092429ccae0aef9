//go:build unix

package handshake_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// switchboard holds one socket and admits no connection.
type switchboard struct{ file *os.File }

func (s switchboard) Listen(network, address string) (int, error) {
	if address != "here" {
		listener, err := net.Listen(network, address)
		if err != nil {
			return -1, err
		}
		return -1, errors.Join(errors.New("not held"), listener.Close())
	}
	return int(s.file.Fd()), nil
}

func (switchboard) Admit(local, remote netip.AddrPort) error {
	if local == remote {
		return nil
	}
	return errors.New(remote.String() + " is the agent's")
}

func (switchboard) Identify([]byte) error { return errors.New("no identity is needed") }

// lines returns both ends of a line that is served until the test ends.
func lines(t *testing.T, sockets handshake.Services) *handshake.Line {
	t.Helper()
	host, file, err := handshake.NewPair()
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := handshake.NewLine(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- host.Serve(sockets) }()
	t.Cleanup(func() {
		plugin.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		host.Close()
	})
	return plugin
}

func held(t *testing.T) (switchboard, net.Addr) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return switchboard{file}, listener.Addr()
}

func TestLineCarriesASocket(t *testing.T) {
	t.Parallel()
	sockets, address := held(t)
	plugin := lines(t, sockets)
	for range 2 { // a plugin, and its next process
		listener, err := plugin.Listen(t.Context(), "tcp", "here")
		if err != nil {
			t.Fatal(err)
		}
		if listener.Addr().String() != address.String() {
			t.Errorf("it listens at %s, want %s", listener.Addr(), address)
		}
		conn, err := net.Dial("tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []io.Closer{conn, theirs, listener} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	waiting, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatalf("between two plugins no one listens: %v", err)
	}
	waiting.Close()
}

func TestLineCarriesRefusals(t *testing.T) {
	t.Parallel()
	sockets, address := held(t)
	plugin := lines(t, sockets)
	if _, err := plugin.Listen(t.Context(), "tcp", address.String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("an address that is taken: %v", err)
	}
	one, two := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	if err := plugin.Admit(t.Context(), one, one); err != nil {
		t.Errorf("one that is admitted: %v", err)
	}
	var refusal *handshake.Refusal
	if err := plugin.Admit(t.Context(), one, two); !errors.As(err, &refusal) || refusal.Text != "127.0.0.1:2 is the agent's" {
		t.Errorf("one that is not: %v", err)
	}
	if _, err := plugin.Listen(t.Context(), "tcp", strings.Repeat("x", 5000)); err == nil || errors.As(err, &refusal) {
		t.Errorf("a request of any length: %v", err)
	}
}

// A host that does not support lines gives a plugin a pipe, or nothing.
func TestNoLine(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := handshake.NewLine(r); err == nil {
		t.Error("a pipe is taken for a line")
	}
}

// Data from the plugin that is not a request closes its line, and has no other effect.
func TestGarbageEndsTheLine(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{"no JSON": "hello\n", "no end": strings.Repeat("x", 10_000), "half": `{"Listen":`} {
		host, file, err := handshake.NewPair()
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			err := host.Serve(switchboard{})
			host.Close()
			served <- err
		}()
		if _, err := file.WriteString(words); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		file.Close()
		if err := <-served; err == nil && name != "half" {
			t.Errorf("%s is taken", name)
		}
	}
}

// late answers when it is released.
type late struct {
	switchboard
	asked chan struct{} // has a value for each request that has arrived
	may   chan struct{}
}

func (l late) Listen(network, address string) (int, error) {
	l.asked <- struct{}{}
	<-l.may
	return l.switchboard.Listen(network, address)
}

// An abandoned request does not disturb the line: the next one gets its own response.
func TestLineWhoseHostIsLate(t *testing.T) {
	t.Parallel()
	sockets, address := held(t)
	host := late{sockets, make(chan struct{}, 2), make(chan struct{})}
	plugin := lines(t, host)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := plugin.Listen(ctx, "tcp", "here")
		asked <- err
	}()
	<-host.asked // a request that was abandoned before it was made disturbs nothing
	cancel()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("a host that says nothing: %v", err)
	}
	one, two := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := plugin.Admit(short, one, one); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("behind a request without an answer: %v", err)
	}
	close(host.may)
	if err := plugin.Admit(t.Context(), one, two); err == nil || err.Error() != "127.0.0.1:2 is the agent's" {
		t.Errorf("one that is not admitted: %v", err)
	}
	listener, err := plugin.Listen(t.Context(), "tcp", "here")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if listener.Addr().String() != address.String() {
		t.Errorf("it listens at %s, want %s", listener.Addr(), address)
	}
}

// A line that is closed while the host works for the plugin has ended, which is no error.
func TestLineThatIsClosedMeanwhile(t *testing.T) {
	t.Parallel()
	sockets, _ := held(t)
	for name, closes := range map[string]func(host *handshake.Line, plugin *os.File) error{
		"by the host":   func(host *handshake.Line, _ *os.File) error { return host.Close() },
		"by the plugin": func(_ *handshake.Line, plugin *os.File) error { return plugin.Close() },
	} {
		line, file, err := handshake.NewPair()
		if err != nil {
			t.Fatal(err)
		}
		host := late{sockets, make(chan struct{}, 1), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- line.Serve(host) }()
		if _, err := file.WriteString(`{"Listen":{"Network":"tcp","Address":"here"}}` + "\n"); err != nil {
			t.Fatal(err)
		}
		<-host.asked
		if err := closes(line, file); err != nil {
			t.Fatal(err)
		}
		close(host.may)
		if err := <-served; err != nil {
			t.Errorf("closed %s: %v", name, err)
		}
		_ = file.Close()
		_ = line.Close()
	}
}

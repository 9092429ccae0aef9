//go:build unix

package sdk

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// blockedHost is a host that blocks until it is released.
type blockedHost struct{ goesOn chan struct{} }

func (blockedHost) Listen(string, string) (int, error) { return -1, errors.New("not held") }

func (s blockedHost) Admit(netip.AddrPort, netip.AddrPort) error {
	<-s.goesOn
	return nil
}

func (blockedHost) Identify([]byte) error { return errors.New("no identity is needed") }

// lineTo returns a line to a host until the test ends.
func lineTo(t *testing.T, at handshake.Services) *handshake.Line {
	t.Helper()
	host, file, err := handshake.NewPair()
	if err != nil {
		t.Fatal(err)
	}
	line, err := handshake.NewLine(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- host.Serve(at) }()
	t.Cleanup(func() {
		if err := errors.Join(line.Close(), <-served, host.Close()); err != nil {
			t.Error(err)
		}
	})
	return line
}

// A blocked host delays only the connections that arrive meanwhile.
func TestAcceptSurvivesAStalledHost(t *testing.T) {
	t.Parallel()
	goesOn := make(chan struct{})
	line := lineTo(t, blockedHost{goesOn})
	bare, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	l := &listener{Listener: bare, line: line, within: 20 * time.Millisecond, log: slog.New(slog.DiscardHandler)}
	accepted := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}()
	refused, err := net.Dial("tcp", bare.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Close()
	if err := refused.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := refused.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that the host says nothing of: %v, want its end", err)
	}
	close(goesOn)
	for {
		conn, err := net.Dial("tcp", bare.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		select {
		case err := <-accepted:
			if err != nil {
				t.Errorf("the listener ended: %v", err)
			}
			return
		case <-time.After(100 * time.Millisecond): // this one was refused, too: the host had not yet reached it
		}
	}
}

// strictHost holds one socket, and admits nobody.
type strictHost struct{ socket int }

func (s strictHost) Listen(string, string) (int, error) { return s.socket, nil }

func (strictHost) Admit(netip.AddrPort, netip.AddrPort) error {
	return errors.New("the agent is at the other end")
}

func (strictHost) Identify([]byte) error { return errors.New("no identity is needed") }

// Only a listener that is checked refuses whom the host does not admit. Both have the socket that the host holds.
func TestListenUncheckedAcceptsAll(t *testing.T) {
	t.Parallel()
	bare, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	socket, err := bare.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	env := Env{Log: slog.New(slog.DiscardHandler), line: lineTo(t, strictHost{int(socket.Fd())})}
	for name, test := range map[string]struct {
		listen func(context.Context, string, string) (net.Listener, error)
		admits bool
	}{"Listen": {env.Listen, false}, "ListenUnchecked": {env.ListenUnchecked, true}} {
		l, err := test.listen(t.Context(), "tcp", "here")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan net.Conn, 1)
		go func() {
			defer close(accepted)
			if conn, err := l.Accept(); err == nil {
				accepted <- conn
			}
		}()
		caller, err := net.Dial("tcp", bare.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if !test.admits {
			_, _ = caller.Read(make([]byte, 1)) // the end of a connection that was refused
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		conn, admitted := <-accepted
		if admitted != test.admits {
			t.Errorf("%s accepts a connection: %t, want %t", name, admitted, test.admits)
		}
		if admitted {
			_ = conn.Close()
		}
		_, _ = caller.Close(), l.Close()
	}
}

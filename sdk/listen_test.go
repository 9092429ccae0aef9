//go:build unix

package sdk

import (
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

// A blocked host delays only the connections that arrive meanwhile.
func TestAcceptSurvivesAStalledHost(t *testing.T) {
	t.Parallel()
	host, file, err := handshake.NewPair()
	if err != nil {
		t.Fatal(err)
	}
	line, err := handshake.NewLine(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	goesOn, served := make(chan struct{}), make(chan error, 1)
	go func() { served <- host.Serve(blockedHost{goesOn}) }()
	t.Cleanup(func() {
		if err := errors.Join(line.Close(), <-served, host.Close()); err != nil {
			t.Error(err)
		}
	})
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

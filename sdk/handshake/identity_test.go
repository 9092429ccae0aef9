package handshake_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// host is the host's side of a connection.
type host struct {
	side    *tls.Config
	known   chan struct{} // closed when the plugin has identified itself: the socket alone orders nothing in memory
	refuses bool
}

func (host) Listen(string, string) (int, error) { return -1, errors.New("not held") }

func (host) Admit(_, _ netip.AddrPort) error { return nil }

func (h host) Identify(certificate []byte) error {
	if h.refuses {
		return errors.New("this host does not support the request")
	}
	defer close(h.known)
	return handshake.Trust(h.side, certificate)
}

// identity is a new side of a connection.
func identity(t *testing.T) *tls.Config {
	t.Helper()
	side, err := handshake.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// connect makes a TLS connection between two sides, and returns the errors of both.
func connect(t *testing.T, client, server *tls.Config) (clients, servers error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		accepted, err := listener.Accept()
		if err == nil {
			defer accepted.Close()
			_, err = tls.Server(accepted, server).Write([]byte("hello"))
		}
		served <- err
	}()
	one, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(one, client)
	clients = conn.Handshake()
	if clients == nil {
		_, clients = conn.Read(make([]byte, 5)) // in TLS 1.3 a client learns by this that it was refused
	}
	one.Close()
	return clients, <-served
}

func TestIntroduce(t *testing.T) {
	own := identity(t)
	t.Setenv(handshake.HostCertificate, handshake.Certificate(own))
	known := make(chan struct{})
	plugin, err := handshake.NewPluginIdentity()
	if err != nil || plugin == nil {
		t.Fatalf("the plugin's side: %v, %v", plugin, err)
	}
	if taken, err := lines(t, host{side: own, known: known}).Introduce(t.Context(), plugin); !taken || err != nil {
		t.Fatalf("introduce: %v, %v", taken, err)
	}
	<-known
	if clients, servers := connect(t, own, plugin); clients != nil || servers != nil {
		t.Errorf("the host connects to the plugin: %v, %v", clients, servers)
	}
	if clients, servers := connect(t, plugin, own); clients != nil || servers != nil {
		t.Errorf("the plugin connects to the host: %v, %v", clients, servers)
	}
	stranger := identity(t)
	if err := handshake.Trust(stranger, plugin.Certificates[0].Certificate[0]); err != nil {
		t.Fatal(err)
	}
	if _, servers := connect(t, stranger, plugin); servers == nil {
		t.Error("the plugin accepts another client than its host")
	}
	if err := handshake.Trust(stranger, own.Certificates[0].Certificate[0]); err != nil {
		t.Fatal(err)
	}
	if _, servers := connect(t, stranger, own); servers == nil {
		t.Error("the host accepts another client than its plugin")
	}
	if clients, _ := connect(t, own, stranger); clients == nil {
		t.Error("the host accepts another server than its plugin")
	}
}

// A side trusts no certificate before Trust is called.
func TestIdentityTrustsNoPeerBeforeTrust(t *testing.T) {
	t.Parallel()
	one, two := identity(t), identity(t)
	if err := handshake.Trust(one, two.Certificates[0].Certificate[0]); err != nil {
		t.Fatal(err)
	}
	if clients, _ := connect(t, two, one); clients == nil {
		t.Error("it accepts a server")
	}
	if _, servers := connect(t, one, two); servers == nil {
		t.Error("it accepts a client")
	}
}

// A plugin learns that an earlier host does not take its certificate over the line.
func TestIntroduceToAnEarlierHost(t *testing.T) {
	t.Parallel()
	if taken, err := lines(t, host{refuses: true}).Introduce(t.Context(), identity(t)); taken || err != nil {
		t.Errorf("got %v, %v", taken, err)
	}
}

func TestPluginOfAHostWithoutACertificate(t *testing.T) {
	t.Setenv(handshake.HostCertificate, "")
	if side, err := handshake.NewPluginIdentity(); side != nil || err != nil {
		t.Errorf("none: %v, %v", side, err)
	}
	for _, broken := range []string{"no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		t.Setenv(handshake.HostCertificate, broken)
		if _, err := handshake.NewPluginIdentity(); err == nil {
			t.Errorf("%q is a certificate", broken)
		}
	}
}

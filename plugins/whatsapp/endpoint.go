package main

import (
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
)

// trust guards the root key, which the library stores in a package variable.
var trust struct {
	sync.Mutex
	replaced bool
}

// trustRoot makes all connections of the process trust a test server's root. A process can trust only one such root.
func trustRoot(inHex string) error {
	raw, err := hex.DecodeString(inHex)
	if err != nil || len(raw) != len(whatsmeow.WACertPubKey) {
		return errors.New("the root is not a key")
	}
	trust.Lock()
	defer trust.Unlock()
	switch {
	case !trust.replaced:
		whatsmeow.WACertPubKey, trust.replaced = [32]byte(raw), true
	case whatsmeow.WACertPubKey != [32]byte(raw):
		return errors.New("this process already trusts the root of another test server")
	}
	return nil
}

// transport returns the transport for connections: through the proxy of the config or the environment. With a test endpoint
// all connections lead there, whatever their host.
func transport(cfg config) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() // documented by net/http
	// A connection that died while a laptop slept is detected by a ping.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	if proxy, err := url.Parse(cfg.Proxy.Reveal()); err == nil && !cfg.Proxy.IsZero() {
		t.Proxy = http.ProxyURL(proxy)
	}
	if target, err := url.Parse(cfg.TestEndpoint); err == nil && cfg.TestEndpoint != "" {
		t.Proxy = nil
		return redirect{t, target.Host}
	}
	return t
}

type redirect struct {
	*http.Transport
	host string
}

// RoundTrip implements http.RoundTripper.
func (r redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host = "http", r.host
	return r.Transport.RoundTrip(request)
}

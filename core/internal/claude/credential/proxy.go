// Package credential keeps API keys out of the processes that use them.
//
// A [Proxy] listens on loopback. It forwards requests that have a token issued by it to the API, with a key in place of the
// token. Each process gets the proxy's address and a token, which is revoked with the process. Responses are streamed. A
// key that the API refuses is suspended for a while, and the request is retried with the next one; if none is left the
// API's response is passed on unchanged, as if there were no proxy.
package credential

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// api is the default address of the API.
const api = "https://api.anthropic.com"

// Limits of forwarded requests.
const (
	maxBody     = 64 << 20 // bytes of a request; the API's limit is 32 MB
	maxHeader   = 64 << 10 // bytes
	maxRequests = 32       // concurrent ones per token; more of them wait
)

// Options are a proxy's settings.
type Options struct {
	// Keys are tried in this order. There is at least one, and none is empty.
	Keys []string
	// Upstream is the http or https address of the API; empty: Anthropic's.
	Upstream string
}

// Proxy forwards requests. Its methods are safe for concurrent use.
type Proxy struct {
	log       hclog.Logger
	url       string
	server    *http.Server
	transport *http.Transport
	forward   *httputil.ReverseProxy
	served    chan struct{} // closed when the server has ended

	mu       sync.Mutex
	closed   bool
	grants   map[*grant]bool
	requests sync.WaitGroup // requests in progress; added to under mu, while not closed
}

// grant is the permission of one process.
type grant struct {
	token  string
	places chan struct{}
	ended  context.Context // its end aborts requests in progress
	end    context.CancelFunc
}

// Listen starts a proxy on a free port of 127.0.0.1. Errors contain no key and not the upstream's address.
func Listen(options Options, log hclog.Logger) (*Proxy, error) {
	upstream, err := parseUpstream(options.Upstream)
	if err != nil {
		return nil, err
	}
	if len(options.Keys) == 0 {
		return nil, errors.New("there is no API key")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for claude: %w", err)
	}
	p := &Proxy{
		log: log, url: "http://" + listener.Addr().String(), transport: newTransport(), served: make(chan struct{}),
		grants: map[*grant]bool{},
	}
	// These two libraries log errors of single connections, which the other end also sees.
	quiet := log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Header.Del("Authorization")
			r.Out.Header.Set("Accept-Encoding", "identity") // refusals are parsed, and responses are streamed text
		},
		Transport:     &rotation{next: p.transport, keys: newKeyring(options.Keys, log)},
		FlushInterval: -1, // at once
		ErrorHandler:  p.failed,
		ErrorLog:      quiet,
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.serve), ErrorLog: quiet,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 15 * time.Minute, MaxHeaderBytes: maxHeader,
	}
	go func() {
		defer close(p.served)
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the proxy for claude has ended", "error", err)
		}
	}()
	return p, nil
}

// parseUpstream parses the address of an API; empty: Anthropic's. Errors do not contain it, because it may have a secret.
func parseUpstream(address string) (*url.URL, error) {
	if address == "" {
		address = api
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("the API's address must be an http or https one, without a user")
	}
	return u, nil
}

// newTransport returns the transport to the API. A response may take any time, but a dead connection, as after the machine
// slept, is detected.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: maxRequests,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}
}

// URL returns the proxy's address, such as "http://127.0.0.1:40123".
func (p *Proxy) URL() string { return p.url }

// Issue returns a new token. Revoke invalidates it, and aborts its requests in progress; it may be called more than once.
func (p *Proxy) Issue() (token string, revoke func()) {
	// The prefix makes secret scanners recognise it as a key.
	g := &grant{token: "sk-clawhost-" + rand.Text(), places: make(chan struct{}, maxRequests)}
	g.ended, g.end = context.WithCancel(context.Background()) // until the token is revoked or the proxy closes
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.grants[g] = true
	}
	return g.token, func() {
		p.mu.Lock()
		delete(p.grants, g)
		p.mu.Unlock()
		g.end()
	}
}

// Close revokes all tokens, stops listening and waits until all requests have ended. A nil Proxy has nothing to close.
func (p *Proxy) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	p.closed = true
	for g := range p.grants {
		g.end()
	}
	clear(p.grants)
	p.mu.Unlock()
	err := p.server.Close()
	<-p.served
	p.requests.Wait()
	p.transport.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("close the proxy for claude: %w", err)
	}
	return nil
}

// serve handles a request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	g := p.enter(r.Header)
	if g == nil {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusUnauthorized, "authentication_error", "clawhost does not know this token")
		return
	}
	defer p.requests.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	case <-ctx.Done():
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}

// enter returns the grant of a request's token, or nil. The proxy waits for a request that has entered.
func (p *Proxy) enter(h http.Header) *grant {
	shown := h.Get("X-Api-Key")
	if shown == "" {
		shown, _ = strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *grant
	for g := range p.grants {
		if subtle.ConstantTimeCompare([]byte(g.token), []byte(shown)) == 1 {
			found = g
		}
	}
	if found != nil {
		p.requests.Add(1)
	}
	return found
}

// failed ends a request without a response from the API. It breaks the connection: on an error response the CLI would
// switch to its fallback models at once, while it retries after a broken connection.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", "the request is larger than clawhost forwards")
		return
	}
	if r.Context().Err() == nil {
		p.log.Warn("the model's API cannot be reached", "error", err)
	}
	panic(http.ErrAbortHandler)
}

// refuse responds as the API would.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
		"type": "error", "error": map[string]string{"type": kind, "message": message},
	})
}

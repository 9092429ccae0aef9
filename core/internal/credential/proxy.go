// Package credential keeps API keys out of the processes that use them.
//
// A [Proxy] listens on loopback and forwards to the API what comes with a token that it has issued, with a key in the
// token's place. A process is given the proxy's address and a token of its own, which ends with it. Answers are streamed
// as they come. A key that the API refuses rests for a while, and the request is tried with the next one; when none is
// left the API's answer is passed on as it is, so that whoever asked sees what it would have seen without the proxy.
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

// api is where keys are good for when nothing else is said.
const api = "https://api.anthropic.com"

// The limits of what is forwarded.
const (
	maxBody     = 64 << 20 // bytes of a request; the API takes 32 MB
	maxHeader   = 64 << 10 // bytes
	maxRequests = 32       // of one token at the same time; more of them wait
)

// Options are a proxy's settings.
type Options struct {
	// Keys are tried in this order. There is at least one, and none is empty.
	Keys []string
	// Upstream is the http or https address of the API; empty: Anthropic's.
	Upstream string
}

// Proxy forwards requests. Its methods may be called from any goroutine.
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
	requests sync.WaitGroup // those that are being answered; added to under mu, while not closed
}

// grant is what one process may use.
type grant struct {
	token  string
	places chan struct{}
	ended  context.Context // its end cuts what is being answered
	end    context.CancelFunc
}

// Listen starts a proxy on a free port of 127.0.0.1. No error shows a key or the upstream's address.
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
	// What these two libraries have to say is of single connections, and the other end is told of it.
	quiet := log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Header.Del("Authorization")
			r.Out.Header.Set("Accept-Encoding", "identity") // refusals are read, and answers are text that comes in drops
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

// parseUpstream reads the address of an API; empty: Anthropic's. The error does not show it, as it may hold a secret.
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

// newTransport is how the API is reached. An answer may take as long as it likes, but a connection that has died unseen,
// as in a machine's sleep, is found out.
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

// URL is the proxy's address, such as "http://127.0.0.1:40123".
func (p *Proxy) URL() string { return p.url }

// Issue returns a new token. Revoke ends it, and cuts what is still being answered for it; it may be called more than once.
func (p *Proxy) Issue() (token string, revoke func()) {
	// The beginning has whatever knows a key by its looks take it for one.
	g := &grant{token: "sk-clawhost-" + rand.Text(), places: make(chan struct{}, maxRequests)}
	g.ended, g.end = context.WithCancel(context.Background())
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

// Close revokes all tokens, stops listening and waits until nothing is answered any more.
func (p *Proxy) Close() error {
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

// serve answers a request.
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

// enter returns what a request's token is good for, or nil. The proxy waits for a request that has entered.
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

// failed ends a request that has no answer of the API. A connection that fails there fails here, too: an answer of the
// proxy's own would have the CLI turn to its fallback models at once, where it tries again after a broken connection.
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

// refuse answers as the API would.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that has gone is no failure
		"type": "error", "error": map[string]string{"type": kind, "message": message},
	})
}

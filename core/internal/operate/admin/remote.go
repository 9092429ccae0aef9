package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/page"
)

// Limits of the HTTP interface and the control socket.
const (
	maxHeaders = 16 << 10 // bytes
	headerTime = 5 * time.Second
	idleTime   = 2 * time.Minute
)

// Remote configures the HTTP interface for programs. The zero Remote means no such interface.
type Remote struct {
	Listen string   // host:port
	Token  string   // that requests must send
	Hosts  []string // further host names that requests may be for, in lower case
}

// serveRemote serves the HTTP interface until ctx ends. It returns once it has stopped. The error for an address that cannot be
// listened at is a [config.Problems].
func (s *Server) serveRemote(ctx context.Context) error {
	l, err := process.Listen(ctx, "tcp", s.options.Remote.Listen)
	if err != nil {
		return config.Problems{s.options.Host.Config.Get().CannotListen(err)}
	}
	s.log.Info("programs are served by HTTP", "address", l.Addr().String())
	return s.serveConnections(ctx, l)
}

func (s *Server) serveConnections(ctx context.Context, l net.Listener) error {
	open := newConnections(l)
	return s.serve(ctx, open, s.remote(open))
}

// serve serves a handler until ctx ends.
func (s *Server) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends logins, questions and followed logs
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // a client that does not read
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// remote returns the handler of the HTTP interface. It has what programs need, but not what an operator does by hand, except on the
// state page.
func (s *Server) remote(open *connections) http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("POST /v1/messages", answer(s.send))
	guarded.HandleFunc("POST /v1/turns", s.asking(true))
	s.reads(guarded)
	s.scraped(guarded)
	mux := http.NewServeMux()
	browsers, operators := s.statePage(mux, open)
	mux.Handle("/v1/", s.authorised(open, guarded, browsers, operators))
	mux.Handle("/plugins/{name}/", s.routed(open))
	mux.Handle("POST /logout", s.authorised(open, guarded, browsers, operators))
	mux.Handle("GET /metrics", s.authorised(open, guarded, browsers, operators))
	mux.Handle("GET /healthz", probed(open, alive))
	mux.Handle("GET /livez", probed(open, alive))
	mux.Handle("GET /readyz", probed(open, s.ready(false)))
	return s.addressed(mux)
}

// addressed refuses requests for other hosts and from pages of other sites in a browser. With DNS rebinding, the Host header
// has the attacker's name. In a request from a page of another site, the Origin header names that site.
//
// Unless the next handler finds the token, the connection is closed after the response, and net/http does not wait for the
// rest of the request's body.
func (s *Server) addressed(next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(s.options.Remote.Listen)
	names := append([]string{"", "localhost", strings.ToLower(own)}, s.options.Remote.Hosts...) // HTTP/1.0 has no Host header
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unauthenticatedTime))
		host := hostOf(r.Host)
		if _, err := netip.ParseAddr(host); err != nil && !slices.Contains(names, host) {
			refuse(w, http.StatusForbidden,
				fmt.Sprintf("the request is for another host, %q; if it is a name of this one, list it in admin.hosts of the config", host))
			return
		}
		origin := r.Header.Get("Origin")
		ofPlugin := origin == "null" && strings.HasPrefix(r.URL.Path, routesPath) // a page in the sandbox; nothing there acts for who asks
		if origin != "" && !ofPlugin && !strings.EqualFold(origin, "http://"+r.Host) &&
			!strings.EqualFold(origin, "https://"+r.Host) {
			refuse(w, http.StatusForbidden, "the request comes from a page of another site")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf returns the name or address in a Host header.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// refuse responds with why a request is not served.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem{why})
}

// probed answers probes, at most [maxProbes] at the same time. The connection of a probe is not replaced until the answer is
// written.
func probed(open *connections, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{}) // it may have to wait
		select {
		case open.probes <- struct{}{}:
			defer func() { <-open.probes }()
		case <-r.Context().Done():
			return
		}
		if c, _ := open.of(r); c != nil {
			open.setBusy(c, true)
			defer open.setBusy(c, false)
		}
		ctx, cancel := context.WithTimeout(r.Context(), unauthenticatedTime)
		defer cancel()
		next(w, r.WithContext(ctx))
		_ = control.Flush()
		_ = control.SetReadDeadline(time.Now().Add(unauthenticatedTime))
	})
}

// authorised passes on the requests that have the token to programs, and those of the state page's browsers to operators.
func (s *Server) authorised(open *connections, programs http.Handler, browsers *page.Sessions, operators http.Handler) http.Handler {
	programs, operators = s.admitted(open, programs), s.admitted(open, operators)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		switch {
		case strings.EqualFold(scheme, "Bearer") && s.isToken(token):
			programs.ServeHTTP(w, r)
		case browsers.Has(r):
			operators.ServeHTTP(w, r)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the request has no token, or a wrong one; it must have admin.token of the config")
		}
	})
}

// admitted passes on requests that are authorised, and counts their connections as authenticated.
func (s *Server) admitted(open *connections, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, isOpen := open.of(r)
		if !isOpen {
			return // its peer cannot be checked any more, and the answer cannot be read
		}
		if c != nil {
			if err := s.admit(c); err != nil {
				s.log.Warn("refused an HTTP request with the token", "from", r.RemoteAddr, "error", err)
				refuse(w, http.StatusForbidden, "the host serves no processes that the agent or a plugin has started")
				return
			}
			if !open.authenticate(c) {
				w.Header().Set("Retry-After", "1")
				refuse(w, http.StatusServiceUnavailable, "too many requests at the same time; try again later")
				return
			}
			defer open.setBusy(c, false)
		}
		w.Header().Del("Connection")
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		r.Body = &body{r.Body, control}
		next.ServeHTTP(w, r)
	})
}

// admit returns why a connection that has sent the token is refused. It checks each connection once.
func (s *Server) admit(c *connection) error {
	local, remote, ok := c.addresses()
	if !ok || c.isAuthenticated() {
		return nil
	}
	return s.options.Peers.Admit(local, remote)
}

// body is the body of a request with the token. Each read must finish within [bodyTime].
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(bodyTime))
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{}) // net/http reads on to notice when the client disconnects
	}
	return n, err
}

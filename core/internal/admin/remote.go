package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
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
)

// Bounds of the HTTP interface.
const (
	maxHeaders = 16 << 10 // bytes
	headerTime = 5 * time.Second
	idleTime   = 2 * time.Minute
)

// Remote is where programs reach the host by HTTP. The zero Remote is nowhere.
type Remote struct {
	Listen string   // host:port
	Token  string   // that requests bear
	Hosts  []string // further names by which programs reach it, in lower case
}

// serveRemote serves the HTTP interface until ctx ends. It returns once it has stopped.
func (s *Server) serveRemote(ctx context.Context) error {
	l, err := net.Listen("tcp", s.options.Remote.Listen)
	if err != nil {
		return fmt.Errorf("open the HTTP interface: %w", err)
	}
	s.log.Info("programs are served by HTTP", "address", l.Addr().String())
	return s.serveVisitors(ctx, l)
}

func (s *Server) serveVisitors(ctx context.Context, l net.Listener) error {
	there := newVisitors(l)
	return s.serve(ctx, there, s.remote(there))
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

// remote returns the handler of the HTTP interface: what programs need, but not what an operator does by hand.
func (s *Server) remote(there *visitors) http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("POST /v1/messages", answer(s.send))
	guarded.HandleFunc("POST /v1/turns", s.asking(true))
	guarded.HandleFunc("GET /v1/status", answer(s.status))
	guarded.HandleFunc("GET /v1/queue", answer(s.queue))
	guarded.HandleFunc("GET /v1/sessions", answer(s.sessions))
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.authorised(there, guarded))
	mux.Handle("GET /healthz", probed(there, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }))
	mux.Handle("GET /readyz", probed(there, s.ready))
	return s.addressed(mux)
}

// addressed passes on the requests that are for this host and from no page in a browser but one that it serves itself,
// through a proxy. With DNS rebinding, the Host header has the attacker's name; with a page of another site, the Origin
// header is that site's.
//
// Until a request has shown the token, the answer is the last one of its connection, and net/http does not wait for the
// rest of its body.
func (s *Server) addressed(next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(s.options.Remote.Listen)
	names := append([]string{"", "localhost", strings.ToLower(own)}, s.options.Remote.Hosts...) // HTTP/1.0 has no Host header
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerTime))
		host := hostOf(r.Host)
		if _, err := netip.ParseAddr(host); err != nil && !slices.Contains(names, host) {
			refuse(w, http.StatusForbidden, fmt.Sprintf("the request is for another host, %q; admin.hosts of the config lists further names of this one", host))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, "http://"+r.Host) && !strings.EqualFold(origin, "https://"+r.Host) {
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

// probed answers a probe, of which few are answered at a time. Nobody takes the place of one until it has its answer.
func probed(there *visitors, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{}) // it may have to wait
		select {
		case there.probes <- struct{}{}:
			defer func() { <-there.probes }()
		case <-r.Context().Done():
			return
		}
		if v := there.of(r); v != nil {
			there.answering(v, true)
			defer there.answering(v, false)
		}
		ctx, cancel := context.WithTimeout(r.Context(), strangerTime)
		defer cancel()
		next(w, r.WithContext(ctx))
		_ = control.Flush()
		_ = control.SetReadDeadline(time.Now().Add(strangerTime))
	})
}

// authorised passes on the requests that bear the token, and gives their connections the places for programs.
func (s *Server) authorised(there *visitors, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.options.Remote.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the request bears no token, or a wrong one; it is admin.token of the config")
			return
		}
		if v := there.of(r); v != nil {
			if err := s.known(v); err != nil {
				s.log.Warn("refused a request by HTTP that bears the token", "from", r.RemoteAddr, "error", err)
				refuse(w, http.StatusForbidden, "the host serves no processes that the agent or a plugin has started")
				return
			}
			if !there.place(v, program) {
				w.Header().Set("Retry-After", "1")
				refuse(w, http.StatusServiceUnavailable, "too many requests at a time; try again later")
				return
			}
			defer there.answering(v, false)
		}
		w.Header().Del("Connection")
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		r.Body = &body{r.Body, control}
		next.ServeHTTP(w, r)
	})
}

// known returns why a connection that has shown the token is refused.
func (s *Server) known(v *visitor) error {
	local, remote, ok := v.addresses()
	if !ok || v.is(program) {
		return nil
	}
	return s.options.Peers.Admit(local, remote)
}

// body is the body of a program's request, whose next bytes must come in time.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(bodyTime))
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{}) // net/http reads on to see when the client is gone
	}
	return n, err
}

// ready responds with 200 if the store answers and all enabled plugins run.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if _, err := s.options.Store.Uncertain(r.Context()); err != nil {
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	for _, p := range s.options.Host.Status().Plugins {
		if p.State != "running" && p.State != "disabled" {
			http.Error(w, "a plugin does not run", http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ready")
}

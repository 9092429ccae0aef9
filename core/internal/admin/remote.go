package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/netutil"
)

// Bounds of the HTTP interface.
const (
	maxConnections = 64
	maxHeaders     = 16 << 10 // bytes
	idleTime       = 2 * time.Minute
)

// Remote is where programs reach the host by HTTP. The zero Remote is nowhere.
type Remote struct {
	Listen string // host:port
	Token  string // that requests bear
}

// serveRemote serves the HTTP interface until ctx ends. It returns once it has stopped.
func (s *Server) serveRemote(ctx context.Context) error {
	l, err := net.Listen("tcp", s.options.Remote.Listen)
	if err != nil {
		return fmt.Errorf("open the HTTP interface: %w", err)
	}
	s.log.Info("programs are served by HTTP", "address", l.Addr().String())
	return s.serve(ctx, netutil.LimitListener(l, maxConnections), s.remote())
}

// serve serves a handler until ctx ends.
func (s *Server) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
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
func (s *Server) remote() http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("POST /v1/messages", answer(s.send))
	guarded.HandleFunc("POST /v1/turns", s.ask)
	guarded.HandleFunc("GET /v1/status", answer(s.status))
	guarded.HandleFunc("GET /v1/queue", answer(s.queue))
	guarded.HandleFunc("GET /v1/sessions", answer(s.sessions))
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.authorised(guarded))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	return mux
}

// authorised passes on the requests that bear the token.
func (s *Server) authorised(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.options.Remote.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(problem{"the request bears no token, or a wrong one; it is admin.token of the config"})
			return
		}
		next.ServeHTTP(w, r)
	})
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

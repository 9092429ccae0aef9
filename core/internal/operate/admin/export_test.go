package admin

import (
	"context"
	"net"
	"net/http"
)

// RemoteHandler is the handler of the HTTP interface.
func (s *Server) RemoteHandler() http.Handler { return s.remote(newConnections(nil)) }

// ServeConnections serves the HTTP interface on a listener.
func (s *Server) ServeConnections(ctx context.Context, l net.Listener) error {
	return s.serveConnections(ctx, l)
}

// Problem is the body of a refusal.
type Problem = problem

// LocalHandler is the handler of the control socket.
func (s *Server) LocalHandler() http.Handler { return s.routes() }

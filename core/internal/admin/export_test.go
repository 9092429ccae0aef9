package admin

import (
	"context"
	"net"
	"net/http"
)

// RemoteHandler is the handler of the HTTP interface.
func (s *Server) RemoteHandler() http.Handler { return s.remote(newVisitors(nil)) }

// ServeVisitors serves the HTTP interface at a listener.
func (s *Server) ServeVisitors(ctx context.Context, l net.Listener) error {
	return s.serveVisitors(ctx, l)
}

// Problem is the body of a refusal.
type Problem = problem

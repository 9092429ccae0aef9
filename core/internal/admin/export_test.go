package admin

import "net/http"

// RemoteHandler is the handler of the HTTP interface.
func (s *Server) RemoteHandler() http.Handler { return s.remote() }

// Problem is the body of a refusal.
type Problem = problem

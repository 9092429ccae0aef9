package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
)

// alive responds to whoever asks whether the process answers.
func alive(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

// ready returns a handler that responds with 200 if each plugin has started once, and nothing that is wrong keeps the host from its work.
// Otherwise, a handler for somebody who may know it says why not.
func (s *Server) ready(reasons bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		why := s.unready(r.Context())
		if len(why) == 0 {
			fmt.Fprintln(w, "ready")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready")
		for _, line := range why {
			if reasons {
				fmt.Fprintln(w, line)
			}
		}
	}
}

// unready lists why the host is not ready.
func (s *Server) unready(ctx context.Context) (why []string) {
	for _, p := range s.options.Host.Plugins.List() {
		if p.State == plugins.Starting && p.Restarts == 0 && p.Failure == nil {
			why = append(why, "the plugin "+p.Name+" is starting")
		}
	}
	for _, p := range s.options.Host.Health.List(ctx) {
		if p.Severity == health.Error {
			why = append(why, p.Text)
		}
	}
	if ctx.Err() != nil {
		why = append(why, "the host does not answer in time")
	}
	return why
}

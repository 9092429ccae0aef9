package admin

import (
	"net/http"
	"time"
)

// Run is a turn that runs, as far as it has come.
type Run struct {
	ID      int64     `json:"id"`
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	Since   time.Time `json:"since,omitzero"`  // the begin of this attempt
	Text    string    `json:"text,omitempty"`  // the end of what it has written, at most 4 KiB
	Cut     bool      `json:"cut,omitempty"`   // it has written more before that
	Tools   []string  `json:"tools,omitempty"` // the names of the tools that run, oldest first
}

// runs responds with the turns that run.
func (s *Server) runs(*http.Request) (any, error) {
	live := s.options.Host.Views.Live()
	list := make([]Run, 0, len(live))
	for _, l := range live {
		list = append(list, Run{ID: l.Run, Session: l.Session, Agent: l.Agent, Since: l.Since, Text: l.Text, Cut: l.Cut, Tools: l.Tools})
	}
	return list, nil
}

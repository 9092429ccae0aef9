package network

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Reporter receives a connection's state; an sdk.Inbox is one.
type Reporter interface {
	Report(state chat.State, detail string)
}

// Status holds the state of a channel's connection. It reports each change to the host once, and answers health checks. The
// zero Status is that of a channel that does not run yet.
type Status struct {
	mu     sync.Mutex
	to     Reporter
	state  chat.State
	detail string
}

// Begin sets the state to connecting and reports it and all later states to the inbox. Run calls it first.
func (s *Status) Begin(to Reporter) {
	s.mu.Lock()
	s.to, s.state = to, 0
	s.mu.Unlock()
	s.Report(chat.Connecting, "")
}

// Report sets the state and reports it if it has changed. The detail is for the operator and must not contain secrets.
func (s *Status) Report(state chat.State, detail string) {
	s.mu.Lock()
	same := s.state == state && s.detail == detail
	s.state, s.detail = state, detail
	to := s.to
	s.mu.Unlock()
	if !same {
		to.Report(state, detail)
	}
}

// End notes the error that Run is about to return, by which the host learns of the end. Health checks fail with it from then on.
func (s *Status) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.detail = chat.Disconnected, ""
	if err != nil {
		s.detail = err.Error()
	}
}

// Is reports whether the connection is in the given state.
func (s *Status) Is(state chat.State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == state
}

// Health implements sdk.HealthChecker: it returns nil if the channel is connected.
func (s *Status) Health(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state == chat.Connected:
		return nil
	case s.to == nil:
		return errors.New("not connected yet")
	case s.detail == "":
		return errors.New(s.state.String())
	default:
		return fmt.Errorf("%s: %s", s.state, s.detail)
	}
}

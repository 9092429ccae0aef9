package network

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Reporter is told of a connection's state, as an sdk.Inbox is.
type Reporter interface {
	Report(state chat.State, detail string)
}

// Status is how a channel's connection is. It tells the host each change once, and answers for the channel's health.
// The zero Status is that of a channel that does not run yet.
type Status struct {
	mu     sync.Mutex
	to     Reporter
	state  chat.State
	detail string
}

// Begin is for the beginning of Run: the channel connects, and the inbox is told of that and of what follows.
func (s *Status) Begin(to Reporter) {
	s.mu.Lock()
	s.to, s.state = to, 0
	s.mu.Unlock()
	s.Report(chat.Connecting, "")
}

// Report tells the state, if it is another one than before. The detail is for the operator and holds no secret.
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

// Is reports whether the connection is in this state.
func (s *Status) Is(state chat.State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == state
}

// Health implements sdk.HealthChecker: nil is connected.
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

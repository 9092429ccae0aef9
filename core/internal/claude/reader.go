package claude

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Line takes one line, and tells the running turn of its progress with no lock held that somebody else could want.
func (s *session) Line(line []byte) error {
	e, err := protocol.Parse(line)
	s.mu.Lock()
	s.heard = time.Now()
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.observe(e)
	tell := s.tell
	if tell == nil {
		s.mu.Unlock()
		return nil
	}
	progress, changed := s.exchange.Progress()
	if !changed {
		s.mu.Unlock()
		return nil
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Unlock()
	tell(progress)
	return nil
}

// End takes that there are no more lines.
func (s *session) End() { s.dismiss() }

// observe takes an event. The session is locked. A process is killed at once that something else than the host has written
// into: with the host's settings the CLI lets nothing in.
func (s *session) observe(e *protocol.Event) {
	if s.intruder != nil {
		return // what it still writes is an answer to somebody else
	}
	switch e.Type {
	case "control_request":
		if e.Request != nil {
			s.receive(e)
		}
		return
	case "control_cancel_request":
		s.retract(e.RequestID)
		return
	case "control_response":
		// Answers to the host's requests come, and so do copies of the host's own answers.
		if !s.isReady && e.Response.RequestID == initID {
			s.isReady = true
			close(s.ready)
		}
		s.answeredBy(e)
	case "system":
		if e.Subtype == "status" && e.Mode != "" {
			s.profile.PermissionMode = e.Mode // as when a plan was approved
		}
	case "result":
		s.meter.Count(e)
	}
	if s.intruder == nil && e.Origin != nil && e.Origin.Kind == "peer" {
		s.intruder = &e.Origin.PID
		s.proc.Kill()
		return
	}
	if s.exchange == nil {
		return
	}
	before := s.exchange.Stage()
	s.exchange.Observe(e)
	if s.exchange.Stage() != before {
		s.stir()
	}
}

// stir has whoever follows the turn look again. The session is locked.
func (s *session) stir() {
	close(s.moved)
	s.moved = make(chan struct{})
}

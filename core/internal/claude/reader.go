package claude

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// read takes the events from stdout until it ends.
func (s *session) read(stdout io.Reader) {
	buffered := bufio.NewReaderSize(stdout, 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			// It may have been the result: the turn cannot be followed any more.
			s.condemn("it wrote a line over the limit")
			return
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.line(line)
		}
		if err != nil {
			break
		}
	}
	s.suppressed(s.noise.End())
	// What closes its output while it runs is as good as dead. One that leaves is given time to say how.
	const leave = time.Second
	timer := time.NewTimer(leave)
	defer timer.Stop()
	select {
	case <-s.gone:
	case <-timer.C:
		s.condemn("it closed its output")
	}
}

// suppressed says how many complaints are missing in the log.
func (s *session) suppressed(lines int) {
	if lines > 0 {
		s.log.Warn("claude wrote more lines that are no events", "lines", lines)
	}
}

// condemn kills the process for a fault of its own.
func (s *session) condemn(fault string) {
	s.log.Error("claude is killed", "because", fault)
	s.mu.Lock()
	s.fault = fault
	s.mu.Unlock()
	s.kill()
}

// line takes one line, and tells the running turn of its progress with no lock held that somebody else could want.
func (s *session) line(line []byte) {
	e, err := protocol.Parse(line)
	if err != nil {
		logs, missing := s.noise.Take(0) // no text of it is logged
		s.suppressed(missing)
		if logs {
			s.log.Warn("claude wrote a line that is no event", "bytes", len(line))
		}
	}
	s.mu.Lock()
	s.heard = time.Now()
	if err != nil {
		s.mu.Unlock()
		return
	}
	s.observe(e)
	tell := s.tell
	if tell == nil {
		s.mu.Unlock()
		return
	}
	progress, changed := s.exchange.Progress()
	if !changed {
		s.mu.Unlock()
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Unlock()
	tell(progress)
}

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
		s.kill()
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

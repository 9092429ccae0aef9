package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Why a side question is not answered.
var (
	// ErrNotRunning: no process of the session's runs.
	ErrNotRunning = errors.New("claude does not run for this session")
	// ErrNoAside: the CLI takes no side questions.
	ErrNoAside = errors.New("this claude takes no side questions")
)

// The limits of a side question, in bytes.
const (
	maxQuestion = 16 << 10
	maxAside    = 256 << 10 // of its answer; more is cut
)

// Aside asks a session's claude something beside its turn, if one runs: it answers from the conversation so far, without
// tools, and neither is kept. Its errors are [ErrNotRunning], [ErrNoAside], ctx's, or what the CLI says.
func (p *Pool) Aside(ctx context.Context, session, question string) (string, error) {
	if strings.TrimSpace(question) == "" {
		return "", errors.New("the question is empty")
	}
	if len(question) > maxQuestion {
		return "", fmt.Errorf("the question is too long: at most %d KB are taken", maxQuestion>>10)
	}
	s := p.running(session)
	if s == nil {
		return "", ErrNotRunning
	}
	id := uuid.NewString()
	answers, forget := s.expectAnswer(id)
	defer forget()
	s.request(id, map[string]any{"subtype": "side_question", "question": question})
	select {
	case e := <-answers:
		return p.aside(e)
	case <-s.proc.Exited():
		return "", ErrNotRunning
	case <-ctx.Done():
		s.proc.Send(map[string]any{"type": "control_cancel_request", "request_id": id})
		return "", context.Cause(ctx)
	}
}

// aside reads the answer to a side question. What the CLI says in the model's place is an error.
func (p *Pool) aside(e *protocol.Event) (string, error) {
	r := e.Response
	text := strings.TrimSpace(cut(r.Response.Text, maxAside))
	switch {
	case strings.HasPrefix(r.Error, "Unsupported control request"):
		return "", ErrNoAside
	case r.Subtype == "error":
		return "", errors.New("side question: " + p.redact(r.Error))
	case r.Response.Synthetic || text == "":
		return "", errors.New("side question: " + p.redact("no answer "+text))
	default:
		return text, nil
	}
}

// running is the live process of a session; nil: there is none.
func (p *Pool) running(id string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.live {
		if s.id == id && !s.leaving && s.isAlive() {
			return s
		}
	}
	return nil
}

// expectAnswer has the answer to a request of the host's sent to a channel, until it is forgotten.
func (s *session) expectAnswer(id string) (answers <-chan *protocol.Event, forget func()) {
	answer := make(chan *protocol.Event, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expected == nil {
		s.expected = map[string]chan<- *protocol.Event{}
	}
	s.expected[id] = answer
	return answer, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.expected, id)
	}
}

// answeredBy hands the answer to a request of the host's to whoever waits for it. The session is locked.
func (s *session) answeredBy(e *protocol.Event) {
	if answer := s.expected[e.Response.RequestID]; answer != nil {
		delete(s.expected, e.Response.RequestID)
		answer <- e
	}
}

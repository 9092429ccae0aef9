package client

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Reasons why a side question is not answered.
var (
	// ErrNotRunning: no process of the session's runs.
	ErrNotRunning = errors.New("claude does not run for this session")
	// ErrNoAside: the CLI does not support side questions.
	ErrNoAside = errors.New("this version of claude does not support side questions")
)

const maxAside = 256 << 10 // bytes of the answer to a side question; more is cut

// Aside asks claude a side question: it answers from the conversation so far, without tools, and neither
// becomes part of the conversation.
func (c *Client) Aside(ctx context.Context, question string) (string, error) {
	id := uuid.NewString()
	answers, forget := c.expectAnswer(id)
	defer forget()
	c.request(id, map[string]any{"subtype": "side_question", "question": question})
	select {
	case e := <-answers:
		return c.answerOf(e)
	case <-c.process.Exited():
		return "", ErrNotRunning
	case <-ctx.Done():
		c.process.Send(protocol.CancelRequest(id))
		return "", context.Cause(ctx)
	}
}

// answerOf reads the answer to a side question. A text of the CLI itself is an error.
func (c *Client) answerOf(e *protocol.Event) (string, error) {
	r := e.Response
	text := strings.TrimSpace(cut(r.Response.Text, maxAside))
	switch {
	case strings.HasPrefix(r.Error, "Unsupported control request"):
		return "", ErrNoAside
	case r.Subtype == "error":
		return "", errors.New("side question: " + c.command.Redact(r.Error))
	case r.Response.Synthetic || text == "":
		return "", errors.New("side question: " + c.command.Redact("no answer "+text))
	default:
		return text, nil
	}
}

// expectAnswer delivers the answer to a request of the host to a channel, until forget is called.
func (c *Client) expectAnswer(id string) (answers <-chan *protocol.Event, forget func()) {
	answer := make(chan *protocol.Event, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expected == nil {
		c.expected = map[string]chan<- *protocol.Event{}
	}
	c.expected[id] = answer
	return answer, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.expected, id)
	}
}

// answeredBy delivers the answer to a request of the host. The caller holds the lock.
func (c *Client) answeredBy(e *protocol.Event) {
	if answer := c.expected[e.Response.RequestID]; answer != nil {
		delete(c.expected, e.Response.RequestID)
		answer <- e
	}
}

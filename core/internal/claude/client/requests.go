package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// requests are the CLI's requests that are being answered during a turn: permission questions, and messages to the
// host's tools. They begin with the start of a process for the turn. Each has a goroutine, which Dismiss waits for. The
// client's lock guards the fields.
type requests struct {
	turn   agent.Turn
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	open   map[string]*request // by id
	asking int                 // open questions
	closed bool
}

// request is a request of the CLI that is being answered.
type request struct {
	id       string
	question bool
	call     string // the id of the JSON-RPC call in it, as JSON; empty: none
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

// Bounds of requests.
const (
	maxRequests    = 64        // at the same time
	maxInput       = 256 << 10 // of a tool that is asked about, in bytes
	maxDescription = 4 << 10   // bytes; more is cut
	maxPath        = 4 << 10   // bytes; more is cut
	maxRules       = 16        // suggested with a question
	maxRule        = 1 << 10   // bytes
	maxReason      = 8 << 10   // of a denial, in bytes; more is cut
)

// Attend begins to accept requests for a turn, unless it already does. They are answered until ctx ends or [Client.Dismiss].
func (c *Client) Attend(ctx context.Context, t agent.Turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = &requests{turn: t, open: map[string]*request{}}
		c.requests.ctx, c.requests.cancel = context.WithCancel(ctx)
	}
}

// Dismiss ends what Attend or Converse began: open requests get no answer.
func (c *Client) Dismiss() {
	c.mu.Lock()
	d := c.requests
	if d != nil {
		d.closed = true
		clear(d.open)
	}
	c.mu.Unlock()
	if d == nil {
		return
	}
	d.cancel()
	d.work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == d {
		c.requests = nil
	}
}

// receive handles a request of the CLI. The caller holds the lock.
func (c *Client) receive(e *protocol.Event) {
	switch e.Request.Subtype {
	case "can_use_tool":
		c.askedFor(e)
	case "mcp_message":
		c.sent(e)
	default:
		c.respond(e.RequestID, nil, "the host does not support this request")
	}
}

// begin answers a request in a goroutine. It reports whether the limit permits that. The caller holds the lock.
func (c *Client) begin(r *request, answer func(d *requests)) bool {
	d := c.requests
	if d == nil || d.closed || len(d.open) >= maxRequests || d.open[r.id] != nil {
		return false
	}
	r.ctx, r.cancel = context.WithCancelCause(d.ctx)
	d.open[r.id] = r
	if r.question {
		d.asking++
		c.stir()
	}
	d.work.Go(func() {
		defer r.cancel(nil)
		answer(d)
	})
	return true
}

// conclude closes a request with its answer, unless it was withdrawn or the turn has ended. nil: it is already
// answered.
func (c *Client) conclude(d *requests, r *request, body any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if body != nil && r.ctx.Err() == nil && d.open[r.id] == r {
		c.respond(r.id, body, "")
	}
	c.forget(d, r)
}

// retract handles a request that the CLI has withdrawn. The caller holds the lock.
func (c *Client) retract(id string) {
	if c.requests == nil || c.requests.open[id] == nil {
		return
	}
	r := c.requests.open[id]
	r.cancel(agent.ErrWithdrawn)
	c.forget(c.requests, r)
}

// forget removes a request. The caller holds the lock. The time of a question does not count as silence of the CLI.
func (c *Client) forget(d *requests, r *request) {
	if d.open[r.id] != r {
		return
	}
	delete(d.open, r.id)
	if r.question {
		d.asking--
		c.heard = time.Now()
		c.stir()
	}
}

// respond answers a request of the CLI; without a body, with an error.
func (c *Client) respond(id string, body any, failure string) {
	if body == nil {
		c.process.Send(protocol.ControlError(id, failure))
	} else {
		c.process.Send(protocol.ControlResponse(id, body))
	}
}

// deny answers a question with no.
func deny(reason string) map[string]any {
	return map[string]any{"behavior": "deny", "message": cut(reason, maxReason)}
}

// askedFor starts the decision on a question. If nobody can decide, the answer is no. The caller holds the lock.
func (c *Client) askedFor(e *protocol.Event) {
	tool := cut(e.Request.ToolName, maxRule)
	if c.requests == nil || c.requests.closed || c.requests.turn.Asker == nil {
		c.log.Info("a tool was not allowed", "tool", tool)
		c.respond(e.RequestID, deny(tool+" is not allowed here; the owner can add it to claude.allowed_tools."), "")
		return
	}
	if size := len(e.Request.Input); size > maxInput {
		c.log.Info("a tool's input is too large to be asked about", "tool", tool, "bytes", size)
		c.respond(e.RequestID, deny(fmt.Sprintf("Nobody was asked about this use of %s: its input has %d KB, and at most %d KB can be shown. "+
			"Do it in smaller steps.", tool, size>>10, maxInput>>10)), "")
		return
	}
	q := c.question(e)
	r := &request{id: e.RequestID, question: true}
	if !c.begin(r, func(d *requests) { c.conclude(d, r, c.decision(q, d.turn.Asker.Ask(r.ctx, q))) }) {
		c.respond(e.RequestID, deny("Too many questions are open at once; ask again when one of them is answered."), "")
	}
}

// question is the question of a can_use_tool request.
func (c *Client) question(e *protocol.Event) agent.Question {
	q := agent.Question{
		Tool: cut(e.Request.ToolName, maxRule), ToolUseID: cut(e.Request.ToolUseID, maxRule), Input: e.Request.Input,
		Description: cut(e.Request.Description, maxDescription), Outside: cut(outside(c.folder, e.Request.BlockedPath), maxPath),
	}
	if !isObject(q.Input) {
		q.Input = json.RawMessage("{}")
	}
	q.Suggested = rules(e.Request.Suggestions)
	return q
}

// outside returns the path that causes a question, if it is outside the folder: the CLI names all paths that it would
// write. They contain no links.
func outside(folder, path string) string {
	if in, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(in) {
		return ""
	}
	return path
}

// rules are those that would make a question unnecessary. If they alone would not, because the CLI also suggests
// another folder or mode, or if one exceeds the bounds, there are none: a partial grant would not help.
func rules(suggestions []protocol.Suggestion) []string {
	var list []string
	for _, s := range suggestions {
		if s.Type != "addRules" || s.Behavior != "allow" {
			return nil
		}
		for _, r := range s.Rules {
			rule := r.ToolName
			if r.RuleContent != "" {
				rule += "(" + r.RuleContent + ")"
			}
			if rule == "" || len(rule) > maxRule || len(list) == maxRules {
				return nil
			}
			list = append(list, rule)
		}
	}
	return list
}

// decision converts a decision for the CLI. Grants stay in the host: the CLI gets none.
func (c *Client) decision(q agent.Question, d agent.Decision) map[string]any {
	if !d.Allow {
		if strings.TrimSpace(d.Message) == "" {
			d.Message = q.Tool + " was not allowed."
		}
		answer := deny(d.Message)
		if d.Stop {
			answer["interrupt"] = true
		}
		return answer
	}
	input := q.Input
	if d.Input != nil {
		input = d.Input
	}
	if !isObject(input) {
		c.log.Error("a decision's input is no object", "tool", q.Tool)
		return deny("The answer to the question of " + q.Tool + " could not be passed on.")
	}
	return map[string]any{"behavior": "allow", "updatedInput": input}
}

// isObject reports whether data is a JSON object.
func isObject(data json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && json.Valid(data)
}

// cut bounds a text, in bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

package claude

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

// desk is where the CLI's requests are answered in the time of a turn: whether a tool may be used, and what is sent to the
// host's tools. It is there from the start of the process that is meant for the turn. Each request has a goroutine, which
// the desk waits for when it is closed. Its fields are guarded by the session's lock.
type desk struct {
	turn   agent.Turn
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	open   map[string]*request // by their ids
	asking int                 // questions among them
	closed bool
}

// request is a request of the CLI's that is being answered.
type request struct {
	id       string
	question bool
	call     string // the id of the JSON-RPC call in it, as JSON; empty: none
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

// The limits of what a desk takes.
const (
	maxRequests    = 64        // at once
	maxInput       = 256 << 10 // of a tool that is asked about, in bytes
	maxDescription = 4 << 10   // bytes; more is cut
	maxPath        = 4 << 10   // bytes; more is cut
	maxRules       = 16        // suggested with a question
	maxRule        = 1 << 10   // bytes
	maxReason      = 8 << 10   // of a denial, in bytes; more is cut
)

// attend opens the desk of a turn, if it is not open already.
func (s *session) attend(ctx context.Context, t agent.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.desk == nil {
		s.desk = &desk{turn: t, open: map[string]*request{}}
		s.desk.ctx, s.desk.cancel = context.WithCancel(ctx)
	}
}

// dismiss closes the desk: what was not answered is not answered any more.
func (s *session) dismiss() {
	s.mu.Lock()
	d := s.desk
	if d != nil {
		d.closed = true
		clear(d.open)
	}
	s.mu.Unlock()
	if d == nil {
		return
	}
	d.cancel()
	d.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.desk == d {
		s.desk = nil
	}
}

// receive takes a request of the CLI's. The session is locked.
func (s *session) receive(e *protocol.Event) {
	switch e.Request.Subtype {
	case "can_use_tool":
		s.askedFor(e)
	case "mcp_message":
		s.sent(e)
	default:
		s.respond(e.RequestID, nil, "the host does not support this request")
	}
}

// begin has a request answered by a goroutine of the desk. It tells whether there is a place for it. The session is locked.
func (s *session) begin(r *request, answer func(d *desk)) bool {
	d := s.desk
	if d == nil || d.closed || len(d.open) >= maxRequests || d.open[r.id] != nil {
		return false
	}
	r.ctx, r.cancel = context.WithCancelCause(d.ctx)
	d.open[r.id] = r
	if r.question {
		d.asking++
		s.stir()
	}
	d.work.Go(func() {
		defer r.cancel(nil)
		answer(d)
	})
	return true
}

// conclude closes a request with its answer, unless it was withdrawn or the turn has ended. nil: it is answered already.
func (s *session) conclude(d *desk, r *request, body any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if body != nil && r.ctx.Err() == nil && d.open[r.id] == r {
		s.respond(r.id, body, "")
	}
	s.forget(d, r)
}

// retract takes that the CLI does not want an answer any more. The session is locked.
func (s *session) retract(id string) {
	if s.desk == nil || s.desk.open[id] == nil {
		return
	}
	r := s.desk.open[id]
	r.cancel(agent.ErrWithdrawn)
	s.forget(s.desk, r)
}

// forget takes a request off the desk. The session is locked. The time that a question took was no silence of the CLI's.
func (s *session) forget(d *desk, r *request) {
	if d.open[r.id] != r {
		return
	}
	delete(d.open, r.id)
	if r.question {
		d.asking--
		s.heard = time.Now()
		s.stir()
	}
}

// respond answers a request of the CLI's, with an error if there is no body.
func (s *session) respond(id string, body any, failure string) {
	response := map[string]any{"subtype": "success", "request_id": id, "response": body}
	if body == nil {
		response = map[string]any{"subtype": "error", "request_id": id, "error": failure}
	}
	s.proc.Send(map[string]any{"type": "control_response", "response": response})
}

// deny answers a question with no.
func deny(reason string) map[string]any {
	return map[string]any{"behavior": "deny", "message": cut(reason, maxReason)}
}

// askedFor has a question decided. Where nobody can, the answer is no. The session is locked.
func (s *session) askedFor(e *protocol.Event) {
	tool := cut(e.Request.ToolName, maxRule)
	if s.desk == nil || s.desk.closed || s.desk.turn.Ask == nil {
		s.log.Info("a tool was not allowed", "tool", tool)
		s.respond(e.RequestID, deny(tool+" is not allowed here; the owner can add it to claude.allowed_tools."), "")
		return
	}
	if size := len(e.Request.Input); size > maxInput {
		s.log.Info("a tool's input is too large to be asked about", "tool", tool, "bytes", size)
		s.respond(e.RequestID, deny(fmt.Sprintf("Nobody was asked about this use of %s: its input has %d KB, and at most %d KB can be shown. "+
			"Do it in smaller steps.", tool, size>>10, maxInput>>10)), "")
		return
	}
	q := s.question(e)
	r := &request{id: e.RequestID, question: true}
	if !s.begin(r, func(d *desk) { s.conclude(d, r, s.decision(q, d.turn.Ask(r.ctx, q))) }) {
		s.respond(e.RequestID, deny("Too many questions are open at once; ask again when one of them is answered."), "")
	}
}

// question is what a can_use_tool request asks.
func (s *session) question(e *protocol.Event) agent.Question {
	q := agent.Question{
		Tool: cut(e.Request.ToolName, maxRule), ToolUseID: cut(e.Request.ToolUseID, maxRule), Input: e.Request.Input,
		Description: cut(e.Request.Description, maxDescription), Outside: cut(outside(s.folder, e.Request.BlockedPath), maxPath),
	}
	if !isObject(q.Input) {
		q.Input = json.RawMessage("{}")
	}
	q.Suggested = rules(e.Request.Suggestions)
	return q
}

// outside returns a path that the CLI holds a question for, unless it is in the folder: it names those that it would write, wherever
// they are. They come without links.
func outside(folder, path string) string {
	if in, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(in) {
		return ""
	}
	return path
}

// rules are those that would spare a question. Where they alone would not, as another folder or mode is suggested beside them, or
// one is over the limits, there are none: whoever has granted some of what it takes has not granted the rest.
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

// decision writes a decision as the CLI takes it. Grants are the host's: the CLI is told of none.
func (s *session) decision(q agent.Question, d agent.Decision) map[string]any {
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
		s.log.Error("a decision's input is no object", "tool", q.Tool)
		return deny("The answer to the question of " + q.Tool + " could not be passed on.")
	}
	return map[string]any{"behavior": "allow", "updatedInput": input}
}

// isObject tells whether data is a JSON object.
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

package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// requests are the CLI's requests: permission questions, and messages to the host's tools. Safe for concurrent use.
type requests struct {
	process Process
	folders []string      // the working directory and the workspace, as the CLI names them
	profile agent.Profile // of the process; its model, effort and speed may have changed
	log     hclog.Logger

	mu      sync.Mutex
	serving *service      // nil: no turn
	settled time.Time     // when the last question was closed
	moved   chan struct{} // closed and replaced when a question is opened or closed
}

// service answers the requests during a turn, from the start of a process for it. Each has a goroutine, for which dismiss
// waits. The lock of the requests guards the fields.
type service struct {
	turn   agent.Turn
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	open   map[string]*request // by id
	asking int                 // open questions
	forms  int                 // of MCP servers, in the turn
	closed bool
	before *service // of the expected turn, whose requests are still being answered; nil: none
}

func newRequests(process Process, folders []string, profile agent.Profile, log hclog.Logger) *requests {
	return &requests{process: process, folders: folders, profile: profile, log: log, moved: make(chan struct{})}
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

// Attend begins to accept requests for a turn, unless it already does. They are answered until ctx ends or [Client.Dismiss]. A turn
// without a message's UUID is only expected: it lists the tools for a process that starts, calls none, and is replaced by the turn that comes.
func (c *Client) Attend(ctx context.Context, t agent.Turn) { c.requests.attend(ctx, t) }

// Dismiss ends what Attend or Converse began: open requests get no answer.
func (c *Client) Dismiss() { c.requests.dismiss() }

func (rs *requests) attend(ctx context.Context, t agent.Turn) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.serving != nil && rs.serving.turn.UUID != "" {
		return
	}
	rs.serving = &service{turn: t, open: map[string]*request{}, before: rs.serving}
	rs.serving.ctx, rs.serving.cancel = context.WithCancel(ctx)
}

func (rs *requests) dismiss() {
	rs.mu.Lock()
	last := rs.serving
	for s := last; s != nil; s = s.before {
		s.closed = true
		clear(s.open)
	}
	rs.mu.Unlock()
	for s := last; s != nil; s = s.before {
		s.cancel()
		s.work.Wait()
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.serving == last {
		rs.serving = nil
	}
}

// questions reports whether questions are open, when the last one was closed, and what is closed when that changes.
func (rs *requests) questions() (open bool, settled time.Time, moved <-chan struct{}) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.serving != nil && rs.serving.asking > 0, rs.settled, rs.moved
}

// withdraw handles the id of a request that the CLI has withdrawn.
func (rs *requests) withdraw(id string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.retract(id)
}

// receive handles a request of the CLI.
func (rs *requests) receive(e *protocol.Event) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	switch e.Request.Subtype {
	case "can_use_tool":
		rs.askedFor(e)
	case "elicitation":
		rs.elicited(e)
	case "mcp_message":
		rs.sent(e)
	case "hook_callback":
		if e.Request.Callback == toolHook {
			rs.hooked(e)
			return
		}
		fallthrough
	default:
		// The CLI sends no request_user_dialog to a host that does not declare in initialize which dialogs it shows, and takes no error
		// for an answer to one: it waits until its own time is over. Dialogs with a plain question are asked by AskUserQuestion.
		rs.log.Info("a request of Claude Code is not supported", "request", cut(e.Request.Subtype, maxRule), "dialog", cut(e.Request.Dialog, maxRule))
		rs.respond(e.RequestID, nil, "the host does not support this request")
	}
}

// hooked decides whether a tool may be used at all.
func (rs *requests) hooked(e *protocol.Event) {
	var input struct {
		Tool  string `json:"tool_name"`
		Input struct {
			File     string `json:"file_path"`
			Notebook string `json:"notebook_path"`
		} `json:"tool_input"`
	}
	err := json.Unmarshal(e.Request.Input, &input)
	tool, why := cut(input.Tool, maxRule), ""
	switch file := cmp.Or(input.Input.File, input.Input.Notebook); {
	case err != nil, rs.profile.Only != "" && !rs.profile.Allows(input.Tool):
		rs.log.Info("a tool is not used in this group", "tool", tool)
		why = tool + " may not be used in this group. Go on without it."
	case slices.Contains(writers, input.Tool) && !rs.profile.Apart.Allows(file):
		rs.log.Info("a file of another working tree is not written", "tool", tool)
		why = "This file is in another working tree of the repository, which is not yours to change. Yours is " + rs.profile.Apart.Worktree + "."
	}
	if why == "" {
		rs.respond(e.RequestID, map[string]any{}, "")
		return
	}
	rs.respond(e.RequestID, map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
	}}, "")
}

// writers are the CLI's tools that write a file.
var writers = []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}

// begin answers a request in a goroutine. It reports whether the limit permits that. The caller holds the lock.
func (rs *requests) begin(r *request, answer func(s *service)) bool {
	s := rs.serving
	if s == nil || s.closed || len(s.open) >= maxRequests || s.open[r.id] != nil {
		return false
	}
	r.ctx, r.cancel = context.WithCancelCause(s.ctx)
	s.open[r.id] = r
	if r.question {
		s.asking++
		rs.stir()
	}
	s.work.Go(func() {
		defer r.cancel(nil)
		answer(s)
	})
	return true
}

// conclude closes a request with its answer, unless it was withdrawn or the turn has ended. nil: it is already
// answered.
func (rs *requests) conclude(s *service, r *request, body any) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if body != nil && r.ctx.Err() == nil && s.open[r.id] == r {
		rs.respond(r.id, body, "")
	}
	rs.forget(s, r)
}

// retract closes a request without an answer. The caller holds the lock.
func (rs *requests) retract(id string) {
	if rs.serving == nil || rs.serving.open[id] == nil {
		return
	}
	r := rs.serving.open[id]
	r.cancel(agent.ErrWithdrawn)
	rs.forget(rs.serving, r)
}

// forget removes a request. The caller holds the lock. The time of a question does not count as silence of the CLI.
func (rs *requests) forget(s *service, r *request) {
	if s.open[r.id] != r {
		return
	}
	delete(s.open, r.id)
	if r.question {
		s.asking--
		rs.settled = time.Now()
		rs.stir()
	}
}

// stir wakes the turn that waits for the questions. The caller holds the lock.
func (rs *requests) stir() {
	close(rs.moved)
	rs.moved = make(chan struct{})
}

// respond answers a request of the CLI; without a body, with an error.
func (rs *requests) respond(id string, body any, failure string) {
	if body == nil {
		rs.process.Send(protocol.ControlError(id, failure))
	} else {
		rs.process.Send(protocol.ControlResponse(id, body))
	}
}

// deny answers a question with no.
func deny(reason string) map[string]any {
	return map[string]any{"behavior": "deny", "message": cut(reason, maxReason)}
}

// askedFor starts the decision on a question. If there is no one to decide, the answer is no. The caller holds the lock.
func (rs *requests) askedFor(e *protocol.Event) {
	tool := cut(e.Request.ToolName, maxRule)
	if rs.serving == nil || rs.serving.closed || rs.serving.turn.Asker == nil {
		rs.log.Info("a tool was not allowed", "tool", tool)
		rs.respond(e.RequestID, deny(tool+" is not allowed here; the owner can add it to claude.allowed_tools."), "")
		return
	}
	if size := len(e.Request.Input); size > maxInput {
		rs.log.Info("a tool's input is too large to be asked about", "tool", tool, "bytes", size)
		rs.respond(e.RequestID,
			deny(fmt.Sprintf("Nobody was asked about this use of %s: its input has %d KB, and at most %d KB can be shown. "+
				"Do it in smaller steps.", tool, size>>10, maxInput>>10)), "")
		return
	}
	q := rs.question(e)
	r := &request{id: e.RequestID, question: true}
	if !rs.begin(r, func(s *service) { rs.conclude(s, r, rs.decision(q, s.turn.Asker.Ask(r.ctx, q))) }) {
		rs.respond(e.RequestID, deny("Too many questions are open at once; ask again when one of them is answered."), "")
	}
}

// question is the question of a can_use_tool request.
func (rs *requests) question(e *protocol.Event) agent.Question {
	q := agent.Question{
		Tool: cut(e.Request.ToolName, maxRule), ToolUseID: cut(e.Request.ToolUseID, maxRule), Input: e.Request.Input,
		Description: cut(e.Request.Description, maxDescription), Outside: cut(outside(rs.folders, e.Request.BlockedPath), maxPath),
	}
	if !isObject(q.Input) {
		q.Input = json.RawMessage("{}")
	}
	q.Suggested = rules(e.Request.Suggestions)
	return q
}

// outside returns the path that causes a question, if it is outside the folders: the CLI names all paths that it would
// write. They contain no links.
func outside(folders []string, path string) string {
	for _, folder := range folders {
		if in, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(in) {
			return ""
		}
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
func (rs *requests) decision(q agent.Question, d agent.Decision) map[string]any {
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
		rs.log.Error("a decision's input is no object", "tool", q.Tool)
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

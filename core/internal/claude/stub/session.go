package stub

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// message is a user line.
type message struct {
	uuid string
	text string
	acks []string // the uuids of lines that were merged into this one

	pictures []source
}

// session is the running stub. One goroutine owns it.
type session struct {
	opts    options
	log     *transcript
	out     *output
	model   string
	lines   chan line
	signals chan os.Signal

	queue    []message // lines that wait
	oneshot  bool
	over     bool   // stdin has ended
	quit     bool   // SIGINT: leave after this turn
	fatal    string // a line that the CLI does not accept: exit at once
	failed   bool   // the last result was an error
	busy     bool
	script   Script // of the running turn
	running  message
	steered  []message // lines that the running turn has taken
	files    *checkpoints
	reported map[string]any             // what the last tool reports of its use, besides its output; nil: nothing
	decided  string                     // whether that tool was allowed; empty: it was
	tasks    int                        // how many TaskCreate has made
	outputs  []string                   // of the running turn's tools
	pictures []string                   // what the running turn was shown of pictures
	loses    string                     // why the transcript was not saved, which is said at the end; empty: it was
	stop     bool                       // the running turn was interrupted
	aborted  string                     // how the interruption is reported
	tools    []string                   // the host's
	calls    int                        // of its MCP server
	hooks    []toolHook                 // that are asked before a tool is used
	hanging  []string                   // side questions that are not answered
	task     task                       // the running subagent
	lasting  *lasting                   // the one in the background; nil: none
	deaf     bool                       // interrupts are not taken, nor answered
	seen     map[string]bool            // ids of lines
	queued   map[string]bool            // ids of lines whose waiting was reported already
	answers  map[string]json.RawMessage // answers to control requests of the stub's
	cost     float64
	window   int // in tokens
	inTokens int
	output   int
	ballast  []byte      // memory that is held
	stdins   []io.Closer // of MCP servers, kept open
}

// loop serves until stdin ends, and returns the exit code.
func (s *session) loop() int {
	for {
		switch {
		case s.fatal != "":
			s.out.flush()
			return 1
		case s.quit:
			s.out.flush()
			return 0
		case len(s.queue) > 0:
			s.turn(s.merge())
		case s.over && s.lasting == nil:
			if s.loses != "" && !s.failed {
				s.out.send(map[string]any{"type": "system", "subtype": "session_writes_lost", "error_code": s.loses, "lost": []string{"transcript"}, "transcript_session_ids": []string{s.opts.session}})
			}
			s.out.flush()
			if s.failed {
				return 1
			}
			return 0
		default:
			s.out.flush()
			s.wait(nil, nil)
		}
	}
}

// merge takes all waiting messages as one turn, as the CLI does.
func (s *session) merge() message {
	m := s.queue[0]
	m.acks = []string{m.uuid}
	for _, more := range s.queue[1:] {
		m = message{
			uuid: more.uuid, text: m.text + "\n" + more.text, acks: append(m.acks, more.uuid),
			pictures: append(m.pictures, more.pictures...),
		}
	}
	s.queue = nil
	return m
}

// receive handles a line. One whose id was seen before is only acknowledged.
func (s *session) receive(m message) {
	if s.seen[m.uuid] {
		s.echo(m.uuid, m.text)
		if !s.busy {
			s.state("idle")
		}
		s.out.flush()
		return
	}
	s.seen[m.uuid] = true
	s.queue = append(s.queue, m)
	if s.busy {
		s.queued[m.uuid] = true
		if err := s.log.wait(m); err != nil {
			s.fatal = "Error: " + err.Error()
			return
		}
		s.lifecycle(m.uuid, "queued")
		s.out.flush()
		s.crash(s.script, "queued", s.running)
	}
}

// withdraw drops a waiting line, and reports whether there was one.
func (s *session) withdraw(id string) bool {
	if s.busy && s.script.Keeps {
		return false
	}
	for i, m := range s.queue {
		if m.uuid == id {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			s.lifecycle(id, "cancelled")
			return true
		}
	}
	return false
}

// wait handles one event from outside, and reports whether it was timer or done.
func (s *session) wait(timer <-chan time.Time, done <-chan struct{}) bool {
	select {
	case l, ok := <-s.lines:
		if !ok {
			s.over, s.lines = true, nil
			return false
		}
		s.line(l.data)
		return false
	case <-s.signals:
		s.quit, s.stop = true, true
		return false
	case <-timer:
		return true
	case <-done:
		return true
	case <-s.out.held.due:
		s.out.release()
		s.out.flush()
		return false
	case <-s.idleEnd():
		s.settle("completed", "completed")
		return false
	}
}

// sleep waits while handling events. It returns early when the turn is interrupted or the stub must exit.
func (s *session) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	s.out.flush()
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !s.stop && s.fatal == "" {
		if s.wait(timer.C, nil) {
			return
		}
	}
}

// input is a line of stdin.
type input struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Message *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
		Model   string `json:"model"`
		Mode    string `json:"mode"`
		UUID    string `json:"message_uuid"`
		Task    string `json:"task_id"`
		Sweep   bool   `json:"cancel_queued"`
		Rewind  string `json:"user_message_id"`
		Dry     bool   `json:"dry_run"`

		Settings map[string]any `json:"settings"` // of apply_flag_settings: others stay as they are
		Thinking *int           `json:"max_thinking_tokens"`
		Question string         `json:"question"`
		Servers  []string       `json:"sdkMcpServers"`
		System   string         `json:"appendSystemPrompt"`
		Hooks    struct {
			PreToolUse []struct {
				Matcher string   `json:"matcher"` // the tools, separated by |, or *
				IDs     []string `json:"hookCallbackIds"`
			} `json:"PreToolUse"`
		} `json:"hooks"`
	} `json:"request"`
	Response struct {
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
	} `json:"response"`
}

// line handles a line of stdin. An invalid one ends the process.
func (s *session) line(data []byte) {
	if len(strings.TrimSpace(string(data))) == 0 {
		return
	}
	var in input
	if err := json.Unmarshal(data, &in); err != nil {
		s.fatal = "Error parsing streaming input line: " + err.Error()
		return
	}
	switch in.Type {
	case "user":
		if in.Message == nil || in.Message.Role != "user" {
			s.fatal = "Error: Expected message role 'user'"
			return
		}
		text, pictures, err := parts(in.Message.Content)
		if err != nil {
			s.fatal = "Error: " + err.Error()
			return
		}
		if in.UUID == "" {
			in.UUID = uuid.NewString()
		}
		s.receive(message{uuid: in.UUID, text: text, pictures: pictures})
	case "control_request":
		s.control(in)
	case "control_cancel_request":
		if slices.Contains(s.hanging, in.RequestID) {
			s.refuse(in.RequestID, "Side question cancelled")
		}
	case "control_response":
		s.answers[in.Response.RequestID] = in.Response.Response
	}
}

// control answers a control request.
func (s *session) control(in input) {
	var response map[string]any
	switch in.Request.Subtype {
	case "initialize":
		s.opts.system = in.Request.System
		for _, hook := range in.Request.Hooks.PreToolUse {
			s.hooks = append(s.hooks, toolHook{strings.Split(hook.Matcher, "|"), hook.IDs})
		}
		if s.opts.server && slices.Contains(in.Request.Servers, serverName) {
			greeting, _ := s.tell("initialize", map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "claude-code", "version": Version},
			}, true)
			defer s.meet(greeting)
		}
		response = map[string]any{
			"commands": []any{}, "agents": []any{}, "models": abilities(), "account": map[string]any{},
			"pid": os.Getpid(), "output_style": "default",
		}
	case "interrupt":
		if s.deaf {
			return
		}
		s.stop = s.stop || s.busy
		s.interruptTask()
		response = s.interrupt(in.Request.Sweep && !s.opts.legacy)
	case "set_model":
		if strings.HasPrefix(in.Request.Model, "unknown") {
			s.refuse(in.RequestID, "Unable to validate model: "+in.Request.Model)
			return
		}
		s.choose(in.Request.Model)
	case "apply_flag_settings":
		if level, set := in.Request.Settings["effortLevel"]; set {
			effort, _ := level.(string)
			s.opts.effort = cmp.Or(effort, defaultEffort)
		}
		if fast, set := in.Request.Settings["fastMode"].(bool); set {
			s.opts.fast = fast
		}
	case "get_settings":
		response = map[string]any{"effective": map[string]any{}, "applied": map[string]any{"model": s.model, "effort": s.opts.effort}}
	case "set_permission_mode":
		response = map[string]any{"mode": in.Request.Mode}
	case "set_max_thinking_tokens":
		s.opts.unthink = in.Request.Thinking != nil && *in.Request.Thinking == 0
	case "get_context_usage":
		response = map[string]any{"totalTokens": s.inTokens + s.output, "maxTokens": s.window, "percentage": 0}
	case "get_usage":
		response = map[string]any{"session": map[string]any{}, "subscription_type": nil, "rate_limits_available": s.opts.plan != nil, "rate_limits": s.opts.plan, "behaviors": nil}
	case "mcp_status":
		response = map[string]any{"mcpServers": []any{}}
	case "cancel_async_message":
		response = map[string]any{"cancelled": s.withdraw(in.Request.UUID)}
	case "rewind_files":
		response = s.files.rewind(in.Request.Rewind, in.Request.Dry)
		if response["canRewind"] == false && !in.Request.Dry {
			s.refuse(in.RequestID, response["error"].(string))
			return
		}
	case "stop_task":
		if response = s.stopTask(in); response == nil {
			return
		}
	case "side_question":
		if response = s.aside(in); response == nil {
			return
		}
	default:
		s.refuse(in.RequestID, "Unsupported control request subtype: "+in.Request.Subtype)
		return
	}
	answer := map[string]any{"subtype": "success", "request_id": in.RequestID}
	if response != nil {
		answer["response"] = response
	}
	s.out.bare(map[string]any{"type": "control_response", "response": answer})
	s.out.flush()
}

// aside answers a side question; nil: it was answered otherwise, or is not.
func (s *session) aside(in input) map[string]any {
	script := ""
	if s.busy {
		script = s.script.Aside
	}
	if script == "unsupported" {
		s.refuse(in.RequestID, "Unsupported control request subtype: side_question")
		return nil
	}
	s.out.send(map[string]any{"type": "system", "subtype": "control_request_progress", "request_id": in.RequestID, "status": "started"})
	s.out.flush()
	switch script {
	case "hang":
		s.hanging = append(s.hanging, in.RequestID)
		return nil
	case "failed":
		return map[string]any{"response": "(API error: overloaded)", "synthetic": true}
	case "":
		answer := "aside: " + in.Request.Question
		if s.opts.demo {
			answer = demoAnswer + code(said(in.Request.Question))
		}
		return map[string]any{"response": answer, "synthetic": false}
	default:
		return map[string]any{"response": script, "synthetic": false}
	}
}

// refuse answers a control request with an error.
func (s *session) refuse(id, text string) {
	s.out.bare(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "error", "request_id": id, "error": text}})
	s.out.flush()
}

// interrupt answers a request to stop; sweep also drops what waits.
func (s *session) interrupt(sweep bool) map[string]any {
	ids := []string{}
	for _, m := range s.queue {
		ids = append(ids, m.uuid)
	}
	if !sweep {
		return map[string]any{"still_queued": ids}
	}
	for _, id := range ids {
		s.withdraw(id)
	}
	return map[string]any{"still_queued": []string{}, "cancelled": ids}
}

// lifecycle reports the state of a line.
func (s *session) lifecycle(id, state string) {
	if !s.opts.legacy {
		s.out.send(map[string]any{"type": "command_lifecycle", "command_uuid": id, "state": state})
	}
}

// state reports what the session is doing.
func (s *session) state(name string) {
	s.out.send(map[string]any{"type": "system", "subtype": "session_state_changed", "state": name})
}

// echo acknowledges a line.
func (s *session) echo(id, text string) {
	if s.opts.replay {
		s.out.send(map[string]any{
			"type": "user", "uuid": id, "isReplay": true, "parent_tool_use_id": nil,
			"message": map[string]any{"role": "user", "content": text},
		})
	}
}

// orphaned is the point at which a crash ends a process whose stdin has ended, each time that happens.
const orphaned = "orphaned"

// crash ends the process here if the script says so and it has not been done for this message.
func (s *session) crash(script Script, point string, m message) {
	if script.Crash != point || point != orphaned && !s.log.crashOnce(m.uuid) {
		return
	}
	if script.Exit != nil {
		s.out.release()
	}
	s.out.flush()
	if script.Exit != nil {
		os.Exit(*script.Exit)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

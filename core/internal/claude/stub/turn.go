package stub

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// window is the context window that the stub claims, in tokens.
const window = 200000

// turn runs one turn for a message. The order of the lines is the CLI's.
func (s *session) turn(m message) {
	script, rest := directive(m.text, s.opts.script)
	s.crash(script, "before", m)
	if answered, seen := s.log.asked[m.uuid]; seen && (answered || m.uuid != s.log.last || s.opts.legacy) {
		// It was consumed before: acknowledged, and nothing else. (A message without any reaction runs again.)
		s.echo(m.uuid, m.text)
		if s.opts.resume {
			s.lifecycle(m.uuid, "completed")
		}
		s.state("idle")
		return
	}
	if script.Unsolicited {
		s.unsolicited()
	}
	s.busy, s.stop, s.deaf = true, false, false
	defer func() { s.busy = false }()
	began := time.Now()
	s.state("running")
	for _, id := range m.acks {
		s.lifecycle(id, "queued")
		s.lifecycle(id, "started")
	}
	s.out.send(map[string]any{
		"type": "system", "subtype": "init", "cwd": s.log.workDir, "model": s.model, "tools": []string{"Bash"},
		"permissionMode": "default", "claude_code_version": Version, "mcp_servers": []any{},
	})
	s.status("requesting")
	if script.Crash == "ack" {
		s.acknowledge(m)
		s.crash(script, "ack", m)
	}
	open := s.log.open
	if err := s.log.ask(m); err != nil {
		s.fatal = "Error: " + err.Error()
		return
	}
	s.acknowledge(m)
	s.crash(script, "consumed", m)
	s.sleep(max(s.opts.delay, time.Duration(script.DelayMS)*time.Millisecond))

	if script.Garbage {
		s.garbage()
	}
	if script.Compact {
		s.compact()
	}
	if script.Question != "" {
		s.ask(map[string]any{"subtype": script.Question})
	}
	if script.Tool != "" && !s.stop {
		s.tool(script, m)
	}
	if script.Error != "" && !s.stop {
		s.fail(script.Error, m, began)
		return
	}
	text := s.text(script, rest, open)
	if !s.stop {
		s.answer(script, text, m)
	}
	if s.stop {
		s.interrupted(m, began, "aborted_streaming")
		return
	}
	s.crash(script, "answered", m)
	s.result(map[string]any{
		"subtype": "success", "is_error": false, "result": text, "stop_reason": "end_turn", "terminal_reason": "completed",
	}, m, began)
	s.crash(script, "result", m)
	s.finish(m, "completed")
}

// acknowledge echoes the lines of a turn.
func (s *session) acknowledge(m message) {
	for _, id := range m.acks {
		s.echo(id, m.text)
	}
}

// text is what the stub answers. A message that asks to go on, after a kill, gets the answer of the one before.
func (s *session) text(script Script, rest, open string) string {
	if open != "" && strings.Contains(rest, "was cut off") {
		var again Script
		again, rest = directive(open, s.opts.script)
		script.Answer, script.Huge = again.Answer, again.Huge
	}
	switch {
	case script.Huge > 0:
		return strings.Repeat("x", script.Huge)
	case script.Answer != "":
		return script.Answer
	case s.opts.demo:
		return "Demo answer (no claude CLI): you wrote “" + lastLine(rest) + "”"
	default:
		return "echo: " + rest
	}
}

// lastLine is the last line with text in it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

func (s *session) status(name any) {
	s.out.send(map[string]any{"type": "system", "subtype": "status", "status": name})
}

// stream sends a raw event of the Messages API.
func (s *session) stream(event map[string]any) {
	if s.opts.partial {
		s.out.send(map[string]any{"type": "stream_event", "event": event, "parent_tool_use_id": nil})
	}
}

// usage is what the Messages API would count; a token is four bytes here.
func (s *session) usage(out int) map[string]any {
	return map[string]any{
		"input_tokens": s.inTokens, "output_tokens": out, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10,
	}
}

// answer streams the text of the answer and records it.
func (s *session) answer(script Script, text string, m message) {
	s.inTokens += 1 + len(m.text)/4
	id := "msg_" + uuid.NewString()[:8]
	s.begin(id)
	s.stream(map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	pieces := []string{text}
	if script.TokenDelayMS > 0 || script.Hang != "" || script.Crash == "answer" {
		pieces = strings.SplitAfter(text, " ")
	}
	for i, piece := range pieces {
		if i == (len(pieces)+1)/2 || len(pieces) == 1 {
			s.crash(script, "answer", m)
			if script.Hang != "" {
				s.deafen(script)
				s.sleep(24 * time.Hour)
			}
		}
		if s.stop {
			return
		}
		s.stream(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": piece}})
		s.sleep(time.Duration(script.TokenDelayMS) * time.Millisecond)
	}
	if s.stop {
		return
	}
	blocks := []string{text}
	if script.Blocks {
		blocks = strings.Split(text, "\n")
	}
	content := make([]any, len(blocks))
	for i, block := range blocks {
		content[i] = map[string]any{"type": "text", "text": block}
		s.assistant(id, content[i], nil)
	}
	s.end(id, "end_turn", len(text)/4)
	if err := s.log.answer(content, id, s.model, "end_turn", false); err != nil {
		s.fatal = "Error: " + err.Error()
	}
}

// deafen has the stub ignore what ends a turn.
func (s *session) deafen(script Script) {
	s.deaf = script.Hang == "deaf" || script.Hang == "dead"
	if script.Hang == "dead" {
		signal.Ignore(os.Interrupt)
	}
}

// begin and end frame a message of the API's stream.
func (s *session) begin(id string) {
	s.stream(map[string]any{"type": "message_start", "message": map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": s.model, "content": []any{}, "usage": s.usage(1),
	}})
}

func (s *session) end(_, stop string, tokens int) {
	s.output += tokens
	s.stream(map[string]any{"type": "content_block_stop", "index": 0})
	s.stream(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop}, "usage": s.usage(tokens)})
	s.stream(map[string]any{"type": "message_stop"})
}

// assistant sends one content block as the CLI does: an event each.
func (s *session) assistant(id string, block any, extra map[string]any) {
	event := map[string]any{
		"type": "assistant", "parent_tool_use_id": nil,
		"message": map[string]any{
			"id": id, "type": "message", "role": "assistant", "model": s.model, "content": []any{block}, "stop_reason": nil,
			"usage": s.usage(1),
		},
	}
	for key, value := range extra {
		event[key] = value
	}
	s.out.send(event)
}

// tool runs a shell command as the CLI's Bash tool does: in a session of its own, killed as a process group.
func (s *session) tool(script Script, m message) {
	id, call := "msg_"+uuid.NewString()[:8], "toolu_"+uuid.NewString()[:8]
	use := map[string]any{"type": "tool_use", "id": call, "name": "Bash", "input": map[string]any{"command": script.Tool}}
	s.begin(id)
	s.assistant(id, use, nil)
	s.end(id, "tool_use", 10)
	if err := s.log.answer([]any{use}, id, s.model, "tool_use", false); err != nil {
		s.fatal = "Error: " + err.Error()
		return
	}
	output, failed := "", true
	if script.Ask && !s.allowed("Bash") {
		s.state("requires_action")
		allowed, reason := s.ask(map[string]any{
			"subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "input": use["input"], "tool_use_id": call,
			"permission_suggestions": []any{},
		})
		s.state("running")
		if !allowed {
			s.toolResult(call, reason, true)
			return
		}
	}
	if !s.stop {
		output, failed = s.shell(script, m)
	}
	if s.stop {
		output = "The user doesn't want to proceed with this tool use."
	}
	s.toolResult(call, output, failed)
	for _, steered := range s.steered {
		s.lifecycle(steered.uuid, "started")
		s.echo(steered.uuid, steered.text)
		s.lifecycle(steered.uuid, "completed")
		if err := s.log.ask(steered); err != nil {
			s.fatal = "Error: " + err.Error()
		}
	}
	s.steered = nil
}

func (s *session) allowed(name string) bool {
	for _, rule := range s.opts.allowed {
		if rule == name {
			return true
		}
	}
	return false
}

func (s *session) toolResult(call, output string, failed bool) {
	block := []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}}
	s.out.send(map[string]any{
		"type": "user", "parent_tool_use_id": nil, "message": map[string]any{"role": "user", "content": block},
	})
	if err := s.log.note(block); err != nil {
		s.fatal = "Error: " + err.Error()
	}
}

// shell runs the command and serves stdin meanwhile.
func (s *session) shell(script Script, m message) (string, bool) {
	file, err := os.CreateTemp("", "claude-stub-")
	if err != nil {
		return err.Error(), true
	}
	defer os.Remove(file.Name())
	defer file.Close()
	cmd := exec.Command("sh", "-c", script.Tool)
	cmd.Env = append(os.Environ(), "CLAUDE_CODE_SESSION_ID="+s.opts.session, "CLAUDECODE=1")
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err.Error(), true
	}
	done := make(chan struct{})
	go func() {
		err = cmd.Wait()
		close(done)
	}()
	s.inTool = true
	s.out.flush()
	s.crash(script, "tool", m)
	s.deafen(script)
	for !s.stop && s.fatal == "" {
		if s.wait(nil, done) {
			break
		}
	}
	s.inTool, s.deaf = false, false
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-done
	data, readErr := os.ReadFile(file.Name())
	if readErr != nil {
		return readErr.Error(), true
	}
	return string(data), err != nil
}

// ask sends a control request and waits for its answer.
func (s *session) ask(request map[string]any) (allowed bool, message string) {
	id := uuid.NewString()
	s.out.bare(map[string]any{"type": "control_request", "request_id": id, "request": request})
	s.out.flush()
	for !s.stop && s.fatal == "" && !s.over {
		if data, ok := s.answers[id]; ok {
			delete(s.answers, id)
			var answer struct {
				Behavior string `json:"behavior"`
				Message  string `json:"message"`
			}
			_ = json.Unmarshal(data, &answer) // an error has no response: not allowed
			return answer.Behavior == "allow", answer.Message
		}
		s.wait(nil, nil)
	}
	s.out.bare(map[string]any{"type": "control_cancel_request", "request_id": id})
	return false, "cancelled"
}

// garbage sends what a reader must survive.
func (s *session) garbage() {
	s.out.raw("this is no JSON\n\n{\"type\":\"surprise\",\"x\":[1,{\"y\":null}]}\n[1,2]\n\"text\"\n{\"type\":17}\nnull\n")
	s.out.send(map[string]any{"type": "system", "subtype": "surprise"})
	s.out.send(map[string]any{"type": "assistant", "message": "no object", "parent_tool_use_id": nil})
	s.out.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": 5}})
}

// compact shows a compaction as the CLI does.
func (s *session) compact() {
	s.status("compacting")
	s.out.send(map[string]any{"type": "system", "subtype": "status", "status": nil, "compact_result": "success"})
	s.out.send(map[string]any{
		"type": "system", "subtype": "compact_boundary",
		"compact_metadata": map[string]any{"trigger": "auto", "pre_tokens": 190022, "post_tokens": 626},
	})
	s.inTokens = 626
}

// unsolicited runs a turn that nobody asked for, as the end of a background task does.
func (s *session) unsolicited() {
	s.state("running")
	s.out.send(map[string]any{"type": "system", "subtype": "init", "cwd": s.log.workDir, "model": s.model})
	s.assistant("msg_task", map[string]any{"type": "text", "text": "the task is done"}, nil)
	s.result(map[string]any{
		"subtype": "success", "is_error": false, "result": "the task is done", "stop_reason": "end_turn",
		"terminal_reason": "completed", "origin": map[string]any{"kind": "task-notification"},
	}, message{}, time.Now())
	s.state("idle")
}

// fail ends the turn with a failure of the table.
func (s *session) fail(name string, m message, began time.Time) {
	f, ok := failures[name]
	if !ok {
		s.fatal = "Error: no such failure: " + name
		return
	}
	var status any
	if f.status != 0 {
		status = f.status
	}
	for i := range f.retries {
		s.out.send(map[string]any{
			"type": "system", "subtype": "api_retry", "attempt": i + 1, "max_retries": f.retries, "retry_delay_ms": 5,
			"error_status": status, "error": f.error,
		})
	}
	if f.resetsAt != 0 {
		s.out.send(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]any{
			"status": "rejected", "resetsAt": f.resetsAt, "rateLimitType": "five_hour", "isUsingOverage": false,
		}})
	}
	if f.refusal {
		s.out.send(map[string]any{"type": "system", "subtype": "model_refusal_no_fallback", "original_model": s.model, "refused_user_message_uuid": m.uuid})
	}
	result := map[string]any{"is_error": true, "api_error_status": status, "stop_reason": "stop_sequence", "terminal_reason": "api_error", "subtype": "success"}
	if f.stop != "" {
		result["stop_reason"] = f.stop
	}
	if f.terminal != "" {
		result["terminal_reason"] = f.terminal
	}
	if f.subtype != "" {
		result["subtype"], result["errors"] = f.subtype, []string{}
	} else {
		result["result"] = f.text
		content := []any{map[string]any{"type": "text", "text": f.text}}
		s.out.send(map[string]any{
			"type": "assistant", "parent_tool_use_id": nil, "error": f.error,
			"message": map[string]any{
				"id": uuid.NewString(), "type": "message", "role": "assistant", "model": "<synthetic>",
				"content": content, "stop_reason": result["stop_reason"], "usage": map[string]any{},
			},
		})
		if err := s.log.answer(content, uuid.NewString(), "<synthetic>", "stop_sequence", true); err != nil {
			s.fatal = "Error: " + err.Error()
		}
	}
	s.result(result, m, began)
	s.finish(m, "cancelled")
}

// interrupted ends the turn as an interrupt or SIGINT does.
func (s *session) interrupted(m message, began time.Time, terminal string) {
	note := []any{map[string]any{"type": "text", "text": "[Request interrupted by user]"}}
	s.out.send(map[string]any{"type": "user", "parent_tool_use_id": nil, "message": map[string]any{"role": "user", "content": note}})
	s.log.open = ""
	if err := s.log.note(note); err != nil {
		s.fatal = "Error: " + err.Error()
	}
	s.result(map[string]any{
		"subtype": "error_during_execution", "is_error": true, "stop_reason": nil, "terminal_reason": terminal, "errors": []string{},
	}, m, began)
	s.stop = s.quit
	s.finish(m, "cancelled")
}

// result sends the result event with its figures: those of the turn, and those of the process.
func (s *session) result(fields map[string]any, m message, began time.Time) {
	const costOfTurn = 0.0125
	s.cost += costOfTurn
	s.failed, _ = fields["is_error"].(bool)
	model := func(cost float64, in, out int) map[string]any {
		return map[string]any{s.model: map[string]any{
			"inputTokens": in, "outputTokens": out, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 10,
			"costUSD": cost, "contextWindow": window, "maxOutputTokens": 64000,
		}}
	}
	ms := time.Since(began).Milliseconds()
	event := map[string]any{
		"type": "result", "duration_ms": ms, "duration_api_ms": ms, "num_turns": 1, "total_cost_usd": s.cost,
		"usage": s.usage(len(m.text) / 4), "modelUsage": model(s.cost, s.inTokens, s.output), "permission_denials": []any{},
	}
	if !s.opts.legacy {
		event["model_usage_since_last_result"] = model(costOfTurn, s.inTokens, len(m.text)/4)
		if m.uuid != "" {
			event["user_message_uuid"], event["user_message_uuids"] = m.uuid, m.acks
		}
	}
	for key, value := range fields {
		event[key] = value
	}
	switch s.opts.output {
	case "text":
		s.out.raw(fmt.Sprintln(fields["result"]))
	default:
		s.out.send(event)
	}
}

// finish tells the lines' fates.
func (s *session) finish(m message, fate string) {
	for _, id := range m.acks {
		s.lifecycle(id, fate)
	}
	s.state("idle")
	s.out.flush()
}

package stub

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// defaultWindow is the context window that the stub claims, in tokens.
const defaultWindow = 200000

// turn runs one turn for a message. The order of the lines is the CLI's.
func (s *session) turn(m message) {
	script, rest := s.scripted(m.text)
	s.crash(script, "before", m)
	if answered, seen := s.log.asked[m.uuid]; seen && (answered || m.uuid != s.log.last || s.opts.legacy) {
		// It was consumed before: only acknowledged. (A message without any reaction runs again.)
		s.echo(m.uuid, m.text)
		if s.opts.resume {
			s.lifecycle(m.uuid, "completed")
		}
		s.state("idle")
		return
	}
	s.sends("before", script)
	if script.Unsolicited {
		s.unsolicited()
	}
	s.busy, s.stop, s.deaf = true, false, false
	s.script, s.running, s.steered, s.outputs, s.pictures, s.aborted = script, m, nil, nil, nil, "aborted_streaming"
	defer func() { s.busy = false }()
	began := time.Now()
	s.state("running")
	for _, id := range m.acks {
		if !s.queued[id] {
			s.lifecycle(id, "queued")
		}
		s.lifecycle(id, "started")
	}
	if script.Void == "always" || script.Void == "once" && s.log.crashOnce(m.uuid) {
		s.void(m, began)
		return
	}
	if script.Window > 0 {
		s.window = script.Window
	}
	s.hold(script.Hold)
	if isCompact(m.text) && script.Error == "" {
		s.compactNow(script, m, began)
		return
	}
	s.init()
	s.status("requesting")
	if script.Crash == "ack" {
		s.acknowledge(m)
		s.crash(script, "ack", m)
	}
	if open := s.log.open; open != "" && strings.Contains(rest, "was cut off") {
		script, rest = s.resumed(script, open)
	}
	if err := s.log.ask(m); err != nil {
		s.fatal = "Error: " + err.Error()
		return
	}
	for _, id := range m.acks {
		if err := s.files.begin(id); err != nil {
			s.fatal = "Error: " + err.Error()
			return
		}
	}
	s.acknowledge(m)
	s.crash(script, "consumed", m)
	s.see(m)
	s.sleep(max(s.opts.delay, time.Duration(script.DelayMS)*time.Millisecond))

	if script.Fallback != "" {
		defer s.fallBack(script.Fallback)()
	}
	if script.Garbage {
		s.garbage()
	}
	s.sends("answer", script)
	s.out.raw(strings.Repeat("noise\n", script.Noise))
	if script.Peer != "" {
		s.peer(script.Peer)
	}
	if script.Endless {
		s.out.endless()
	}
	if script.Mute {
		s.out.close()
		for range s.lines { // till stdin ends
		}
	}
	if script.Compact {
		s.compact()
	}
	if script.Loses != "" {
		s.loses = script.Loses
	}
	if script.Question != "" {
		s.ask(map[string]any{"subtype": script.Question})
	}
	if script.Outgrown && len(s.log.history) > 1 {
		script.Error = "overflow"
	}
	if script.Rejected == "process" && !s.opts.resume || s.log.refused {
		script.Error = "other"
	}
	if f := s.limited(); f != nil {
		s.failWith(*f, m, began)
		return
	}
	thinking := s.work(script, m)
	if script.Error != "" && !s.stop {
		s.troubles(script)
		s.fail(script.Error, m, began)
		return
	}
	text := s.text(script, rest)
	if !s.stop {
		s.answer(script, text, thinking, m)
	}
	for _, l := range s.steered {
		s.lifecycle(l.uuid, map[bool]string{false: "completed", true: "cancelled"}[s.stop])
	}
	if s.stop {
		s.interrupted(m, began, s.aborted)
		return
	}
	s.crash(script, "answered", m)
	s.result(map[string]any{
		"subtype": "success", "is_error": false, "result": text, "stop_reason": "end_turn", "terminal_reason": "completed",
	}, m, began)
	s.crash(script, "result", m)
	s.finish(m, "completed")
	s.sends("after", script)
	if script.PeerLater != "" {
		s.peer(script.PeerLater)
	}
}

// work uses the tools of a script, and returns the reasoning that follows them.
func (s *session) work(script Script, m message) (thinking string) {
	thinking, before := script.Thinking, script.Before
	run := func(u use) {
		if s.stop {
			return
		}
		u.thinking, u.before = thinking, before
		thinking, before = "", ""
		s.use(u, script, m)
	}
	todos := script.Todos
	for _, command := range slices.Concat(nonEmpty(script.Tool), script.Tools) {
		if len(todos) > 0 {
			run(s.todo(todos[0]))
			todos = todos[1:]
		}
		run(s.bash(command, script, m))
	}
	for _, c := range todos {
		run(s.todo(c))
	}
	for _, f := range script.Files {
		run(s.change(f, script))
	}
	for _, a := range script.Agents {
		run(s.agent(a, script, m))
	}
	for _, c := range script.Calls {
		run(s.hostTool(c))
	}
	for _, request := range script.Elicits {
		run(s.elicit(request))
	}
	if script.Questions != nil {
		run(questions(script.Questions))
	}
	if script.Plan != "" {
		run(plan(script.Plan))
	}
	return thinking
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// init begins a turn.
func (s *session) init() {
	tools, servers := []string{"Bash", "AskUserQuestion", "ExitPlanMode"}, []any{}
	for _, name := range s.tools {
		tools = append(tools, toolPrefix+name)
	}
	if s.opts.server {
		servers = append(servers, map[string]any{"name": serverName, "status": "connected", "source": "sdk"})
	}
	for _, name := range s.opts.servers {
		servers = append(servers, map[string]any{"name": name, "status": "connected"})
	}
	s.out.send(map[string]any{
		"type": "system", "subtype": "init", "cwd": s.log.workDir, "model": s.model, "tools": tools,
		"permissionMode": s.opts.mode, "claude_code_version": Version, "mcp_servers": servers, "fast_mode_state": s.speed(),
	})
}

// acknowledge echoes the lines of a turn.
func (s *session) acknowledge(m message) {
	for _, id := range m.acks {
		s.echo(id, m.text)
	}
}

// resumed is the script of a message that asks to continue after a kill: it gets the answer of the open one, and
// repeats its tools if the script says so.
func (s *session) resumed(script Script, open string) (Script, string) {
	before, rest := s.scripted(open)
	script.Answer, script.Say, script.Huge = before.Answer, before.Say, before.Huge
	if before.Again {
		script.Tool, script.Tools, script.Ask, script.Calls = before.Tool, before.Tools, before.Ask, before.Calls
		script.Questions, script.Plan, script.Elicits = before.Questions, before.Plan, before.Elicits
	}
	if before.Crash == orphaned {
		script.Crash = orphaned
	}
	s.script = script
	return script, rest
}

// text is the stub's answer.
func (s *session) text(script Script, rest string) string {
	switch {
	case s.opts.demo:
		return s.demoText(script, rest)
	case script.Say != "":
		return s.say(script.Say)
	case script.Huge > 0:
		return strings.Repeat("x", script.Huge)
	case script.Answer != "":
		return script.Answer
	default:
		return "echo: " + rest
	}
}

// say replaces the variables of a scripted answer: $MODEL, $EFFORT and $MODE as the process runs with, $THINKING and $FAST
// whether the model thinks and answers fast, $SYSTEM the appended system prompt, $PROMPT the whole message, $STEERED what was
// steered into the turn, $PICTURES what it was shown of pictures, $OUTPUT what its tools wrote, $TOOLS the names of the host's
// tools, $SERVERS those of MCP servers, $PLUGIN the folder of a plugin, $HISTORY what the user's side has said in the
// whole conversation, and a note of each compaction. Parts are joined by line breaks.
func (s *session) say(text string) string {
	var steered []string
	for _, l := range s.steered {
		steered = append(steered, l.text)
	}
	return strings.NewReplacer(
		"$MODEL", s.model, "$EFFORT", s.opts.effort, "$THINKING", s.thinking(), "$FAST", s.speed(), "$MODE", s.opts.mode,
		"$SYSTEM", s.opts.system,
		"$PROMPT", s.running.text, "$STEERED", strings.Join(steered, "\n"), "$OUTPUT", strings.Join(s.outputs, "\n"),
		"$HISTORY", strings.Join(s.log.history, "\n"),
		"$TOOLS", strings.Join(s.tools, "\n"), "$SERVERS", strings.Join(s.opts.servers, " "), "$PLUGIN", filepath.Base(s.opts.plugin),
		"$PICTURES", strings.Join(s.pictures, "\n"),
	).Replace(text)
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

// usage is the token count of the Messages API; here a token is four bytes.
func (s *session) usage(out int) map[string]any {
	return map[string]any{
		"input_tokens": s.inTokens, "output_tokens": out, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10,
	}
}

// deafen makes the stub ignore whatever ends a turn.
func (s *session) deafen(script Script) {
	s.deaf = script.Hang == "deaf" || script.Hang == "dead"
	if script.Hang == "dead" {
		signal.Ignore(os.Interrupt)
	}
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
	maps.Copy(event, extra)
	s.out.send(event)
}

// interrupted ends the turn as an interrupt or SIGINT does.
func (s *session) interrupted(m message, began time.Time, terminal string) {
	note := []any{map[string]any{"type": "text", "text": "[Request interrupted by user]"}}
	s.out.send(map[string]any{"type": "user", "parent_tool_use_id": nil, "message": map[string]any{"role": "user", "content": note}})
	s.log.open = ""
	if err := s.log.note(note, nil); err != nil {
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
			"costUSD": cost, "contextWindow": s.window, "maxOutputTokens": 64000,
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
			ids := slices.Clone(m.acks)
			for _, l := range s.steered {
				ids = append(ids, l.uuid)
			}
			event["user_message_uuid"], event["user_message_uuids"] = m.uuid, ids
		}
	}
	maps.Copy(event, fields)
	switch s.opts.output {
	case "text":
		s.out.raw(fmt.Sprintln(fields["result"]))
	default:
		s.out.send(event)
	}
}

// finish reports the final state of the lines.
func (s *session) finish(m message, status string) {
	for _, id := range m.acks {
		s.lifecycle(id, status)
	}
	if s.lasting == nil {
		s.state("idle")
	}
	s.out.flush()
}

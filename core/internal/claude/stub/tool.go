package stub

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// use is a use of a tool.
type use struct {
	name, thinking, before string
	input                  map[string]any
	ask                    bool
	rule                   string // that would make the question unnecessary
	run                    func(input json.RawMessage, call string) (output string, failed bool)
}

// use lets the model use a tool: it asks for permission if needed, runs the tool, and reports the result.
func (s *session) use(u use, script Script, m message) {
	r := s.reply(script)
	r.think(u.thinking)
	if u.before != "" {
		r.say(u.before, nil)
	}
	if s.stop {
		return
	}
	call := r.use(u.name, u.input)
	r.end("tool_use", 10)
	s.aborted = "aborted_tools"
	defer func() {
		if !s.stop {
			s.aborted = "aborted_streaming"
		}
	}()
	input, err := json.Marshal(u.input)
	if err != nil {
		panic(err) // it came from JSON
	}
	if why := s.hooked(u.name, u.input, call); why != "" {
		s.disallow(call, why)
		return
	}
	if script.Denied != "" {
		why := "Permission to use " + u.name + " has been denied."
		s.out.send(map[string]any{
			"type": "system", "subtype": "permission_denied", "tool_name": u.name, "tool_use_id": call, "decision_reason_type": script.Denied, "message": why,
		})
		s.disallow(call, why)
		return
	}
	if u.ask && !s.allowed(u.name) {
		s.state("requires_action")
		suggestions := []any{}
		if u.rule != "" {
			suggestions = []any{map[string]any{
				"type": "addRules", "rules": []any{map[string]any{"toolName": u.name, "ruleContent": u.rule}},
				"behavior": "allow", "destination": "localSettings",
			}}
		}
		answer := s.ask(map[string]any{
			"subtype": "can_use_tool", "tool_name": u.name, "display_name": u.name, "input": u.input, "tool_use_id": call,
			"description": u.rule, "permission_suggestions": suggestions,
		})
		s.state("running")
		if answer.Behavior != "allow" {
			s.disallow(call, answer.Message)
			return
		}
		if len(answer.Input) > 0 {
			input = answer.Input
		}
	}
	output, failed := "", true
	if !s.stop {
		output, failed = u.run(input, call)
	}
	if s.stop {
		output = "The user doesn't want to proceed with this tool use."
	}
	s.outputs = append(s.outputs, output)
	s.toolResult(call, output, failed)
	if !s.stop {
		s.steer(script, m)
	}
}

// toolHook are hooks that are asked before some tools.
type toolHook struct{ tools, ids []string }

// hooked asks the hooks of the initialization, and returns why one denies a tool.
func (s *session) hooked(tool string, input map[string]any, call string) string {
	var ids []string
	for _, hook := range s.hooks {
		if slices.Contains(hook.tools, "*") || slices.Contains(hook.tools, tool) {
			ids = append(ids, hook.ids...)
		}
	}
	for _, id := range ids {
		data, _ := s.await(s.request(map[string]any{
			"subtype": "hook_callback", "callback_id": id, "tool_use_id": call,
			"input": map[string]any{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input},
		}))
		var answer struct {
			Output struct {
				Decision string `json:"permissionDecision"`
				Reason   string `json:"permissionDecisionReason"`
			} `json:"hookSpecificOutput"`
		}
		if json.Unmarshal(data, &answer) == nil && answer.Output.Decision == "deny" {
			return answer.Output.Reason
		}
	}
	return ""
}

// bash is a shell command, run as the CLI's Bash tool does: in a session of its own, killed as a process group.
func (s *session) bash(command string, script Script, m message) use {
	return use{
		name: "Bash", input: map[string]any{"command": command}, ask: script.Ask, rule: command,
		run: func(input json.RawMessage, _ string) (string, bool) {
			var given struct {
				Command string `json:"command"`
			}
			if err := json.Unmarshal(input, &given); err != nil || given.Command == "" {
				return "InputValidationError: command is missing", true
			}
			return s.shell(given.Command, script, m)
		},
	}
}

// questions asks the user: the answers come with the permission.
func questions(list json.RawMessage) use {
	return use{
		name: "AskUserQuestion", input: map[string]any{"questions": list}, ask: true,
		run: func(input json.RawMessage, _ string) (string, bool) {
			var given struct {
				Answers map[string]string `json:"answers"`
			}
			_ = json.Unmarshal(input, &given) // without answers there are none
			var answers []string
			for _, question := range slices.Sorted(maps.Keys(given.Answers)) {
				answers = append(answers, fmt.Sprintf("%q=%q", question, given.Answers[question]))
			}
			return "Your questions have been answered: " + strings.Join(answers, ", ") +
				". You can now continue with these answers in mind.", false
		},
	}
}

// plan shows the user a plan.
func plan(text string) use {
	return use{
		name: "ExitPlanMode", input: map[string]any{"plan": text}, ask: true,
		run: func(json.RawMessage, string) (string, bool) {
			return "User has approved your plan. You can now start coding.", false
		},
	}
}

// steer adds the waiting lines to the turn.
func (s *session) steer(script Script, m message) {
	taken := s.queue
	s.queue = nil
	for _, l := range taken {
		s.echo(l.uuid, l.text)
	}
	if len(taken) > 0 {
		s.crash(script, "taken", m)
	}
	for _, l := range taken {
		s.lifecycle(l.uuid, "started")
		s.steered = append(s.steered, l)
		s.see(l)
		if err := s.log.steer(l); err != nil {
			s.fatal = "Error: " + err.Error()
		}
	}
	if len(taken) > 0 {
		s.crash(script, "steered", m)
	}
	s.status("requesting")
}

func (s *session) allowed(name string) bool {
	return !slices.Contains(s.opts.asked, name) && slices.ContainsFunc(s.opts.allowed, func(rule string) bool {
		prefix, any := strings.CutSuffix(rule, "*")
		return rule == name || any && strings.HasPrefix(name, prefix)
	})
}

// disallow reports that a tool was not allowed.
func (s *session) disallow(call, why string) {
	s.outputs = append(s.outputs, why)
	s.decided = "reject"
	s.toolResult(call, why, true)
}

func (s *session) toolResult(call, output string, failed bool) {
	defer func() { s.reported, s.decided = nil, "" }()
	block := []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}}
	event := map[string]any{
		"type": "user", "parent_tool_use_id": nil, "message": map[string]any{"role": "user", "content": block},
	}
	if s.reported != nil {
		event["tool_use_result"] = s.reported
	}
	if s.decided != "" && !s.opts.legacy {
		event["tool_result_meta"] = []any{map[string]any{"id": call, "non_execution_kind": "permission-rule", "permission_decision": map[string]any{"decision": s.decided}}}
	}
	s.out.send(event)
	if err := s.log.note(block, s.reported); err != nil {
		s.fatal = "Error: " + err.Error()
	}
}

// maxOutput bounds the recorded output of a tool, in bytes.
const maxOutput = 1 << 20

// shell runs the command and serves stdin meanwhile.
func (s *session) shell(command string, script Script, m message) (string, bool) {
	file, err := os.CreateTemp("", "claude-stub-")
	if err != nil {
		return err.Error(), true
	}
	os.Remove(file.Name()) // it exists while it is open, and a kill leaves nothing
	defer file.Close()
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = s.toolEnv()
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
	s.out.flush()
	s.crash(script, "tool", m)
	s.deafen(script)
	for !s.stop && !s.task.stopped && s.fatal == "" {
		if s.wait(nil, done) {
			break
		}
	}
	s.deaf = false
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-done
	data, readErr := io.ReadAll(io.NewSectionReader(file, 0, maxOutput))
	if readErr != nil {
		return readErr.Error(), true
	}
	return string(data), err != nil
}

// toolEnv is the environment of what the session starts.
func (s *session) toolEnv() []string {
	return append(os.Environ(), "CLAUDE_CODE_SESSION_ID="+s.opts.session, "CLAUDECODE=1")
}

// decision is the answer to a permission request.
type decision struct {
	Behavior  string          `json:"behavior"`
	Message   string          `json:"message"`
	Interrupt bool            `json:"interrupt"`
	Input     json.RawMessage `json:"updatedInput"`
}

// ask sends a control request and waits for its answer. One that denies may end the turn, too.
func (s *session) ask(request map[string]any) decision {
	id := s.request(request)
	data, ok := s.await(id)
	if !ok {
		s.out.bare(map[string]any{"type": "control_cancel_request", "request_id": id})
		return decision{Behavior: "deny", Message: "cancelled"}
	}
	var answer decision
	_ = json.Unmarshal(data, &answer) // an error has no response: not allowed
	s.stop = s.stop || answer.Interrupt
	return answer
}

// request sends a control request and returns its id.
func (s *session) request(request map[string]any) string {
	id := uuid.NewString()
	s.out.bare(map[string]any{"type": "control_request", "request_id": id, "request": request})
	s.out.flush()
	return id
}

// await waits for the answer to a control request; it has no answer when the turn is stopped.
func (s *session) await(id string) (json.RawMessage, bool) {
	for !s.stop && s.fatal == "" {
		if s.over {
			s.crash(s.script, orphaned, s.running)
			break
		}
		if data, ok := s.answers[id]; ok {
			delete(s.answers, id)
			return data, true
		}
		s.wait(nil, nil)
	}
	return nil, false
}

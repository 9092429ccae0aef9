package stub

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/google/uuid"
)

// tool runs a shell command as the CLI's Bash tool does: in a session of its own, killed as a process group.
func (s *session) tool(command, thinking string, script Script, m message) {
	id, call := "msg_"+uuid.NewString()[:8], "toolu_"+uuid.NewString()[:8]
	use := map[string]any{"type": "tool_use", "id": call, "name": "Bash", "input": map[string]any{"command": command}}
	s.begin(id)
	s.think(id, thinking)
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
		output, failed = s.shell(command, script, m)
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

// steer takes the lines that wait into the turn.
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

// maxOutput bounds what is kept of a tool's output, in bytes.
const maxOutput = 1 << 20

// shell runs the command and serves stdin meanwhile.
func (s *session) shell(command string, script Script, m message) (string, bool) {
	file, err := os.CreateTemp("", "claude-stub-")
	if err != nil {
		return err.Error(), true
	}
	os.Remove(file.Name()) // it stays while it is open, and a kill leaves nothing
	defer file.Close()
	cmd := exec.Command("sh", "-c", command)
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
	s.out.flush()
	s.crash(script, "tool", m)
	s.deafen(script)
	for !s.stop && s.fatal == "" {
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

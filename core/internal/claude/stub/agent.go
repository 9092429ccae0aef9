package stub

import (
	"encoding/json"
	"maps"
	"os/exec"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// task is the running subagent; without an id none runs.
type task struct {
	id      string
	call    string // of the tool that started it
	what    string
	stopped bool // by the host
}

// lasting is a subagent in the background.
type lasting struct {
	task
	cmd  *exec.Cmd
	done chan struct{} // closed when its tool has ended
}

// launch starts a subagent in the background.
func (s *session) launch(a Agent, call string) (string, bool) {
	b := &lasting{task: newTask(a, call), cmd: exec.Command("sh", "-c", a.Tool), done: make(chan struct{})}
	b.cmd.Env = s.toolEnv()
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := b.cmd.Start(); err != nil {
		return err.Error(), true
	}
	go func() {
		_ = b.cmd.Wait() // how it ended is of no interest
		close(b.done)
	}()
	s.lasting = b
	s.taskList(b.task)
	s.begins(b.task, true)
	return "Async agent launched successfully.", false
}

// taskList reports which tasks go on in the background.
func (s *session) taskList(list ...task) {
	ids := []any{}
	for _, t := range list {
		ids = append(ids, map[string]any{"task_id": t.id, "task_type": "local_agent", "description": t.what})
	}
	s.out.send(map[string]any{"type": "system", "subtype": "background_tasks_changed", "tasks": ids})
}

// idleEnd returns a channel that is closed when the subagent in the background ends; nil: no subagent runs, or a turn does.
func (s *session) idleEnd() <-chan struct{} {
	if s.lasting == nil || s.busy {
		return nil
	}
	return s.lasting.done
}

// settle reports the end of the subagent in the background. By itself it is followed by a turn.
func (s *session) settle(updated, notified string) {
	s.endTask(s.lasting.task, updated, notified)
	s.lasting = nil
	s.taskList()
	if notified == "completed" {
		s.unsolicited()
	}
	s.out.flush()
}

// interruptTask ends the subagent in the background.
func (s *session) interruptTask() {
	if s.lasting != nil {
		_ = syscall.Kill(-s.lasting.cmd.Process.Pid, syscall.SIGKILL)
		<-s.lasting.done
		s.settle("killed", "stopped")
		s.state("idle")
	}
}

func newTask(a Agent, call string) task {
	return task{id: "a" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16], call: call, what: a.What}
}

// begins reports the start of a subagent.
func (s *session) begins(t task, background bool) {
	s.taskEvent(t, "task_started", map[string]any{
		"description": t.what, "subagent_type": "general-purpose", "is_backgrounded": background, "spawn_depth": 1, "task_type": "local_agent", "prompt": t.what,
	})
}

// agent is a subagent, as the CLI's Agent tool runs it: it uses one tool.
func (s *session) agent(a Agent, script Script, m message) use {
	return use{
		name: "Agent", input: map[string]any{"description": a.What, "prompt": a.What, "subagent_type": "general-purpose"},
		run: func(_ json.RawMessage, call string) (string, bool) {
			if a.Background {
				return s.launch(a, call)
			}
			s.task = newTask(a, call)
			defer func() { s.task = task{} }()
			s.begins(s.task, false)
			s.out.send(map[string]any{
				"type": "user", "parent_tool_use_id": call, "subagent_type": "general-purpose", "task_description": a.What,
				"message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": a.What}}},
			})
			output := ""
			if a.Tool != "" {
				inner := "toolu_" + uuid.NewString()[:8]
				s.taskEvent(s.task,
					"task_progress", map[string]any{"description": "Running " + a.Tool, "subagent_type": "general-purpose", "last_tool_name": "Bash"})
				s.out.send(map[string]any{"type": "assistant", "parent_tool_use_id": call, "message": map[string]any{
					"id": "msg_" + uuid.NewString()[:8], "type": "message", "role": "assistant", "model": s.model, "usage": s.usage(1),
					"content": []any{map[string]any{"type": "tool_use", "id": inner, "name": "Bash", "input": map[string]any{"command": a.Tool}}},
				}})
				output, _ = s.shell(a.Tool, script, m)
				if s.task.stopped {
					return "[Request interrupted by user for tool use]", true
				}
				s.out.send(map[string]any{
					"type": "user", "parent_tool_use_id": call,
					"message": map[string]any{"role": "user", "content": []any{
						map[string]any{"type": "tool_result", "tool_use_id": inner, "content": output, "is_error": false},
					}},
				})
			}
			s.endTask(s.task, "completed", "completed")
			return output, false
		},
	}
}

// taskEvent sends an event of a subagent.
func (s *session) taskEvent(t task, subtype string, fields map[string]any) {
	event := map[string]any{"type": "system", "subtype": subtype, "task_id": t.id}
	if subtype != "task_updated" {
		event["tool_use_id"] = t.call
	}
	maps.Copy(event, fields)
	s.out.send(event)
}

// endTask reports the end of a subagent, in the two ways of the CLI.
func (s *session) endTask(t task, updated, notified string) {
	s.taskEvent(t, "task_updated", map[string]any{"patch": map[string]any{"status": updated}})
	s.taskEvent(t, "task_notification", map[string]any{"status": notified, "output_file": "", "summary": t.what})
}

// stopTask ends the running subagent if it is the one that is meant; any other id is fine, too. Nil: it was refused.
func (s *session) stopTask(in input) map[string]any {
	if s.opts.legacy {
		s.refuse(in.RequestID, "Unsupported control request subtype: stop_task")
		return nil
	}
	if s.task.id != "" && s.task.id == in.Request.Task && !s.task.stopped {
		s.task.stopped = true
		s.endTask(s.task, "killed", "stopped")
	}
	return map[string]any{}
}

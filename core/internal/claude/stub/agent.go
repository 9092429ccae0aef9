package stub

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/google/uuid"
)

// task is the running subagent; without an id there is none.
type task struct {
	id      string
	call    string // of the tool that started it
	what    string
	stopped bool // by the host
}

// agent is a subagent, as the CLI's Agent tool runs it in the foreground: it uses one tool.
func (s *session) agent(a Agent, script Script, m message) use {
	return use{
		name: "Agent", input: map[string]any{"description": a.What, "prompt": a.What, "subagent_type": "general-purpose"},
		run: func(_ json.RawMessage, call string) (string, bool) {
			s.task = task{id: "a" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16], call: call, what: a.What}
			defer func() { s.task = task{} }()
			s.taskEvent("task_started", map[string]any{
				"description": a.What, "subagent_type": "general-purpose", "is_backgrounded": false, "spawn_depth": 1, "task_type": "local_agent", "prompt": a.What,
			})
			s.out.send(map[string]any{
				"type": "user", "parent_tool_use_id": call, "subagent_type": "general-purpose", "task_description": a.What,
				"message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": a.What}}},
			})
			output := ""
			if a.Tool != "" {
				inner := "toolu_" + uuid.NewString()[:8]
				s.taskEvent("task_progress", map[string]any{"description": "Running " + a.Tool, "subagent_type": "general-purpose", "last_tool_name": "Bash"})
				s.out.send(map[string]any{"type": "assistant", "parent_tool_use_id": call, "message": map[string]any{
					"id": "msg_" + uuid.NewString()[:8], "type": "message", "role": "assistant", "model": s.model, "usage": s.usage(1),
					"content": []any{map[string]any{"type": "tool_use", "id": inner, "name": "Bash", "input": map[string]any{"command": a.Tool}}},
				}})
				output, _ = s.shell(a.Tool, script, m)
				if s.task.stopped {
					return "[Request interrupted by user for tool use]", true
				}
				s.out.send(map[string]any{"type": "user", "parent_tool_use_id": call, "message": map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "tool_result", "tool_use_id": inner, "content": output, "is_error": false},
				}}})
			}
			s.endTask("completed", "completed")
			return output, false
		},
	}
}

// taskEvent sends an event of the running subagent.
func (s *session) taskEvent(subtype string, fields map[string]any) {
	event := map[string]any{"type": "system", "subtype": subtype, "task_id": s.task.id}
	if subtype != "task_updated" {
		event["tool_use_id"] = s.task.call
	}
	maps.Copy(event, fields)
	s.out.send(event)
}

// endTask reports the end of the running subagent, in the two ways of the CLI.
func (s *session) endTask(updated, notified string) {
	s.taskEvent("task_updated", map[string]any{"patch": map[string]any{"status": updated}})
	s.taskEvent("task_notification", map[string]any{"status": notified, "output_file": "", "summary": s.task.what})
}

// stopTask ends the running subagent if it is the one that is meant; any other id is fine, too. Nil: it was refused.
func (s *session) stopTask(in input) map[string]any {
	if s.opts.legacy {
		s.refuse(in.RequestID, "Unsupported control request subtype: stop_task")
		return nil
	}
	if s.task.id != "" && s.task.id == in.Request.Task && !s.task.stopped {
		s.task.stopped = true
		s.endTask("killed", "stopped")
	}
	return map[string]any{}
}

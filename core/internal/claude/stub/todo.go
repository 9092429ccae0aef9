package stub

import (
	"encoding/json"
	"fmt"
)

// todo is a use of a tool for the list of what is to do. What it reports is that of the CLI.
func (s *session) todo(c Call) use {
	return use{
		name: c.Tool, input: c.Input,
		run: func(json.RawMessage, string) (string, bool) {
			switch c.Tool {
			case "TodoWrite":
				s.reported = map[string]any{"oldTodos": []any{}, "newTodos": c.Input["todos"]}
				return "Todos have been modified successfully.", false
			case "TaskCreate":
				s.tasks++
				id := fmt.Sprint(s.tasks)
				s.reported = map[string]any{"task": map[string]any{"id": id, "subject": c.Input["subject"], "description": c.Input["description"]}}
				return fmt.Sprintf("Task #%s created successfully: %v", id, c.Input["subject"]), false
			case "TaskUpdate":
				s.reported = map[string]any{"success": true, "taskId": c.Input["taskId"], "updatedFields": []any{"status"}}
				return fmt.Sprintf("Updated task #%v status", c.Input["taskId"]), false
			default:
				return "No such tool available: " + c.Tool, true
			}
		},
	}
}

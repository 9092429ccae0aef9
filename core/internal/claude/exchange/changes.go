package exchange

import (
	"encoding/json"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Changes follows the uses of tools that change files.
type Changes struct {
	open map[string]string // the names of such tools that run, by the ids of their uses
}

// changing are the tools that change files, delegating those that run subagents, which may.
var (
	changing   = map[string]bool{"Edit": true, "Write": true, "NotebookEdit": true}
	delegating = map[string]bool{"Agent": true, "Task": true}
)

// Assistant handles a message of the model.
func (c *Changes) Assistant(m *protocol.Message) {
	for _, b := range m.Content {
		if b.Type == "tool_use" && b.ID != "" && (changing[b.Name] || delegating[b.Name]) {
			if c.open == nil {
				c.open = map[string]string{}
			}
			c.open[b.ID] = b.Name
		}
	}
}

// Subagents handles a message of the user's side in a subagent, and reports whether it has changed a file.
func (c *Changes) Subagents(m *protocol.Message) (changed bool) {
	for _, b := range m.Content {
		if name := c.open[b.ToolUseID]; name != "" {
			delete(c.open, b.ToolUseID)
			changed = changed || !b.IsError && !delegating[name]
		}
	}
	return changed
}

// User handles a message of the user's side, with what the tool reports whose result it has. It returns the change of a file, and
// whether a subagent may have changed any: the report counts uses that were refused, too.
func (c *Changes) User(m *protocol.Message, reported json.RawMessage) (change protocol.Change, changed, delegated bool) {
	for _, b := range m.Content {
		name, ok := c.open[b.ToolUseID]
		if !ok {
			continue
		}
		delete(c.open, b.ToolUseID)
		switch {
		case b.IsError || len(reported) == 0:
		case delegating[name]:
			var r struct {
				Stats struct {
					Files int `json:"editFileCount"`
				} `json:"toolStats"`
			}
			delegated = json.Unmarshal(reported, &r) == nil && r.Stats.Files > 0
		default:
			change, changed = protocol.ReadChange(reported)
		}
	}
	return change, changed, delegated
}

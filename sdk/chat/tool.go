package chat

import "encoding/json"

// ToolSpec describes a tool that a plugin offers to the agent.
type ToolSpec struct {
	Name        string          // chosen by the plugin, such as "search"; 1 to 32 lower-case letters, digits and underscores
	Description string          // for the model: what the tool does and when to use it
	InputSchema json.RawMessage // JSON Schema (2020-12) of the arguments, of type object
	Remembers   []Kind          // where the tool writes the memory of the conversation that uses it
}

// ToolCall is the agent's use of a tool.
type ToolCall struct {
	Name      string
	Arguments json.RawMessage // an object, written by the model
	TurnID    string
	Caller    Caller // whom the turn answers
}

// ToolResult is the result of a tool.
type ToolResult struct {
	Text    string // for the model
	Media   []Media
	Failed  bool            // the text says why
	Details json.RawMessage // for the host, never shown to the model; empty: none
}

// Package protocol implements stream-json: it parses the claude CLI's output, one event a line, and encodes its input.
// Lines are bounded, and unknown additions of newer CLIs are ignored. Transcripts have similar lines.
package protocol

import (
	"bytes"
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
)

// Event is a line of the CLI's stdout, of any type. Fields that a type does not have are zero.
type Event struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	UUID     string `json:"uuid"`
	Session  string `json:"session_id"`
	Parent   string `json:"parent_tool_use_id"` // set: of a subagent
	IsReplay bool   `json:"isReplay"`

	Message *Message `json:"message"` // assistant, user
	// Reported is what a tool reports of its use, besides what the model reads; see [ReadChange].
	Reported json.RawMessage `json:"tool_use_result"` // user
	Stream   StreamEvent     `json:"event"`           // stream_event
	Error    string          `json:"error"`           // assistant (synthetic), api_retry
	Status   *string         `json:"status"`          // status
	Mode     string          `json:"permissionMode"`
	State    string          `json:"state"` // session_state_changed, command_lifecycle
	Command  string          `json:"command_uuid"`
	Limits   LimitInfo       `json:"rate_limit_info"`
	Compact  struct {
		PostTokens int64 `json:"post_tokens"`
	} `json:"compact_metadata"` // compact_boundary

	TaskFields // task_started, task_progress, task_updated, task_notification, background_tasks_changed

	DenialFields // permission_denied

	Lost      []string `json:"lost"`       // session_writes_lost: transcript, global_config
	ErrorCode string   `json:"error_code"` // such as ENOSPC

	// Decided says of tool results whether their tools were allowed: also of those that people or a hook of the host decided about.
	// Newer CLIs only.
	Decided []ToolDecision `json:"tool_result_meta"` // user

	Tools   []string `json:"tools"`       // init
	Servers []Server `json:"mcp_servers"` // init
	Speed

	Origin *struct {
		Kind string `json:"kind"`
		PID  int    `json:"verifiedPeerPid"`
	} `json:"origin"` // user, result; nil: a line of the host

	Trigger       string `json:"trigger"` // model_fallback
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`

	ResultFields  // result
	ControlFields // control_request, control_response, control_cancel_request
}

// TaskFields are the fields of events about what claude runs alongside its turn, such as a subagent.
type TaskFields struct {
	TaskID      string `json:"task_id"`
	Description string `json:"description"` // in task_progress: what it is doing
	Agent       string `json:"subagent_type"`
	Patch       struct {
		Status string `json:"status"`
	} `json:"patch"` // task_updated
	Background []struct {
		ID string `json:"task_id"`
	} `json:"tasks"` // background_tasks_changed: all that do not end with their turn
}

// DenialFields are the fields of the event that Claude Code itself does not allow a tool, by a rule, its mode or a classifier.
type DenialFields struct {
	DeniedUse  string `json:"tool_use_id"`
	DeniedTool string `json:"tool_name"`
	DeniedBy   string `json:"decision_reason_type"` // such as rule, mode or classifier; may be empty
}

// ToolDecision is what was decided about a tool before it was used.
type ToolDecision struct {
	ID       string `json:"id"`
	Decision struct {
		Decision string `json:"decision"` // accept, reject or cancelled
	} `json:"permission_decision"`
}

// ResultFields are the fields of a result event.
type ResultFields struct {
	IsError        bool                  `json:"is_error"`
	APIErrorStatus int                   `json:"api_error_status"`
	Result         string                `json:"result"`
	StopReason     string                `json:"stop_reason"`
	TerminalReason string                `json:"terminal_reason"`
	Errors         []string              `json:"errors"`
	Turns          int                   `json:"num_turns"` // requests to the model; zero: none
	Messages       []string              `json:"user_message_uuids"`
	ModelUsage     map[string]ModelUsage `json:"modelUsage"`                    // of the process
	SinceLast      map[string]ModelUsage `json:"model_usage_since_last_result"` // newer CLIs
}

// Speed is how fast a session's model answers, in init and result events.
type Speed struct {
	Fast    string `json:"fast_mode_state"` // on, off, or cooldown: after too many requests; empty: an older CLI
	FastWhy string `json:"fast_mode_disabled_reason"`
}

// Model is a model that the CLI lists.
type Model struct {
	Value       string `json:"value"` // a name for it, such as an alias
	Resolved    string `json:"resolvedModel"`
	Fast        bool   `json:"supportsFastMode"`
	ThinkingOff *bool  `json:"supportsThinkingOff"` // nil: unknown
}

// Server is the state of an MCP server.
type Server struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error"` // mcp_status
}

// ControlFields are the fields of control events.
type ControlFields struct {
	RequestID string   `json:"request_id"`
	Request   *Request `json:"request"` // control_request
	Response  struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
		Response  struct {
			Cancelled bool     `json:"cancelled"`  // cancel_async_message; a list for others
			Text      string   `json:"response"`   // side_question
			Servers   []Server `json:"mcpServers"` // mcp_status
			Models    []Model  `json:"models"`     // initialize
			Synthetic bool     `json:"synthetic"`  // a text of the CLI itself
			Applied   *struct {
				Effort string `json:"effort"` // null if the model has none
			} `json:"applied"` // get_settings
			RateLimits json.RawMessage `json:"rate_limits"` // get_usage
			Rewind
		} `json:"response"`
	} `json:"response"`
}

// Rewind is the answer to rewind_files. Only that to a dry run has the files and the numbers of lines.
type Rewind struct {
	CanRewind  bool     `json:"canRewind"`
	Why        string   `json:"error"` // why it cannot
	Files      []string `json:"filesChanged"`
	Insertions int      `json:"insertions"` // by the rewinding
	Deletions  int      `json:"deletions"`
	Skipped    int      `json:"skippedLinks"` // files that are left, because they are reached by a link
}

// Request is a request of the CLI.
type Request struct {
	Subtype     string          `json:"subtype"`
	ToolName    string          `json:"tool_name"` // can_use_tool
	ToolUseID   string          `json:"tool_use_id"`
	Input       json.RawMessage `json:"input"`
	Description string          `json:"description"`
	BlockedPath string          `json:"blocked_path"`
	Suggestions []Suggestion    `json:"permission_suggestions"`
	Callback    string          `json:"callback_id"`     // hook_callback
	Server      string          `json:"server_name"`     // mcp_message
	Message     json.RawMessage `json:"message"`         // of JSON-RPC; for elicitation, a text
	Asks        string          `json:"mcp_server_name"` // elicitation
	Mode        string          `json:"mode"`
	URL         string          `json:"url"`
	Schema      json.RawMessage `json:"requested_schema"`
	Dialog      string          `json:"dialog_kind"` // request_user_dialog
}

// Suggestion is a permission change that would make a question unnecessary.
type Suggestion struct {
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
}

// LimitInfo describes a usage limit.
type LimitInfo struct {
	Status   string `json:"status"`
	ResetsAt int64  `json:"resetsAt"` // unix seconds
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	InputTokens   int64   `json:"inputTokens"`
	OutputTokens  int64   `json:"outputTokens"`
	CacheRead     int64   `json:"cacheReadInputTokens"`
	CacheCreation int64   `json:"cacheCreationInputTokens"`
	CostUSD       float64 `json:"costUSD"`
	ContextWindow int64   `json:"contextWindow"`
	Canonical     string  `json:"canonicalModel"`
}

// Tokens is the usage in the Messages API.
type Tokens struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
}

// Context is the part of the window that a request and its answer fill.
func (t Tokens) Context() int64 { return t.Input + t.Output + t.CacheRead + t.CacheCreation }

// StreamEvent is a raw event of the Messages API's stream.
type StreamEvent struct {
	Type    string   `json:"type"`
	Message *Message `json:"message"` // message_start
	Usage   Tokens   `json:"usage"`   // message_delta
	Block   struct {
		Type string `json:"type"`
	} `json:"content_block"` // content_block_start
	Delta Delta `json:"delta"`
}

// Delta is the content of a content_block_delta or a message_delta.
type Delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	StopReason string `json:"stop_reason"`
}

// Message is a message of the Messages API.
type Message struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Content    Content `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      Tokens  `json:"usage"`
}

// SyntheticModel is the model of messages written by the CLI itself. They are never an answer.
const SyntheticModel = "<synthetic>"

// Block is a content block.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"` // tool_use
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"` // tool_result
	Content   Content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// Content is a message's content; a plain string counts as one text block, anything else as none.
type Content []Block

// UnmarshalJSON reads a string or a list of blocks.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = nil
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = Content{{Type: "text", Text: text}}
	case '[':
		return Unmarshal(data, (*[]Block)(c))
	}
	return nil
}

// Unmarshal decodes JSON, and ignores fields of unexpected types: an event that newer CLIs changed must not stop a
// turn.
func Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// errNoEvent is returned for a line that is not a JSON object with a type.
var errNoEvent = errors.New("not an event")

// Parse parses a line of stdout. The quick parser takes a third of the time of encoding/json, but stops at the first
// field of an unexpected type: such a line is parsed again.
func Parse(line []byte) (*Event, error) {
	e := new(Event)
	if jsonv2.Unmarshal(line, e) != nil {
		e = new(Event)
		if Unmarshal(line, e) != nil {
			return nil, errNoEvent
		}
	}
	if e.Type == "" {
		return nil, errNoEvent
	}
	return e, nil
}

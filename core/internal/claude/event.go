package claude

import (
	"bytes"
	"encoding/json"
	"errors"
)

// event is a line of the CLI's stdout, of whatever type. What a type does not have is zero.
type event struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	UUID     string `json:"uuid"`
	Parent   string `json:"parent_tool_use_id"` // set: of a subagent
	IsReplay bool   `json:"isReplay"`

	Message *message  `json:"message"` // assistant, user
	Stream  apiEvent  `json:"event"`   // stream_event
	Error   string    `json:"error"`   // assistant (synthetic), api_retry
	Status  *string   `json:"status"`  // status
	Mode    string    `json:"permissionMode"`
	State   string    `json:"state"` // session_state_changed, command_lifecycle
	Command string    `json:"command_uuid"`
	Limits  limitInfo `json:"rate_limit_info"`
	Compact struct {
		PostTokens int64 `json:"post_tokens"`
	} `json:"compact_metadata"` // compact_boundary

	Origin *struct {
		Kind string `json:"kind"`
		PID  int    `json:"verifiedPeerPid"`
	} `json:"origin"` // user, result; nil: the host's own line

	Trigger       string `json:"trigger"` // model_fallback
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`

	result  // result
	control // control_request, control_response, control_cancel_request
}

// result is what a result event has.
type result struct {
	IsError        bool                  `json:"is_error"`
	APIErrorStatus int                   `json:"api_error_status"`
	Result         string                `json:"result"`
	StopReason     string                `json:"stop_reason"`
	TerminalReason string                `json:"terminal_reason"`
	Errors         []string              `json:"errors"`
	Messages       []string              `json:"user_message_uuids"`
	ModelUsage     map[string]modelUsage `json:"modelUsage"`                    // of the process
	SinceLast      map[string]modelUsage `json:"model_usage_since_last_result"` // newer CLIs
}

// control is what the events of the control protocol have.
type control struct {
	RequestID string         `json:"request_id"`
	Request   *requestFields `json:"request"` // control_request
	Response  struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
		Response  struct {
			Cancelled bool   `json:"cancelled"` // cancel_async_message; a list for others
			Text      string `json:"response"`  // side_question
			Synthetic bool   `json:"synthetic"` // the CLI's own text
			Applied   *struct {
				Effort string `json:"effort"` // null where the model knows none
			} `json:"applied"` // get_settings
		} `json:"response"`
	} `json:"response"`
}

// requestFields are what the CLI asks for.
type requestFields struct {
	Subtype     string          `json:"subtype"`
	ToolName    string          `json:"tool_name"` // can_use_tool
	ToolUseID   string          `json:"tool_use_id"`
	Input       json.RawMessage `json:"input"`
	Description string          `json:"description"`
	BlockedPath string          `json:"blocked_path"`
	Suggestions []suggestion    `json:"permission_suggestions"`
	Server      string          `json:"server_name"` // mcp_message
	Message     json.RawMessage `json:"message"`
}

// suggestion is a change of the permissions that would spare a question.
type suggestion struct {
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
}

type limitInfo struct {
	Status   string `json:"status"`
	ResetsAt int64  `json:"resetsAt"` // unix seconds
}

// modelUsage is what one model was used for.
type modelUsage struct {
	InputTokens   int64   `json:"inputTokens"`
	OutputTokens  int64   `json:"outputTokens"`
	CacheRead     int64   `json:"cacheReadInputTokens"`
	CacheCreation int64   `json:"cacheCreationInputTokens"`
	CostUSD       float64 `json:"costUSD"`
	ContextWindow int64   `json:"contextWindow"`
	Canonical     string  `json:"canonicalModel"`
}

// tokens is a usage of the Messages API.
type tokens struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
}

// context is how much of the window a request and its answer fill.
func (t tokens) context() int64 { return t.Input + t.Output + t.CacheRead + t.CacheCreation }

// apiEvent is a raw event of the Messages API's stream.
type apiEvent struct {
	Type    string   `json:"type"`
	Message *message `json:"message"` // message_start
	Usage   tokens   `json:"usage"`   // message_delta
	Block   struct {
		Type string `json:"type"`
	} `json:"content_block"` // content_block_start
	Delta delta `json:"delta"`
}

// delta is what a content_block_delta or a message_delta adds.
type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	StopReason string `json:"stop_reason"`
}

// message is a message of the Messages API.
type message struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Content    content `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      tokens  `json:"usage"`
}

// synthetic is the model of messages that the CLI writes itself. They are never an answer.
const synthetic = "<synthetic>"

// block is a content block.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"` // tool_use
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"` // tool_result
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// content is a message's content; a plain string counts as one block of text, and what is neither as none.
type content []block

// UnmarshalJSON reads a string or a list of blocks.
func (c *content) UnmarshalJSON(data []byte) error {
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
		*c = content{{Type: "text", Text: text}}
	case '[':
		return lenient(json.Unmarshal(data, (*[]block)(c)))
	}
	return nil
}

// lenient drops the error of a value that has another type than expected: the rest was decoded, and an event that newer
// CLIs changed must not stop a turn.
func lenient(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// errNoEvent is returned for a line that is no JSON object with a type.
var errNoEvent = errors.New("not an event")

// parseEvent reads a line of stdout. What it returns may be short, so that the many short lines share one event: nothing of
// it is kept beyond the next line but its strings.
func parseEvent(line []byte, short *event) (*event, error) {
	if parseShort(line, short) {
		return short, nil
	}
	return parseAny(line)
}

// parseAny reads a line of whatever type.
func parseAny(line []byte) (*event, error) {
	e := new(event)
	if err := lenient(json.Unmarshal(line, e)); err != nil {
		return nil, errNoEvent
	}
	if e.Type == "" {
		return nil, errNoEvent
	}
	return e, nil
}

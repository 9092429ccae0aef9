package tools

// This is an MCP server of its own because modelcontextprotocol/go-sdk (v1.8.0) does not fit the CLI's pipe. The SDK's
// sessions read a stream of messages and refuse calls before their own initialize. The CLI initialises once for each process
// and hands every message over as a request with one answer, while tools, callers and their rights change with each turn: a
// session for each turn would never be initialised, and one for each process would need a layer that pairs answers with
// requests and finds the turn, which is what this file is. The SDK would also add 1.8 MB to the binary.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// maxMessage limits a message of the agent, in bytes, and maxID its id.
const (
	maxMessage = 4 << 20
	maxID      = 256
)

// versions are the MCP versions that the server supports, newest first. They do not differ in what it uses.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// The errors of JSON-RPC.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
)

// message is a JSON-RPC message: a request, a notification, which has no id, or a response, which has no method.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Handle handles a message from Claude and returns the response. Notifications and responses have none. The error is that
// of a turn that has ended; the server can respond to every message.
func (t *Turn) Handle(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > maxMessage {
		return refuse(nil, invalidRequest, "the message is too long"), nil
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return refuse(nil, parseError, "the message is no JSON object of JSON-RPC"), nil
	}
	switch {
	case m.Version != "2.0" || m.ID != nil && !validID(m.ID):
		return refuse(nil, invalidRequest, "the message is none of JSON-RPC 2.0"), nil
	case m.Method == "" && (m.Result != nil || m.Error != nil):
		return nil, nil // the server sends no requests
	case m.Method == "":
		return refuse(m.ID, invalidRequest, "the message has no method"), nil
	case m.ID == nil:
		t.notified(m)
		return nil, nil
	}
	switch m.Method {
	case "initialize":
		return respond(m.ID, t.server.initialize(m.Params)), nil
	case "ping":
		return respond(m.ID, encode(struct{}{})), nil
	case "tools/list":
		return respond(m.ID, encode(map[string]json.RawMessage{"tools": t.list(ctx)})), ctx.Err()
	case "tools/call":
		return t.called(ctx, m)
	default:
		return refuse(m.ID, methodNotFound, "the server has no such method"), nil
	}
}

// initialize negotiates a version.
func (s *Server) initialize(params json.RawMessage) json.RawMessage {
	var asked struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &asked) // default: the newest
	if !slices.Contains(versions, asked.Version) {
		asked.Version = versions[0]
	}
	return encode(map[string]any{
		"protocolVersion": asked.Version,
		"capabilities":    map[string]any{"tools": struct{}{}},
		"serverInfo":      map[string]string{"name": Name, "version": s.options.Version},
	})
}

// notified handles the only relevant notification: the cancellation of a call.
func (t *Turn) notified(m message) {
	var params struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &params) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if call := t.calls[string(params.ID)]; call != nil {
		call.cancel()
	}
}

// called handles a tool call.
func (t *Turn) called(ctx context.Context, m message) (json.RawMessage, error) {
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			ToolUse string `json:"claudecode/toolUseId"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil || params.Name == "" {
		return refuse(m.ID, invalidParams, "the call names no tool"), nil
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	here := &running{cancel: cancel}
	t.mu.Lock()
	t.calls[string(m.ID)] = here
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.calls[string(m.ID)] == here { // a restarted process starts counting again
			delete(t.calls, string(m.ID))
		}
	}()
	result := t.call(call, params.Name, params.Arguments, params.Meta.ToolUse)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return respond(m.ID, encode(result)), nil
}

// validID reports whether an id is a short text or number.
func validID(id json.RawMessage) bool {
	return len(id) <= maxID && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

func respond(id, result json.RawMessage) json.RawMessage {
	return encode(message{Version: "2.0", ID: id, Result: result})
}

func refuse(id json.RawMessage, code int, text string) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(message{Version: "2.0", ID: id, Error: &rpcError{Code: code, Message: text}})
}

// encode marshals values of this package and checked JSON, which never fails.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

package client

import (
	"bytes"
	"encoding/json"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// maxMessage bounds a message to and from the host's MCP server, in bytes.
const maxMessage = 1 << 20

// Error codes of JSON-RPC.
const (
	invalidRequest = -32600
	internalError  = -32603
	notAvailable   = -32000 // the first that a server may choose
)

// call is the part of a JSON-RPC message that the host reads.
type call struct {
	ID     json.RawMessage `json:"id"` // none: a notification
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"` // notifications/cancelled
	} `json:"params"`
}

// sent handles a message to the host's MCP server. The caller holds the lock.
func (rs *requests) sent(e *protocol.Event) {
	message := e.Request.Message
	var m call
	if err := protocol.Unmarshal(message, &m); err != nil || m.Method == "" {
		rs.respond(e.RequestID, nil, "the message is no call")
		return
	}
	notifies := len(m.ID) == 0 || string(m.ID) == "null"
	if notifies {
		rs.respond(e.RequestID, rpc(json.RawMessage("0"), "result", map[string]any{}), "") // to the CLI, no result
	}
	fail := func(code int, text string) {
		if !notifies {
			rs.respond(e.RequestID, failed(m.ID, code, text), "")
		}
	}
	switch {
	case e.Request.Server != cli.ServerName:
		fail(notAvailable, "there is no such server")
		return
	case len(message) > maxMessage:
		fail(invalidRequest, "the message is too large: at most 1 MB is taken")
		return
	case rs.serving == nil || rs.serving.closed || rs.serving.turn.Tools == nil, m.Method == "tools/call" && rs.serving.turn.UUID == "":
		fail(notAvailable, "no turn is running")
		return
	case m.Method == "notifications/cancelled":
		rs.callOff(m.Params.RequestID)
		return
	}
	r := &request{id: e.RequestID, call: string(bytes.TrimSpace(m.ID))}
	if !rs.begin(r, func(s *service) { rs.conclude(s, r, rs.called(r, m, message, s.turn, notifies)) }) {
		fail(notAvailable, "too many calls are open at once")
	}
}

// called lets the turn answer a message.
func (rs *requests) called(r *request, m call, message json.RawMessage, t agent.Turn, notifies bool) any {
	answer, err := t.Tools.Handle(r.ctx, message)
	switch {
	case notifies:
		if err != nil {
			rs.log.Debug("a notification for the tools failed", "method", m.Method, "error", err)
		}
		return nil
	case err != nil:
		return failed(m.ID, internalError, cut(cli.RedactShapes(err.Error()), maxReason))
	case len(answer) > maxMessage:
		rs.log.Error("a response of the host's tools is too large", "method", m.Method, "bytes", len(answer))
		return failed(m.ID, internalError, "the answer is too large: at most 1 MB is passed on")
	case !isObject(answer):
		rs.log.Error("a response of the host's tools is not an object", "method", m.Method)
		return failed(m.ID, internalError, "there is no answer")
	default:
		return map[string]any{"mcp_response": answer}
	}
}

// callOff ends a call that the CLI no longer waits for, without an answer. The caller holds the lock.
func (rs *requests) callOff(id json.RawMessage) {
	for _, r := range rs.serving.open {
		if r.call != "" && r.call == string(bytes.TrimSpace(id)) {
			rs.retract(r.id)
			return
		}
	}
}

// rpc is a JSON-RPC answer in the form that the CLI accepts.
func rpc(id json.RawMessage, name string, value any) map[string]any {
	return map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": id, name: value}}
}

// failed is the answer to a failed call.
func failed(id json.RawMessage, code int, text string) map[string]any {
	return rpc(id, "error", map[string]any{"code": code, "message": text})
}

package sdktest

import (
	"context"
	"encoding/json"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Tools returns the tools that the plugin offers to the agent.
func (h *Harness) Tools() []chat.ToolSpec {
	h.t.Helper()
	r, err := h.tools.ListTools(h.t.Context(), &pluginv1.ListToolsRequest{})
	if err != nil {
		h.t.Fatalf("ListTools: %v", h.note(err))
	}
	tools, err := wire.ToolSpecsFromProto(r)
	if err != nil {
		h.t.Fatalf("ListTools: %v", err)
	}
	return tools
}

// CallTool calls a tool as the agent does. A call without a chat is for an owner in a direct chat; one without arguments
// has none. The error is that of a call without a result: the plugin panicked, for example, or ctx ended. A tool that
// returns an error, or refuses its arguments, has a failed result.
func (h *Harness) CallTool(ctx context.Context, call chat.ToolCall) (chat.ToolResult, error) {
	h.t.Helper()
	call.Caller = h.callerOr(call.Caller)
	if call.Arguments == nil {
		call.Arguments = json.RawMessage("{}")
	}
	r, err := h.tools.CallTool(ctx, wire.ToolCallToProto(call))
	if err != nil {
		return chat.ToolResult{}, h.note(err)
	}
	result, err := wire.ToolResultFromProto(r)
	if err != nil {
		h.t.Fatalf("CallTool: %v", err)
	}
	return result, nil
}

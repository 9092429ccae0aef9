package sdk

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// toolsServer serves the plugin's tools.
type toolsServer struct {
	pluginv1.UnimplementedToolsServer
	*plugin
}

// ListTools lists the tools of all components.
func (s *toolsServer) ListTools(context.Context, *pluginv1.ListToolsRequest) (*pluginv1.ListToolsResponse, error) {
	parts := s.opened()
	if parts == nil {
		return nil, errNotConfigured
	}
	response := &pluginv1.ListToolsResponse{}
	for _, t := range toolsOf(parts) {
		response.Tools = append(response.Tools, wire.ToolSpecToProto(t.spec))
	}
	return response, nil
}

// CallTool calls a tool. The config's secrets are redacted in an error that the model reads.
func (s *toolsServer) CallTool(ctx context.Context, r *pluginv1.CallToolRequest) (*pluginv1.CallToolResponse, error) {
	call, err := wire.ToolCallFromProto(r)
	if err != nil {
		return nil, invalid(err)
	}
	parts := s.opened()
	if parts == nil {
		return nil, errNotConfigured
	}
	for _, t := range toolsOf(parts) {
		if t.spec.Name != call.Name {
			continue
		}
		result, err := t.call(ctx, ToolCall{TurnID: call.TurnID, Caller: call.Caller}, call.Arguments)
		if err != nil {
			return nil, err
		}
		if result.Failed {
			result.Text = s.redact.text(result.Text)
		}
		return wire.ToolResultToProto(result), nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "the plugin has no tool %q", call.Name)
}

func toolsOf(parts []part) (tools []AgentTool) {
	for _, p := range parts {
		tools = append(tools, p.tools...)
	}
	return tools
}

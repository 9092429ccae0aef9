package stub

import (
	"encoding/json"
	"fmt"
)

// elicit is a use of a tool of an MCP server that asks people for something. The tool returns what the server gets of them.
func (s *session) elicit(request map[string]json.RawMessage) use {
	var server string
	_ = json.Unmarshal(request["mcp_server_name"], &server) // one without a name is not asked
	return use{
		name: fmt.Sprintf("mcp__%s__ask", server), input: map[string]any{},
		run: func(json.RawMessage, string) (string, bool) {
			s.state("requires_action")
			defer s.state("running")
			sent := map[string]any{"subtype": "elicitation"}
			for name, value := range request {
				sent[name] = value
			}
			answer, ok := s.await(s.request(sent))
			if !ok || answer == nil { // an error is a cancellation for the CLI
				return `{"action":"cancel"}`, false
			}
			return string(answer), false
		},
	}
}

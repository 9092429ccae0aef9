package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// mcpVariable turns this program into an MCP server, which Claude Code starts.
const mcpVariable = "CLAWHOST_BENCH_MCP"

// serveMCP answers the messages on stdin until it ends, as a server with one tool.
func serveMCP() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue // a notification
		}
		result := map[string]any{}
		switch m.Method {
		case "initialize":
			result = map[string]any{
				"protocolVersion": m.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "bench", "version": "1"},
			}
		case "tools/list":
			result["tools"] = []any{map[string]any{
				"name": "greet", "description": "Greets somebody.", "inputSchema": map[string]any{"type": "object"},
			}}
		}
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) // maps of texts always encode
		fmt.Printf("%s\n", answer)
	}
}

// mcpServers is how the config declares two of them.
func mcpServers() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	const block = "mcp %q {\n    command = [%q]\n    env     = { %s = \"1\" }\n  }\n  "
	return fmt.Sprintf(block+block, "one", self, mcpVariable, "two", self, mcpVariable), nil
}

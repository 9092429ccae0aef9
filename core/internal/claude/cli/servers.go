package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Servers are passed to the CLI without "alwaysLoad": with it, the CLI is not ready before the slowest of them is. Instead it
// shows all tools to the model from the beginning, as it would otherwise defer those of MCP servers, and its names of deferred
// tools come by the attachments that the host switches off.
var serverSwitches = map[string]string{
	"ENABLE_TOOL_SEARCH":              "false",
	"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "2000", // how long the first request waits for servers; a later one is there for the next
}

// blanked are the CLI's variables that servers inherit but must not have: credentials, and the way into the session.
var blanked = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
}

// server is an MCP server as the CLI's configuration has it.
type server struct {
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

func newServer(s agent.MCPServer, mark string) server {
	if len(s.Command) == 0 {
		return server{Type: "http", URL: s.URL, Headers: s.Headers}
	}
	env := map[string]string{}
	for _, name := range blanked {
		env[name] = ""
	}
	maps.Copy(env, s.Env)
	env[serverMarker] = mark
	return server{Type: "stdio", Command: s.Command[0], Args: s.Command[1:], Env: env}
}

// writeServers writes the file that configures a process's MCP servers, which may contain secrets. It returns no name if there
// are none. Each server has the mark in its environment.
func (c *Command) writeServers(list []agent.MCPServer, mark string) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	servers := map[string]server{}
	for _, s := range list {
		servers[s.Name] = newServer(s, mark)
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return "", err
	}
	file := filepath.Join(c.options.RunDir, "mcp-"+mark+".json")
	if err := writePrivate(file, data); err != nil {
		return "", fmt.Errorf("write the MCP servers: %w", err)
	}
	return file, nil
}

// setupEnv are the variables of a process with a setup. What the configuration sets takes precedence.
func (c *Command) setupEnv(s *agent.Setup) []string {
	var env []string
	if s == nil {
		return nil
	}
	for name, value := range serverSwitches {
		if _, set := c.options.Env[name]; !set && len(s.Servers) > 0 {
			env = append(env, name+"="+value)
		}
	}
	return env
}

package stub

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// The host's MCP server over stdin and stdout, and the names of its tools.
const (
	serverName = "clawhost"
	toolPrefix = "mcp__" + serverName + "__"
)

// program is another MCP server. The stub starts it, and says nothing to it.
type program struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// declare reads an MCP configuration.
func (o *options) declare(config string) {
	var c struct {
		Servers map[string]program `json:"mcpServers"`
	}
	if json.Unmarshal([]byte(config), &c) != nil {
		return
	}
	o.server = o.server || c.Servers[serverName].Type == "sdk"
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		p := c.Servers[name]
		if name != serverName || p.Type != "sdk" {
			o.servers = append(o.servers, name)
		}
		if p.Command != "" {
			o.programs = append(o.programs, p)
		}
	}
}

// start starts the servers that are programs. As with the CLI, their stdin ends with the stub.
func (s *session) start() {
	for _, p := range s.opts.programs {
		cmd := exec.Command(p.Command, p.Args...)
		cmd.Env = s.toolEnv()
		for name, value := range p.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if stdin, err := cmd.StdinPipe(); err == nil && cmd.Start() == nil {
			s.stdins = append(s.stdins, stdin)
		} // one that does not start is missing
	}
}

// rpcAnswer is an answer of the host's MCP server.
type rpcAnswer struct {
	Response struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"mcp_response"`
}

// tell sends a message to the host's MCP server, and returns the id of the request that contains it.
func (s *session) tell(method string, params map[string]any, isCall bool) (id string, call int) {
	message := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		message["params"] = params
	}
	if isCall {
		call = s.calls
		message["id"] = call
		s.calls++
	}
	return s.request(map[string]any{"subtype": "mcp_message", "server_name": serverName, "message": message}), call
}

// meet initializes the host's MCP server, after initialize is answered, and lists its tools.
func (s *session) meet(greeting string) {
	if _, ok := s.await(greeting); !ok {
		return
	}
	s.tell("notifications/initialized", nil, false)
	list, _ := s.tell("tools/list", nil, true)
	data, _ := s.await(list)
	var answer rpcAnswer
	var tools struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if json.Unmarshal(data, &answer) != nil || json.Unmarshal(answer.Response.Result, &tools) != nil {
		return // the server has failed: there are no tools
	}
	for _, tool := range tools.Tools {
		s.tools = append(s.tools, tool.Name)
	}
}

// hostTool is a use of a tool of the host.
func (s *session) hostTool(c Call) use {
	if c.Input == nil {
		c.Input = map[string]any{}
	}
	return use{name: toolPrefix + c.Tool, input: c.Input, ask: true, run: func(input json.RawMessage, use string) (string, bool) {
		if !slices.Contains(s.tools, c.Tool) {
			return "No such tool available: " + toolPrefix + c.Tool, true
		}
		id, call := s.tell("tools/call", map[string]any{
			"name": c.Tool, "arguments": input, "_meta": map[string]any{"claudecode/toolUseId": use},
		}, true)
		data, ok := s.await(id)
		if !ok {
			s.tell("notifications/cancelled", map[string]any{"requestId": call, "reason": "AbortError: remote-cancel"}, false)
			return "", true
		}
		return outcome(data)
	}}
}

// outcome is the part of an answer that the model sees.
func outcome(data json.RawMessage) (output string, failed bool) {
	var answer rpcAnswer
	var result struct {
		Content []struct {
			Text string `json:"text"`
			MIME string `json:"mimeType"` // of a picture
			Data []byte `json:"data"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	err := json.Unmarshal(data, &answer)
	if err == nil && answer.Response.Error != nil {
		return fmt.Sprintf("MCP error %d: %s", answer.Response.Error.Code, answer.Response.Error.Message), true
	}
	if err == nil {
		err = json.Unmarshal(answer.Response.Result, &result)
	}
	if err != nil {
		return err.Error(), true
	}
	var texts []string
	for _, c := range result.Content {
		if len(c.Data) > 0 {
			c.Text = fmt.Sprintf("[%s, %d bytes]", c.MIME, len(c.Data))
		}
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n"), result.IsError
}

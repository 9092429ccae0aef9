//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// uses is an answer that calls one tool.
func uses(tool string, input map[string]any) messagesapi.Reply {
	return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: tool, Input: input}}}
}

// program is the test binary as an MCP server, in the config.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return encoded([]string{path})
}

// offered are the tools of MCP servers that a request offers to the model.
func offered(r messagesapi.Request) []string {
	var names []string
	for _, tool := range r.Prompt.Tools {
		if strings.HasPrefix(tool.Name, "mcp__") {
			names = append(names, tool.Name)
		}
	}
	return names
}

// A server that cannot start, and one that takes long, hold up nothing. Owners are notified about the first one once, with what to do,
// and only they. The second one's tools are there when it has started.
// Behaviour: mcp, mcp-fails, tools-list.
func TestServersThatFailOrAreSlow(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	h := newHost(t, setup{
		access: fmt.Sprintf("owners = [\"telegram:%d\"]\nallow = [\"telegram:2000\"]", ownerID),
		limits: `
  mcp "broken" {
    command = ["/nonexistent/server", "canary-argument"]
    env     = { SECRET = "canary-of-the-server" }
  }
  mcp "slow" {
    command = ["/bin/sh", "-c", "while [ ! -e $0 ]; do sleep 0.1; done; exec $1", ` + encoded(gate) + `, ` + strings.Trim(program(t), "[]") + `]
    env     = { ` + serverVariable + ` = "1" }
  }`,
	})
	h.start()
	owner, anna := h.owner(), h.person(2000)
	owner.say("/whoami") // on Telegram a bot cannot write first
	owner.next()
	anna.talks("hello")
	notice := owner.next().Text
	if !strings.HasPrefix(notice, "The MCP server broken does not start, so its tools are missing:") || !strings.Contains(notice, "ENOENT") || !strings.Contains(notice, "restart the host") {
		t.Errorf("the owner got %q", notice)
	}
	owner.talks("hello")
	owner.silent()
	anna.say("/tools")
	if got := anna.next().Text; !strings.Contains(got, "MCP server broken: does not start") || strings.Contains(got, "ENOENT") || !strings.Contains(got, "MCP server slow: is starting") {
		t.Errorf("/tools answered %q", got)
	}
	anna.silent()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.poll("the slow server's tools are offered", func() bool {
		anna.talks("now?")
		return slices.Contains(offered(h.last()), "mcp__slow__greet")
	})
	anna.say("/tools")
	got := anna.next().Text
	_, tools, _ := strings.Cut(got, "MCP server slow: ")
	for _, tool := range []string{"ask", "environment", "greet"} {
		if !strings.Contains(tools, tool) {
			t.Errorf("/tools answered %q", got)
		}
	}
}

// A program and an HTTP server of the config are called from a chat. People are asked about a tool, unless a rule allows it.
// Secrets are in no command line, and a server gets none of the host's; its file is gone once Claude has read it.
// Behaviour: mcp, mcp-ask, mcp-secrets.
func TestServersOfTheConfig(t *testing.T) {
	t.Parallel()
	const secret, header = "canary-of-the-server", "Bearer canary-of-the-header"
	remote := newHTTPServer(t)
	h := newHost(t, setup{
		// A busy machine may take longer than two seconds to start the servers.
		claude: map[string]string{"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000"},
		tools:  []string{"Bash", "mcp__remote__*", "mcp__local__environment"},
		env:    []string{"SERVER_SECRET=" + secret, "SERVER_HEADER=" + header},
		limits: `
  api_keys = [` + encoded(key) + `]
  mcp "local" {
    command = ` + program(t) + `
    env     = { ` + serverVariable + ` = "1", SECRET = env("SERVER_SECRET") }
  }
  mcp "remote" {
    url     = ` + encoded(remote.URL) + `
    headers = { Authorization = env("SERVER_HEADER") }
  }`,
	})
	h.start()
	owner := h.owner()
	if got := h.tool(owner, uses("mcp__remote__greet", map[string]any{"name": "Bob"})); got != "hello Bob" {
		t.Errorf("the HTTP server answered %q", got)
	}
	if got := offered(h.api.Messages()[0]); !slices.Contains(got, "mcp__local__greet") || !slices.Contains(got, "mcp__remote__greet") || !slices.Contains(got, "mcp__clawhost__message") {
		t.Errorf("the first request offers %q", got)
	}
	for _, tool := range h.api.Messages()[0].Prompt.Tools {
		if slices.Contains([]string{"ListAgents", "SendMessage", "ScheduleWakeup", "EnterWorktree", "Monitor"}, tool.Name) {
			t.Errorf("the model is offered %s", tool.Name)
		}
	}
	if got := remote.seen("Authorization"); !slices.Contains(got, header) {
		t.Errorf("the HTTP server was sent %q", got)
	}

	env := strings.Split(h.tool(owner, uses("mcp__local__environment", nil)), "\n")
	if !slices.Contains(env, "SECRET="+secret) {
		t.Errorf("the server has not its own variable: %q", env)
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_MESSAGING_SOCKET"} {
		for _, pair := range env {
			if value, has := strings.CutPrefix(pair, name+"="); has && value != "" {
				t.Errorf("the server has %s", name)
			}
		}
	}
	lines := h.tool(owner, messagesapi.Bash("cat /proc/$PPID/cmdline | tr '\\0' '\\n'"))
	if !strings.Contains(lines, "--mcp-config") || strings.Contains(lines, secret) || strings.Contains(lines, "canary-of-the-header") {
		t.Errorf("the command line of claude is %q", lines)
	}
	if left, _ := filepath.Glob(filepath.Join(h.state, "run", "claude", "mcp-*")); len(left) != 0 { // the pattern is well-formed
		t.Errorf("the servers' file was left: %q", left)
	}
	h.api.Enqueue(uses("mcp__local__greet", map[string]any{"name": "Ada"}), messagesapi.Reply{Text: "greeted"})
	owner.say("greet Ada")
	owner.press(owner.questioned("Claude asks to use mcp__local__greet"), "Once")
	owner.shows("greeted")
	if got := h.result(4); got != "hello Ada" {
		t.Errorf("the tool answered %q", got)
	}
	h.stop()
	for name, text := range map[string]string{"log": h.log.String(), "output": h.out.String()} {
		if strings.Contains(text, secret) || strings.Contains(text, "canary-of-the-header") {
			t.Errorf("a server's secret is in the %s", name)
		}
	}
	h.closedToOthers(secret)
}

package wording

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Tools are the agent's tools by where they are from.
type Tools struct {
	Known   bool     // Claude Code has listed its tools
	Claude  []string // Claude Code's own
	Offered map[string][]string
	Servers []Server
}

// Poll says in words what a poll asks.
func Poll(p chat.Poll) string {
	var b strings.Builder
	b.WriteString(p.Question)
	for i, option := range p.Options {
		fmt.Fprintf(&b, "\n%d. %s", i+1, option)
	}
	return b.String()
}

// Server is an MCP server with its tools.
type Server struct {
	Name   string
	State  string
	Failed bool
	Error  string // empty: not to be shown
	Tools  []string
}

// String is what /tools answers.
func (t Tools) String() string {
	var b strings.Builder
	b.WriteString("**Tools**\n")
	if t.Known {
		fmt.Fprintf(&b, "\n- Claude Code: %s", toolNames(t.Claude))
	} else {
		b.WriteString("\n- Claude Code: not known before the first message since the start")
	}
	for _, plugin := range slices.Sorted(maps.Keys(t.Offered)) {
		from := "the host"
		if plugin != "" {
			from = "plugin " + Code(plugin)
		}
		fmt.Fprintf(&b, "\n- %s: %s", from, toolNames(t.Offered[plugin]))
	}
	for _, s := range t.Servers {
		fmt.Fprintf(&b, "\n- MCP server %s", Code(s.Name))
		switch {
		case s.Failed && s.Error != "":
			fmt.Fprintf(&b, ": does not start: %s", Code(s.Error))
		case s.Failed:
			b.WriteString(": does not start")
		case len(s.Tools) == 0 && s.State == "pending":
			b.WriteString(": is starting")
		default:
			fmt.Fprintf(&b, ": %s", toolNames(s.Tools))
		}
	}
	return b.String()
}

// toolNames lists tools, of which foreign servers may have any number.
func toolNames(names []string) string {
	const most = 100
	var list []string
	for i, name := range names {
		if i == most {
			list = append(list, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		list = append(list, Code(name))
	}
	return or(strings.Join(list, ", "), "none")
}

// ServerOptions and NoServerWithCode answer a /mcp that cannot be carried out.
const (
	ServerOptions    = "Options: allow CODE, deny CODE."
	NoServerWithCode = "The workspace has no MCP server with this code now. /mcp lists them."
)

// AskedServer is an MCP server of the workspace's .mcp.json.
type AskedServer struct {
	Name, Content, Code string
	Decided, Allowed    bool
	By                  string // who decided
}

// AskedServers is what /mcp answers.
func AskedServers(list []AskedServer) string {
	if len(list) == 0 {
		return "The workspace has no MCP servers of its own, or the config does not use them."
	}
	var b strings.Builder
	b.WriteString("**MCP servers of the workspace**\n")
	for _, s := range list {
		state := "waits for an owner"
		switch {
		case s.Allowed:
			state = "allowed by " + Code(s.By)
		case s.Decided:
			state = "denied by " + Code(s.By)
		}
		fmt.Fprintf(&b, "\n- %s, %s: %s\n  code: %s", Code(s.Name), state, Verbatim(s.Content), Code(s.Code))
	}
	return b.String()
}

// ServerDecided confirms a decision about an MCP server.
func ServerDecided(name string, allowed bool) string {
	if allowed {
		return fmt.Sprintf("The MCP server %s may run. The next message uses it.", Code(name))
	}
	return fmt.Sprintf("The MCP server %s does not run.", Code(name))
}

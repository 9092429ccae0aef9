package client

import (
	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Inventory gets what a process tells about its tools. Its methods must not block.
type Inventory interface {
	// HasTools gets the names of all tools of a process, as each turn begins.
	HasTools(names []string)
	// HasServers gets the MCP servers of a process, except the host's own.
	HasServers(list []agent.ServerStatus)
}

// statusID is the id of the request for the state of the MCP servers, of which one at most is open.
const statusID = "mcp_status"

// connected and pending are states of an MCP server.
const (
	connected = "connected"
	pending   = "pending"
)

// take takes the tools and servers that a turn begins with. The reasons for a failure are asked for. The client is locked.
func (c *Client) take(e *protocol.Event) {
	c.inventory.HasTools(e.Tools)
	if !c.takeServers(e.Servers) {
		c.request(statusID, map[string]any{"subtype": "mcp_status"})
	}
}

// takeServers takes the state of the servers, and reports whether all are connected. The client is locked.
func (c *Client) takeServers(list []protocol.Server) bool {
	c.pending = false
	all := true
	var servers []agent.ServerStatus
	for _, s := range list {
		if s.Name == cli.ServerName {
			continue
		}
		all = all && s.Status == connected
		c.pending = c.pending || s.Status == pending
		servers = append(servers, agent.ServerStatus{Name: s.Name, State: s.Status, Error: c.command.RedactServers(s.Error, c.profile.Servers())})
	}
	if len(servers) > 0 {
		c.inventory.HasServers(servers)
	}
	return all
}

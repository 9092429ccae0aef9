package client

import (
	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// takeModels takes what a process reports of models. An older CLI reports only their names.
func (c *Client) takeModels(list []protocol.Model) {
	var models []agent.Abilities
	for _, m := range list {
		if m.ThinkingOff != nil {
			models = append(models, agent.Abilities{Names: [2]string{m.Value, m.Resolved}, ThinkingOff: *m.ThinkingOff, Fast: m.Fast})
		}
	}
	if len(models) > 0 {
		c.inventory.hasModels(models)
	}
}

// Speed returns the last state of fast mode that the CLI has reported: on, off, cooldown or nothing; and why it is not on.
func (c *Client) Speed() (fast, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.speed.Fast, c.speed.FastWhy
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
	c.inventory.hasTools(e.Tools)
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
		servers = append(servers, agent.ServerStatus{
			Name: s.Name, State: s.Status,
			Error: c.command.RedactServers(s.Error, c.profile.Servers()),
		})
	}
	if len(servers) > 0 {
		c.inventory.hasServers(servers)
	}
	return all
}

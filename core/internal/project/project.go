// Package project resolves what Claude Code is given beside the host's own: the MCP servers of the config, and what is used of
// the workspace's own setup for Claude Code.
package project

import (
	"maps"
	"slices"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
)

// Folder is the workspace of an agent. It is safe for concurrent use.
type Folder struct {
	setup *agent.Setup
}

// New returns the folder of the agent that is run as c says.
func New(c config.Claude) *Folder {
	setup := &agent.Setup{}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		m := c.MCP[name]
		setup.Servers = append(setup.Servers, agent.MCPServer{Name: name, Command: m.Command, Env: m.Env, URL: m.URL, Headers: m.Headers})
	}
	return &Folder{setup: setup}
}

// Setup returns what a turn is to be given that begins now. It returns the same pointer as long as nothing changes.
func (f *Folder) Setup() *agent.Setup { return f.setup }

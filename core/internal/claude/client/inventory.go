package client

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/notice"
)

// Inventory keeps what processes tell about their tools, and tells owners about servers that fail. It is safe for concurrent use.
type Inventory struct {
	owners *notice.Owners // nil: failures are only logged
	log    hclog.Logger
	work   *sync.WaitGroup // notices to owners in progress

	mu      sync.Mutex
	tools   []string
	servers []agent.ServerStatus
	models  []agent.Abilities
	failed  map[string]string // by server, the error that was reported
}

// NewInventory returns an empty inventory. Work waits for notices to owners.
func NewInventory(owners *notice.Owners, work *sync.WaitGroup, log hclog.Logger) *Inventory {
	return &Inventory{owners: owners, log: log, work: work, failed: map[string]string{}}
}

// Latest returns what is known from the latest process: all tools, as the CLI names them, none before the first turn; the MCP
// servers, except the host's own; and what the CLI reports of models, if it does.
func (i *Inventory) Latest() (tools []string, servers []agent.ServerStatus, models []agent.Abilities) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.tools), slices.Clone(i.servers), slices.Clone(i.models)
}

// hasTools takes the names of all tools of a process, as each turn begins.
func (i *Inventory) hasTools(names []string) {
	if len(names) == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tools = names
}

// hasModels takes what the models that the CLI lists can do.
func (i *Inventory) hasModels(list []agent.Abilities) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.models = list
}

// hasServers takes the MCP servers of a process, except the host's own.
func (i *Inventory) hasServers(list []agent.ServerStatus) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.servers = list
	for _, s := range list {
		switch reported, was := i.failed[s.Name]; {
		case s.State == "connected":
			delete(i.failed, s.Name)
		case !s.Failed() || s.Error == "" || was && reported == s.Error: // the error follows
		default:
			i.failed[s.Name] = s.Error
			i.log.Warn("an MCP server does not start", "server", s.Name, "state", s.State, "error", s.Error)
			if i.owners != nil {
				key := domain.KeyServerFails.Of(s.Name, time.Now().UTC().Format(time.DateOnly), s.Error)
				i.work.Go(func() { i.owners.Tell(key, wording.ServerFails(s.Name, s.Error)) })
			}
		}
	}
}

package claude

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Inventory describes the tools of the latest process.
type Inventory struct {
	Tools   []string             // all, as the CLI names them; none: no turn has begun yet
	Servers []agent.ServerStatus // the MCP servers, except the host's own
	Models  []agent.Abilities    // what the CLI reports of models; none: it reports nothing
}

// inventory keeps what processes tell about their tools, and tells owners about servers that fail.
type inventory struct {
	owners Owners // may be nil
	log    hclog.Logger
	work   *sync.WaitGroup

	mu     sync.Mutex
	latest Inventory
	failed map[string]string // by server, the error that was told
}

// HasTools implements [client.Inventory].
func (i *inventory) HasTools(names []string) {
	if len(names) == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.latest.Tools = names
}

// HasModels implements [client.Inventory].
func (i *inventory) HasModels(list []agent.Abilities) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.latest.Models = list
}

// HasServers implements [client.Inventory].
func (i *inventory) HasServers(list []agent.ServerStatus) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.latest.Servers = list
	for _, s := range list {
		switch told, was := i.failed[s.Name]; {
		case s.State == "connected":
			delete(i.failed, s.Name)
		case !s.Failed() || s.Error == "" || was && told == s.Error: // the error follows
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

// Inventory returns the tools of the latest process.
func (p *Pool) Inventory() Inventory {
	i := p.inventory
	i.mu.Lock()
	defer i.mu.Unlock()
	return Inventory{Tools: slices.Clone(i.latest.Tools), Servers: slices.Clone(i.latest.Servers), Models: slices.Clone(i.latest.Models)}
}

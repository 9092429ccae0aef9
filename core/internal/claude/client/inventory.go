package client

import (
	"slices"
	"strings"
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
	lost    Loss
}

// Loss is that a process could not save all of a conversation. The zero Loss: none has said so.
type Loss struct {
	At  time.Time // when it was said, as the process ended
	Why string
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

// lostFor is how long a loss is news: processes that could not write say so only when they end.
const lostFor = time.Hour

// Lost returns the last loss, unless it is old.
func (i *Inventory) Lost() Loss {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Since(i.lost.At) >= lostFor {
		return Loss{}
	}
	return i.lost
}

// loses takes what a process could not save. The CLI 2.1.331 says so once, as the last line of a process that leaves by itself; one that
// was killed, or fails, says nothing.
func (i *Inventory) loses(session string, what []string, why string) {
	why = cut(why, maxRule)
	i.log.Warn("Claude Code could not save its files", "session", session, "lost", cut(strings.Join(what, ", "), maxRule), "error", why)
	if slices.Contains(what, "transcript") {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.lost = Loss{At: time.Now(), Why: why}
	}
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

package claude

import (
	"maps"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Stats describes a pool.
type Stats struct {
	Running     int // processes that run a turn, or start for one
	Idle        int
	Spare       int   // processes that wait for a conversation to begin
	SpareMemory int64 // bytes that these used recently; zero: none, or unknown
	Waiting     int   // turns that wait for a process
	PIDs        []int // of all processes, sorted
	Memory      int64 // bytes that they and their tools used recently; zero: none, or unknown
	Limit       int64 // of Memory; zero: none

	Available int64     // bytes that the machine, or the container, has left
	Total     int64     // of the machine, or the container; zero: unknown, as Available
	Parked    []Parking // the last ones, newest first
}

// Parking says that an idle process was ended.
type Parking struct {
	At      time.Time
	Session string // the host's name of the session; may be empty
	Why     Reason
}

// maxParkings bounds the parkings that are remembered.
const maxParkings = 5

// Reason is why an idle process was ended.
type Reason string

// The reasons.
const (
	Unused     Reason = "unused"     // for as long as it is kept
	Shortage   Reason = "shortage"   // the machine's memory was short
	OverLimit  Reason = "limit"      // the processes used more than Config.MaxMemory
	Grown      Reason = "grown"      // beyond Config.RecycleAt
	Needed     Reason = "needed"     // another turn needed its place
	Exhausted  Reason = "exhausted"  // another one could not be started, without more memory, descriptors or processes
	Replaced   Reason = "replaced"   // by one that serves the next turn
	Superseded Reason = "superseded" // by a new conversation
	Elsewhere  Reason = "elsewhere"  // another program opens the session
	Tasks      Reason = "tasks"      // it went on after its turn
	Closing    Reason = "closing"    // of the host
)

// Stats returns a snapshot of the pool.
func (p *Pool) Stats() Stats {
	machine, _ := p.machine.Read()
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := Stats{Idle: len(p.idle.sessions), Spare: len(p.stock.spares), Waiting: len(p.waiting), Memory: p.live.memory, Limit: p.config.MaxMemory}
	stats.Available, stats.Total = machine.Available, machine.Total
	stats.Parked = slices.Clone(p.last)
	slices.Reverse(stats.Parked)
	stats.Running = p.slots - stats.Idle - p.parking
	for _, s := range p.stock.spares {
		stats.SpareMemory += s.weight.All()
	}
	stats.PIDs = slices.Sorted(maps.Keys(p.live.pids))
	return stats
}

// Inventory describes the tools of the latest process.
type Inventory struct {
	Tools   []string             // all, as the CLI names them; none: no turn has begun yet
	Servers []agent.ServerStatus // the MCP servers, except the host's own
	Models  []agent.Abilities    // what the CLI reports of models; none: it reports nothing
}

// Inventory returns the tools of an agent's latest process.
func (p *Pool) Inventory(agent string) Inventory {
	tools, servers, models := p.agents[agent].inventory.Latest()
	return Inventory{tools, servers, models}
}

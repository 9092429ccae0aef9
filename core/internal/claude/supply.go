package claude

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/base/memory"
)

// supply is how the machine's memory was at the last look. Its two conditions begin and end at different values, so that they do not
// change back and forth.
type supply struct {
	memory.State
	known bool
	short bool // idle processes are parked
	much  bool // idle processes whose conversations are in frequent use may stay longer
}

const (
	stallsAt, stallsUntil = 10.0, 5.0 // percent of the time in which processes wait for memory: where a shortage begins and ends
	maxReserve            = 2 << 30   // bytes
)

// next is the supply after another look.
func (s supply) next(state memory.State, known bool) supply {
	if !known {
		return supply{}
	}
	n := supply{State: state, known: true}
	n.short = state.Available < n.reserve() || state.Stalled > stallsAt
	if s.short && (state.Available < n.enough() || state.Stalled > stallsUntil) {
		n.short = true
	}
	n.much = !n.short && (state.Available > state.Total/2 || s.much && state.Available > state.Total*2/5)
	return n
}

// reserve is what the host leaves to others: a tenth of the memory, at least as much as one process takes.
func (s supply) reserve() int64 { return min(max(s.Total/10, usualWeight), maxReserve) }

// enough is what must be available at the end of a shortage, and after a start that no turn waits for.
func (s supply) enough() int64 { return s.reserve() * 3 / 2 }

const (
	parkAfter  = 10 * time.Minute // and as long again for each further turn
	keepAtMost = 2 * time.Hour
	recently   = time.Hour
)

// served notes that a turn of the process has ended.
func (p *Pool) served(s *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const most = int(keepAtMost / parkAfter)
	s.turns = append(s.turns, time.Now())
	s.turns = s.turns[max(0, len(s.turns)-most):]
}

// keep is how long an idle process is worth keeping: ten minutes for each turn that it had in the hour before.
func (s *worker) keep() time.Duration {
	turns := 0
	for _, at := range s.turns {
		if s.since.Sub(at) < recently {
			turns++
		}
	}
	return min(max(1, time.Duration(turns))*parkAfter, keepAtMost)
}

// due is when an idle process is parked while there is memory. The caller holds the lock.
func (p *Pool) due(s *worker) time.Time {
	switch {
	case p.config.ParkAfter > 0:
		return s.since.Add(p.config.ParkAfter)
	case p.supply.much:
		return s.since.Add(s.keep())
	default:
		return s.since.Add(parkAfter)
	}
}

package claude

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// Memory is measured from time to time, not for each message: separating a claude's own memory from what all of them
// share takes the system some milliseconds.

// look measures the processes, and ends idle ones that are too large.
func (p *Pool) look() {
	p.mu.Lock()
	roots := make([]cli.ID, 0, len(p.live))
	for s := range p.live {
		roots = append(roots, s.process.ID())
	}
	p.mu.Unlock()
	if len(roots) == 0 {
		return
	}
	weights := p.scale.Weigh(roots)
	state, known := p.machine.Read()
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.live {
		if w, ok := weights[s.process.ID()]; ok {
			s.weight = w
		}
	}
	for _, s := range p.idle {
		if p.grown(s) {
			p.leave(s, Grown)
		}
	}
	if p.supply = p.supply.next(state, known); p.supply.short {
		p.yield()
	}
	p.grant()
	p.wake()
}

// yield parks spare processes, and idle ones, those worth the least first, until the shortage of memory will be over. Where memory is
// available, but others wait for it all the same, it parks one for each look. The caller holds the lock.
func (p *Pool) yield() {
	available := p.supply.Available
	for _, s := range p.parked {
		available += p.expected(s)
	}
	for _, s := range p.stock.spares {
		available += p.expected(s.worker)
	}
	spared := p.clear()
	for i, s := range p.leastValued() {
		if available >= p.supply.enough() && (i > 0 || p.parking > 0 || spared || p.supply.Stalled <= stallsUntil) {
			return
		}
		available += p.expected(s)
		p.log.Info("an idle claude is parked, as memory is short", "session", s.session, "available", p.supply.Available,
			"stalled_percent", p.supply.Stalled)
		p.leave(s, Shortage)
	}
}

// usualWeight is what a process takes, in bytes, as long as none was measured.
const usualWeight = 200 << 20

// typical is what a process takes on average. The caller holds the lock.
func (p *Pool) typical() int64 {
	var sum, n int64
	for s := range p.live {
		if s.weight.Own > 0 {
			sum, n = sum+s.weight.Own, n+1
		}
	}
	if n == 0 {
		return usualWeight
	}
	return sum / n
}

// expected is what a process takes, or what it will take if it was not measured yet. The caller holds the lock.
func (p *Pool) expected(s *worker) int64 {
	if all := s.weight.All(); all > 0 {
		return all
	}
	return p.typical()
}

// fits reports whether there is memory for one more process that no turn waits for: with it, Config.MaxMemory holds and enough remains
// available. It counts in full those that are about to start, or were not measured yet. Where the system does not tell, one more fits.
// The caller holds the lock.
func (p *Pool) fits() bool {
	one := p.typical()
	starting := one * int64(max(0, p.slots+len(p.stock.spares)-len(p.live)))
	all, coming := one+starting, one+starting
	for s := range p.live {
		all += p.expected(s)
		if s.weight.All() == 0 {
			coming += one
		}
	}
	if p.config.MaxMemory > 0 && all > p.config.MaxMemory {
		return false
	}
	now := p.supply.next(p.machine.Read())
	return !now.known || !now.short && now.Available-coming >= now.enough()
}

// grown reports whether a process is so large that a new one must resume its session. The caller holds the lock.
func (p *Pool) grown(s *worker) bool {
	if p.config.RecycleAt <= 0 || s.weight.Own <= p.config.RecycleAt {
		return false
	}
	s.log.Debug("claude has grown too large and is ended", "bytes", s.weight.Own)
	return true
}

// used is the memory of the processes at the last measurement. The caller holds the lock.
func (p *Pool) used() int64 {
	var sum int64
	for s := range p.live {
		sum += s.weight.All()
	}
	return sum
}

// relieve parks idle processes, those worth the least first, until the others are within the limit. Processes that were
// not measured yet stay, because the effect of their end is unknown. The caller holds the lock.
func (p *Pool) relieve() {
	if p.config.MaxMemory <= 0 {
		return
	}
	stays := p.used()
	for _, s := range p.parked {
		stays -= s.weight.All()
	}
	if stays > p.config.MaxMemory && p.clear() {
		return // what they free is known at the next measurement
	}
	for _, s := range p.leastValued() {
		if stays <= p.config.MaxMemory {
			return
		}
		if freed := s.weight.All(); freed > 0 {
			stays -= freed
			p.leave(s, OverLimit)
		}
	}
}

// tight reports whether a new process must wait until parked ones have freed memory. If none is being parked there is
// nothing to wait for. The caller holds the lock.
func (p *Pool) tight() bool {
	return p.config.MaxMemory > 0 && p.parking > 0 && p.used() > p.config.MaxMemory
}

// leastValued are the idle processes, those worth the least first: each is worth its place until it would be parked if there were much
// memory, so those used last come last, and those used often later still. The caller holds the lock.
func (p *Pool) leastValued() []*worker {
	list := slices.Collect(maps.Values(p.idle))
	slices.SortFunc(list, func(a, b *worker) int {
		return cmp.Or(a.since.Add(a.keep()).Compare(b.since.Add(b.keep())), a.since.Compare(b.since))
	})
	return list
}

// weighEvery is the default interval between measurements.
const weighEvery = 15 * time.Second

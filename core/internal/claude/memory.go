package claude

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// Memory is measured from time to time, not for each message: separating a claude's own memory from what all of them
// share takes the system some milliseconds.

// look measures the processes, and ends idle ones that are too large.
func (p *Pool) look() {
	p.mu.Lock()
	roots := make([]cli.ID, 0, len(p.live.pids))
	for _, s := range p.live.pids {
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
	for _, s := range p.live.pids {
		if w, ok := weights[s.process.ID()]; ok {
			p.live.weigh(s, w)
		}
	}
	for _, s := range p.idle.sessions {
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
	if p.live.measured == 0 {
		return usualWeight
	}
	return p.live.own / int64(p.live.measured)
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
	starting := max(0, p.slots+len(p.stock.spares)-len(p.live.pids))
	coming := one * int64(1+starting+p.live.unknown)
	if p.config.MaxMemory > 0 && p.live.memory+coming > p.config.MaxMemory {
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

// relieve parks idle processes, those worth the least first, until the others are within the limit. Processes that were
// not measured yet stay, because the effect of their end is unknown. The caller holds the lock.
func (p *Pool) relieve() {
	if p.config.MaxMemory <= 0 {
		return
	}
	stays := p.live.memory
	for _, s := range p.parked {
		stays -= s.weight.All()
	}
	if stays <= p.config.MaxMemory || p.clear() {
		return // what spare ones free is known at the next measurement
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
	return p.config.MaxMemory > 0 && p.parking > 0 && p.live.memory > p.config.MaxMemory
}

// weighEvery is the default interval between measurements.
const weighEvery = 15 * time.Second

package claude

import (
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
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.live {
		if w, ok := weights[s.process.ID()]; ok {
			s.weight = w
		}
	}
	for _, s := range p.idle {
		if p.grown(s) {
			p.leave(s)
		}
	}
	p.grant()
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

// typical is what a process takes that was not measured yet.
const typical = 200 << 20

// room reports whether there is memory for one more process. The caller holds the lock.
func (p *Pool) room() bool {
	more := int64(typical)
	if n := int64(len(p.live)); n > 0 && p.used() > 0 {
		more = p.used() / n
	}
	return p.config.MaxMemory <= 0 || p.used()+more <= p.config.MaxMemory
}

// relieve parks idle processes, least recently used first, until the others are within the limit. Processes that were
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
	for _, s := range p.leastRecent() {
		if stays <= p.config.MaxMemory {
			return
		}
		if freed := s.weight.All(); freed > 0 {
			stays -= freed
			s.log.Debug("claude is ended to free memory", "bytes", freed)
			p.leave(s)
		}
	}
}

// tight reports whether a new process must wait until parked ones have freed memory. If none is being parked there is
// nothing to wait for. The caller holds the lock.
func (p *Pool) tight() bool {
	return p.config.MaxMemory > 0 && p.parking > 0 && p.used() > p.config.MaxMemory
}

// leastRecent are the idle processes, least recently used first. The caller holds the lock.
func (p *Pool) leastRecent() []*worker {
	var list []*worker
	for _, s := range p.idle {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *worker) int { return a.since.Compare(b.since) })
	return list
}

// weighEvery is the default interval between measurements.
const weighEvery = 15 * time.Second

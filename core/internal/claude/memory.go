package claude

import (
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// The memory of the processes is weighed from time to time, and not for each message: to tell what a claude has of its own,
// beside what all of them share, takes the system some milliseconds.

// look weighs the processes, and ends those that are idle and too heavy.
func (p *Pool) look() {
	p.mu.Lock()
	roots := make([]cli.ID, 0, len(p.live))
	for s := range p.live {
		roots = append(roots, s.Process.ID())
	}
	p.mu.Unlock()
	if len(roots) == 0 {
		return
	}
	weights := p.weigh(roots)
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.live {
		if w, ok := weights[s.Process.ID()]; ok {
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

// grown reports whether a process has become so heavy that a new one is to take its session up. The pool is locked.
func (p *Pool) grown(s *worker) bool {
	if p.config.RecycleAt <= 0 || s.weight.Own <= p.config.RecycleAt {
		return false
	}
	s.Log.Debug("claude has grown and is ended", "bytes", s.weight.Own)
	return true
}

// used is what the processes held when they were weighed last. The pool is locked.
func (p *Pool) used() int64 {
	var sum int64
	for s := range p.live {
		sum += s.weight.All()
	}
	return sum
}

// relieve sends idle processes away, the least recently used first, until those that stay are within the limit. One that
// was not weighed yet stays, as nobody can tell what its end would bring. The pool is locked.
func (p *Pool) relieve() {
	if p.config.MaxMemory <= 0 {
		return
	}
	stays := p.used()
	for _, s := range p.parked {
		stays -= s.weight.All()
	}
	for _, s := range p.leastRecent() {
		if stays <= p.config.MaxMemory {
			return
		}
		if freed := s.weight.All(); freed > 0 {
			stays -= freed
			s.Log.Debug("claude is ended to free memory", "bytes", freed)
			p.leave(s)
		}
	}
}

// tight reports whether a new process is to wait until others, which are leaving, have freed memory. Where none leaves
// there is nothing to wait for. The pool is locked.
func (p *Pool) tight() bool {
	return p.config.MaxMemory > 0 && p.parking > 0 && p.used() > p.config.MaxMemory
}

// leastRecent are the idle processes, that which was used last behind the others. The pool is locked.
func (p *Pool) leastRecent() []*worker {
	var list []*worker
	for _, s := range p.idle {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *worker) int { return a.since.Compare(b.since) })
	return list
}

// weighEvery is how often the processes are weighed where the configuration does not say.
const weighEvery = 15 * time.Second

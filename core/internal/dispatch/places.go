package dispatch

import (
	"context"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// places limit how many runs of one kind of lane work at the same time. A run that waits for people gives its place
// back and gets one again before it continues; as many may wait as may work, at least two. If there are owners, the
// last place to work and to wait, if it is not the only one, is reserved for them.
type places struct {
	total  int
	owners bool // there are owners

	mu             sync.Mutex
	working        int // runs that have a place
	othersWorking  int // those of them that are not owners'
	pausing        int // runs that have given theirs back
	othersPausing  int
	returning      []*running         // paused runs that want to continue, in order
	claiming       bool               // a place is reserved for a claim in progress
	claimingOwners bool               // only an owner's run may be claimed
	relook         context.CancelFunc // cancels that claim, to start another one
	left           chan struct{}      // signals that a place is free; buffers one signal
}

func newPlaces(total int, owners bool) *places {
	return &places{total: total, owners: owners, left: make(chan struct{}, 1)}
}

// forOthers is the number of places that others than owners may use.
func (p *places) forOthers() int { return p.others(p.total) }

// waits is how many runs may wait for people; othersWait is how many of them may be others than owners.
func (p *places) waits() int { return max(p.total, 2) }

func (p *places) othersWait() int { return p.others(p.waits()) }

// others is how many of a number of places others than owners may use.
func (p *places) others(of int) int {
	if p.owners {
		return max(of-1, 1)
	}
	return of
}

// claim waits for a place and reserves it for a run that is about to be claimed, until claimed is called. It returns
// whose run that may be, and a context that ends when this has to be decided again. False: ctx has ended.
func (p *places) claim(ctx context.Context) (looking context.Context, whose domain.Whose, ok bool) {
	for {
		p.mu.Lock()
		p.admit()
		if p.working < p.total {
			defer p.mu.Unlock()
			p.claiming, p.claimingOwners = true, p.othersWorking >= p.forOthers()
			looking, p.relook = context.WithCancel(ctx)
			if p.claimingOwners {
				whose = domain.Owners
			}
			return looking, whose, true
		}
		p.mu.Unlock()
		select {
		case <-p.left:
		case <-ctx.Done():
			return nil, whose, false
		}
	}
}

// claimed gives the reserved place to the claimed run; nil: it frees the place.
func (p *places) claimed(r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claiming = false
	p.relook()
	if r != nil {
		p.enter(r)
	}
	p.admit()
}

// enter gives a run a place. The caller holds the lock.
func (p *places) enter(r *running) {
	p.working++
	if !r.owner() {
		p.othersWorking++
	}
}

// leave takes a run's place back. The caller holds the lock.
func (p *places) leave(r *running) {
	p.working--
	if !r.owner() {
		p.othersWorking--
	}
	p.admit()
	select {
	case p.left <- struct{}{}:
	default:
	}
}

// admit lets paused runs continue that have their answers, as places become free. It cancels the claim in progress if
// that takes a place that one of them needs, or if it may now include more lanes. The caller holds the lock.
func (p *places) admit() {
	inTheWay := false
	p.returning = slices.DeleteFunc(p.returning, func(r *running) bool {
		free := p.working < p.total && (r.owner() || p.othersWorking < p.forOthers())
		kept := p.claiming && (p.working+1 >= p.total || !r.owner() && !p.claimingOwners && p.othersWorking+1 >= p.forOthers())
		if !free || kept {
			inTheWay = inTheWay || free
			return false
		}
		p.unpause(r)
		p.enter(r)
		close(r.resumed)
		r.resumed = nil
		return true
	})
	if p.claiming && (inTheWay || p.claimingOwners && p.othersWorking < p.forOthers()) {
		p.relook()
	}
}

// unpause removes a run from the paused ones. The caller holds the lock.
func (p *places) unpause(r *running) {
	r.paused = false
	p.pausing--
	if !r.owner() {
		p.othersPausing--
	}
}

// pause notes that a run waits for one more answer and frees its place. False: too many wait already. An owner's run
// may wait even so, and keeps its place.
func (p *places) pause(r *running) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.paused {
		r.questions++
		p.hold(r)
		return true
	}
	switch {
	case p.pausing < p.waits() && (r.owner() || p.othersPausing < p.othersWait()):
		r.questions, r.paused = r.questions+1, true
		p.pausing++
		if !r.owner() {
			p.othersPausing++
		}
		p.leave(r)
		return true
	case r.owner():
		r.questions++
		return true
	default:
		return false
	}
}

// hold keeps a run paused that was about to continue but has asked again. The rest of its work goes on. The caller
// holds the lock.
func (p *places) hold(r *running) {
	if r.resumed == nil {
		return
	}
	p.returning = slices.DeleteFunc(p.returning, func(o *running) bool { return o == r })
	close(r.resumed)
	r.resumed = nil
}

// resume notes that a run waits for one answer less. After the last one it needs a place: the channel is closed once it
// may continue; nil: it may continue at once.
func (p *places) resume(r *running) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.questions--; r.questions > 0 || !r.paused {
		return nil
	}
	resumed := make(chan struct{})
	r.resumed = resumed
	p.returning = append(p.returning, r)
	p.admit()
	return resumed
}

// end removes a completed run.
func (p *places) end(r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.paused {
		p.leave(r)
		return
	}
	p.hold(r)
	p.unpause(r)
}

// full reports whether no place is free for a run of an owner, and for one of another person.
func (p *places) full() (owners, others bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	owners = p.working >= p.total
	return owners, owners || p.othersWorking >= p.forOthers()
}

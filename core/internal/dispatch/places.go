package dispatch

import (
	"context"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// places are what the runs of one kind of lane share: so many may work at the same time. A run that waits for people gives its
// place back, and gets one again before it goes on; as many may wait as may work, two at least. Where there are owners, the last
// place of each of both, if it is not the only one, is for them alone.
type places struct {
	total  int
	owners bool // there are owners

	mu             sync.Mutex
	working        int // runs that have a place
	othersWorking  int // of these, those that are not owners'
	pausing        int // runs that gave theirs back
	othersPausing  int
	returning      []*running         // of the pausing ones those that want to go on, in order
	claiming       bool               // a place is kept for the run that is being claimed
	claimingOwners bool               // it is claimed of owners only
	relook         context.CancelFunc // ends that claim, for another one
	left           chan struct{}      // somebody has left a place; it has room for one signal
}

func newPlaces(total int, owners bool) *places {
	return &places{total: total, owners: owners, left: make(chan struct{}, 1)}
}

// forOthers is how many places others than owners may have.
func (p *places) forOthers() int { return p.others(p.total) }

// waits is how many runs may wait for people, and othersWait how many of others than owners.
func (p *places) waits() int { return max(p.total, 2) }

func (p *places) othersWait() int { return p.others(p.waits()) }

// others is how many of several places others than owners may have.
func (p *places) others(of int) int {
	if p.owners {
		return max(of-1, 1)
	}
	return of
}

// claim waits for a place and keeps it for a run that is about to be claimed, until claimed is called. It returns whose run
// that may be, and a context that ends when that is to be decided anew. False: ctx has ended.
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

// claimed gives the kept place to the run that was claimed, or back where it is nil.
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

// enter gives a run a place. The places are locked.
func (p *places) enter(r *running) {
	p.working++
	if !r.owner() {
		p.othersWorking++
	}
}

// leave takes a run's place back. The places are locked.
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

// admit has those go on that have waited for people and find a place now, and has the claim looked at anew that is in the
// way of one of them, or could be of more lanes than it is. The places are locked.
func (p *places) admit() {
	inTheWay := false
	p.returning = slices.DeleteFunc(p.returning, func(r *running) bool {
		room := p.working < p.total && (r.owner() || p.othersWorking < p.forOthers())
		kept := p.claiming && (p.working+1 >= p.total || !r.owner() && !p.claimingOwners && p.othersWorking+1 >= p.forOthers())
		if !room || kept {
			inTheWay = inTheWay || room
			return false
		}
		p.unpause(r)
		p.enter(r)
		close(r.goesOn)
		r.goesOn = nil
		return true
	})
	if p.claiming && (inTheWay || p.claimingOwners && p.othersWorking < p.forOthers()) {
		p.relook()
	}
}

// unpause counts a run off that waits for people no more. The places are locked.
func (p *places) unpause(r *running) {
	r.paused = false
	p.pausing--
	if !r.owner() {
		p.othersPausing--
	}
}

// pause notes that a run waits for people, once more, and gives its place back. False: so many do already that it may not.
// An owner's keeps its place then.
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

// hold has a run that was to go on stay among those that wait, as it has asked again: what it does besides goes on. The places
// are locked.
func (p *places) hold(r *running) {
	if r.goesOn == nil {
		return
	}
	p.returning = slices.DeleteFunc(p.returning, func(o *running) bool { return o == r })
	close(r.goesOn)
	r.goesOn = nil
}

// resume notes that a run waits for one answer less. If that was the last, the run has to have a place again: the channel is
// closed once it may go on; nil: it may at once.
func (p *places) resume(r *running) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.questions--; r.questions > 0 || !r.paused {
		return nil
	}
	goesOn := make(chan struct{})
	r.goesOn = goesOn
	p.returning = append(p.returning, r)
	p.admit()
	return goesOn
}

// end takes a run off that is over.
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

// full reports whether a run of an owner, or of somebody else, finds no place.
func (p *places) full() (owners, others bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	owners = p.working >= p.total
	return owners, owners || p.othersWorking >= p.forOthers()
}

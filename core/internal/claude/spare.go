package claude

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// AutoSpare has the pool keep one spare process where one more process fits.
const AutoSpare = -1

// spare is a process that waits for a conversation to begin. It was started as the conversation that began last, with a claude session
// in which nothing was said; a conversation gets it by getting that session. It has no slot until then.
type spare struct {
	*worker
	as agent.Turn
}

// stock is what the pool has of spares. The pool guards it.
type stock struct {
	spares   []spare
	as       *agent.Turn // how the conversation that began last is run, or, before the first, one that is expected; nil: unknown
	starting bool
}

// Spare returns the claude session of a spare process that can run a turn which begins a conversation, and gives the process to that
// conversation; empty: none fits, there is no slot for it, or the turn's own session has a process already. The caller makes it the
// session of the turn. Package turn calls it.
func (p *Pool) Spare(t agent.Turn) (session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.fitting(t)
	if i < 0 || p.closed || p.idle.sessions[t.Session] != nil || p.busy[t.Session] != nil || p.slots >= p.most() && len(p.idle.sessions) == 0 {
		return ""
	}
	s := p.stock.spares[i].worker
	p.stock.spares = slices.Delete(p.stock.spares, i, i+1)
	p.slots++
	p.grant() // before it is idle: it must not be the one that leaves
	s.holds, s.key, s.since = true, t.Key, time.Now()
	p.idle.add(s)
	return s.session
}

// fitting returns the index of a spare process that can run a turn, or -1. The caller holds the lock.
func (p *Pool) fitting(t agent.Turn) int {
	return slices.IndexFunc(p.stock.spares, func(s spare) bool {
		return !t.Started && t.ForkOf == "" && s.alive() && sameBeginning(s.as, t)
	})
}

// sameBeginning reports whether conversations that begin with two turns can begin in the same process.
func sameBeginning(a, b agent.Turn) bool {
	return a.Agent == b.Agent && a.Folder == b.Folder && a.Worktree == b.Worktree && a.Profile.SystemPrompt == b.Profile.SystemPrompt &&
		(a.Tools == nil) == (b.Tools == nil) && cli.SameProcess(a.Profile, b.Profile)
}

// noteBeginning notes how the conversation that begins with a turn is run.
func (p *Pool) noteBeginning(t agent.Turn) {
	if p.config.Spare == 0 || p.config.OneShot || t.Started || t.ForkOf != "" || t.Worktree != "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stock.as = &agent.Turn{Agent: t.Agent, Folder: t.Folder, Profile: t.Profile, Authority: t.Authority, Tools: t.Tools}
}

// guessBeginning notes that a conversation may begin as an expected turn is run, as long as none has begun.
func (p *Pool) guessBeginning(t agent.Turn) {
	p.mu.Lock()
	known := p.stock.as != nil
	p.mu.Unlock()
	if !known {
		t.Started, t.ForkOf = false, ""
		p.noteBeginning(t)
	}
}

// restock has a spare process started if one is missing and nothing else is waiting, one at a time. Those that no longer are as the
// conversation that began last are parked.
func (p *Pool) restock() {
	p.mu.Lock()
	defer p.mu.Unlock()
	have := &p.stock
	if have.as == nil || have.starting || p.closed || len(p.waiting) > 0 {
		return
	}
	have.spares = slices.DeleteFunc(have.spares, func(s spare) bool {
		if sameBeginning(s.as, *have.as) {
			return false
		}
		p.park(s)
		return true
	})
	want := p.config.Spare
	if want == AutoSpare {
		want = 1
	}
	if len(have.spares) >= want || !p.fits() {
		return
	}
	have.starting = true
	t := *have.as
	t.Session = uuid.NewString()
	p.work.Go(func() { p.startSpare(t) })
}

// startSpare starts a spare process.
func (p *Pool) startSpare(t agent.Turn) {
	ctx, cancel := context.WithCancel(p.closing)
	defer cancel()
	s, err := p.startNew(ctx, t)
	p.mu.Lock()
	p.stock.starting = false
	switch {
	case err != nil:
		p.stock.as = nil // the next conversation that begins may have more luck
		p.log.Debug("no spare claude could be started", "error", err)
	case p.closed:
		p.park(spare{s, t})
	case !s.over:
		p.stock.spares = append(p.stock.spares, spare{s, t})
		p.log.Debug("a spare claude waits", "session", t.Session)
	}
	p.mu.Unlock()
	if err == nil {
		crashpoint.Pass("stocked") // The process runs, for no conversation yet.
		p.warm(ctx, s)
		<-s.process.Exited() // until then it may ask for the host's tools
	}
}

// startNew starts the process of a turn.
func (p *Pool) startNew(ctx context.Context, t agent.Turn) (*worker, error) {
	of, err := p.cliOf(t.Agent, t.Place())
	if err != nil {
		return nil, err
	}
	return p.start(ctx, of, t)
}

// park ends a spare process. The caller holds the lock, and removes it from the stock.
func (p *Pool) park(s spare) { p.work.Go(func() { s.process.Park(parkPatience) }) }

// clear ends the spare processes, and reports whether there were any. The caller holds the lock.
func (p *Pool) clear() bool {
	spares := p.stock.spares
	p.stock.spares = nil
	for _, s := range spares {
		p.park(s)
	}
	return len(spares) > 0
}

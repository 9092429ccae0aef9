package claude

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
)

// Expect starts, or resumes, the process of a turn that is about to come, so that the turn finds it idle. T has no message: its UUID and
// Prompt are empty. Expect does not wait for the start. It does nothing if the session has a process or a turn that runs, if a spare
// process fits it, if its runs would have to wait for a slot, if memory is short, or if each turn gets its own process. A failure is left
// to the turn. If no turn comes, the process is parked as any other idle one.
//
// A turn without a session is that of a conversation which nobody has begun yet. It gets a spare process, unless there is one.
func (p *Pool) Expect(t agent.Turn) {
	p.guessBeginning(t)
	if t.Session == "" {
		p.restock()
		return
	}
	of, err := p.cliOf(t.Agent, t.Place())
	if err != nil || p.config.OneShot || p.serves(t) {
		return
	}
	if other, err := p.reserve(t.Session, true); err != nil || other != nil {
		return
	}
	ctx, cancel := context.WithCancel(p.closing)
	p.work.Go(func() {
		defer cancel()
		s, _, err := p.acquire(ctx, of, t)
		p.exit(t.Session, s)
		if err != nil {
			p.log.Debug("claude could not be started before its turn", "session", t.Session, "error", err)
			return
		}
		crashpoint.Pass("expected") // The process runs, for a turn that may not be there yet.
		p.warm(ctx, s)
		<-s.process.Exited() // until then it may ask for the host's tools
	})
}

// warm has a process get ready for its first turn, where the CLI can.
func (p *Pool) warm(ctx context.Context, s *worker) {
	select {
	case <-p.inspected: // the version is known
	case <-s.process.Exited():
	case <-ctx.Done():
	}
	p.mu.Lock()
	can := p.installed.DescribesContext()
	p.mu.Unlock()
	if can {
		s.Prepare(ctx)
	}
}

// serves reports whether a turn needs no process, or cannot get one now.
func (p *Pool) serves(t agent.Turn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle.sessions[t.Session] != nil || p.fitting(t) >= 0 || len(p.waiting) > 0 || p.slots >= p.most() && len(p.idle.sessions) == 0 || !p.fits()
}

package claude

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// janitor parks processes that have been idle for long, and measures the memory of all.
func (p *Pool) janitor() {
	timer := time.NewTimer(p.parkDue())
	defer timer.Stop()
	var looks <-chan time.Time
	if cli.CanWeigh {
		ticker := time.NewTicker(p.config.WeighEvery)
		defer ticker.Stop()
		looks = ticker.C
	}
	for {
		select {
		case <-p.closing.Done():
			return
		case <-looks:
			p.look()
			p.restock()
			continue
		case <-timer.C:
		case <-p.kick:
		}
		timer.Reset(p.parkDue())
	}
}

// wake makes the janitor check the idle processes again.
func (p *Pool) wake() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// parkDue parks the due processes and returns when to check again.
func (p *Pool) parkDue() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.checks = now.Add(time.Hour)
	for _, s := range p.idle.sessions {
		if due := p.due(s); !due.After(now) {
			p.leave(s, Unused)
		} else if due.Before(p.checks) {
			p.checks = due
		}
	}
	return p.checks.Sub(now)
}

package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

const maxQuestion = 16 << 10 // bytes of a side question

// Aside asks a session's claude a side question, also while a turn runs: it answers from the conversation so far,
// without tools, and neither becomes part of the conversation. Its errors are [client.ErrNotRunning],
// [client.ErrNoAside], ctx's, or the CLI's message.
func (p *Pool) Aside(ctx context.Context, session, question string) (string, error) {
	if strings.TrimSpace(question) == "" {
		return "", errors.New("the question is empty")
	}
	if len(question) > maxQuestion {
		return "", fmt.Errorf("the question is too long: at most %d KB are taken", maxQuestion>>10)
	}
	s := p.running(session)
	if s == nil {
		return "", client.ErrNotRunning
	}
	return s.Aside(ctx, question)
}

// Withdraw withdraws a line that was, or is about to be, steered into a session's running turn. True: neither this turn
// nor a later one will see it under the same id; false: claude has read it, or may have. The CLI answers within
// milliseconds, even while a tool runs.
func (p *Pool) Withdraw(ctx context.Context, session, line string) bool {
	s := p.running(session)
	return s != nil && s.WithdrawLine(ctx, line)
}

// running is the live process of a session; nil: none.
func (p *Pool) running(id string) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.live.sessions[id]; s != nil && !s.leaving && s.alive() {
		return s
	}
	return nil
}

// Speed returns the last state of fast mode that a session's claude has reported, and why it is not on; nothing, if it does not
// run.
func (p *Pool) Speed(session string) (fast, why string) {
	if s := p.running(session); s != nil {
		return s.Speed()
	}
	return "", ""
}

// Plan returns how much of the limits of the plan of an agent's login is used, as a running claude of any of its sessions reports it;
// none, if none runs, or if it does not say before ctx ends.
func (p *Pool) Plan(ctx context.Context, label string) []domain.PlanWindow {
	p.mu.Lock()
	var asked *worker
	for _, s := range p.live.pids {
		if !s.leaving && s.alive() && session.AgentOf(s.key) == label {
			asked = s
			break
		}
	}
	p.mu.Unlock()
	if asked == nil {
		return nil
	}
	return asked.Plan(ctx)
}

// Tasks returns what a session's claude runs alongside the steps of its turn, oldest first.
func (p *Pool) Tasks(session string) []client.Task {
	if s := p.running(session); s != nil {
		return s.Tasks()
	}
	return nil
}

// StopTask stops what a session's claude runs under a number, and returns it. Its errors are [client.ErrNoTask],
// [client.ErrNoTaskStop], [client.ErrNotRunning], ctx's, or the CLI's message.
func (p *Pool) StopTask(ctx context.Context, session string, number int) (client.Task, error) {
	s := p.running(session)
	if s == nil {
		return client.Task{}, client.ErrNoTask
	}
	return s.StopTask(ctx, number)
}

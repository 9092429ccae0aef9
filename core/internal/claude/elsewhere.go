package claude

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// Sessions returns the CLI's sessions of a folder of an agent, or of its workspace, and which of all sessions other processes have open.
// The error is an [*agent.Failure].
func (p *Pool) Sessions(label, folder string) (transcript.Folder, map[string]cli.Open, error) {
	of, err := p.cliOf(label, folder)
	if err != nil {
		return "", nil, err
	}
	opened, _ := p.opened(of)
	return of.Transcripts, opened, nil
}

// opened returns the processes of others that have sessions open, by session, and when a process came or went last; see
// [cli.OpenSessions.ByOthers].
func (p *Pool) opened(of agentCLI) (map[string]cli.Open, time.Time) {
	opened, at := of.open.ByOthers(func(pid int) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.live.pids[pid] != nil
	})
	for session, open := range opened {
		p.mu.Lock()
		own := p.live.sessions[session]
		p.mu.Unlock()
		if own == nil {
			continue
		}
		if below, err := process.Below(open.PID, own.process.ID().PID); err == nil && below { // the command is a program that starts claude
			delete(opened, session)
		}
	}
	return opened, at
}

// openElsewhere returns the failure of a turn in a session that another process has open: neither would know what the other one writes,
// and one of the two would be lost. nil: none has. Since is when a process came or went last; zero:
// another one may have written into any session.
func (p *Pool) openElsewhere(of agentCLI, session string) (since time.Time, failure *agent.Failure) {
	opened, at := p.opened(of)
	if open, ok := opened[session]; ok {
		return at, &agent.Failure{Class: agent.Opened, Detail: fmt.Sprintf("process %d has the session open", open.PID)}
	}
	if len(opened) > 0 { // one may change its session at any time
		at = time.Time{}
	}
	return at, nil
}

// joined ends the process of a turn during which another one has opened the session, and tells owners.
func (p *Pool) joined(of agentCLI, t agent.Turn) {
	opened, _ := p.opened(of)
	open, ok := opened[t.Session]
	if !ok {
		return
	}
	p.Retire(t.Session)
	p.log.Warn("a session was opened by another process during a turn", "session", t.Key, "claude_session", t.Session, "pid", open.PID)
	if p.config.Owners != nil {
		p.config.Owners.Tell(domain.KeySessionOpened.Of(t.Session, t.UUID), wording.SessionOpened(open.PID, t.Key))
	}
}

// knows reports whether the process has read all that terminals have written into its session. Since is as openElsewhere returns it.
func (s *worker) knows(of agentCLI, since time.Time) bool {
	if !since.IsZero() && since.Equal(s.checked) {
		return true
	}
	foreign, err := of.Transcripts.Foreign(s.session)
	s.checked = since
	return err == nil && (foreign == "" || foreign == s.foreign)
}

// Release ends the idle process of a session, so that another process may open it. The error is [ErrBusy] while a turn runs, or ctx's.
func (p *Pool) Release(ctx context.Context, session string) error {
	if err := p.enterIdle(ctx, session); err != nil {
		return err
	}
	p.mu.Lock()
	s := p.idle.sessions[session]
	if s != nil {
		p.leave(s, Elsewhere)
	} else {
		s = p.parked[session]
	}
	p.mu.Unlock()
	defer p.exit(session, nil)
	if s == nil {
		return nil
	}
	select {
	case <-s.process.Exited():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

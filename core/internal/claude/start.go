package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/process"
)

// spawn starts the session's process in a slot that the caller has, and gives the slot back when it fails.
func (p *Pool) spawn(ctx context.Context, t agent.Turn) (*session, error) {
	s, err := p.start(ctx, t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.release()
		return nil, err
	}
	s.holds = true
	if s.over {
		p.release()
	}
	return s, nil
}

// start starts the session's process and waits until it is ready. What it is begun from is seen from the transcripts, and
// in doubt from what the CLI says. A started session is never begun again: that would lose its history.
func (p *Pool) start(ctx context.Context, t agent.Turn) (*session, error) {
	select {
	case p.spawns <- struct{}{}:
		defer func() { <-p.spawns }()
	case <-ctx.Done():
		return nil, aborted(ctx)
	}
	from := p.origin(t)
	for switched := false; ; {
		s, err := p.launch(ctx, t, from)
		if process.Exhausted(err) && !process.DiskFull(err) && p.makeRoom(ctx) { // idle processes hold all but disk space
			continue
		}
		if err != nil {
			return nil, err
		}
		failure := p.await(ctx, s)
		if failure == nil {
			return s, nil
		}
		said := s.stderr.String()
		missing, exists := strings.Contains(said, "No conversation found"), strings.Contains(said, "already in use")
		switch {
		case from == forked && missing:
			from = fresh
		case from == resumed && missing && (t.Started || switched), from != resumed && exists && switched:
			return nil, &agent.Failure{Class: agent.TranscriptMissing, Detail: p.redact(said)}
		case from == resumed && missing:
			from, switched = fresh, true
		case from != resumed && exists:
			from, switched = resumed, true
		case from != fresh && failure.Class == agent.Unavailable && p.begins(ctx, t):
			failure.Class = agent.Unresumable
			return nil, failure
		default:
			return nil, failure
		}
	}
}

// begins reports whether claude starts for a session that has just begun, in the slot of one that it could not go on with. That
// costs nothing, as it is told nothing.
func (p *Pool) begins(ctx context.Context, t agent.Turn) bool {
	t.Key, t.Session, t.Started, t.ForkOf = "", uuid.NewString(), false, ""
	s, err := p.launch(ctx, t, fresh)
	if err != nil {
		return false
	}
	failure := p.await(ctx, s)
	s.dismiss()
	s.park(parkPatience)
	return failure == nil
}

// makeRoom ends the process that has been idle for the longest, and reports whether there was one.
func (p *Pool) makeRoom(ctx context.Context) bool {
	p.mu.Lock()
	idle := p.leastRecent()
	if len(idle) == 0 {
		p.mu.Unlock()
		return false
	}
	p.log.Warn("an idle claude is ended to make room for another one", "session", idle[0].id)
	p.leave(idle[0])
	p.mu.Unlock()
	select {
	case <-idle[0].exited:
		return true
	case <-ctx.Done():
		return false
	}
}

// origin is what a turn's session is to be begun from.
func (p *Pool) origin(t agent.Turn) origin {
	switch {
	case t.Started || p.command.transcripts.Has(t.Session):
		return resumed
	case t.ForkOf != "" && p.command.transcripts.Has(t.ForkOf):
		return forked
	default:
		return fresh
	}
}

// launch starts a process and records it.
func (p *Pool) launch(ctx context.Context, t agent.Turn, from origin) (*session, error) {
	began := time.Now()
	source := map[origin]string{resumed: t.Session, forked: t.ForkOf}[from]
	before, err := p.command.transcripts.Steered(source)
	if err != nil {
		return nil, &agent.Failure{Class: agent.Unavailable, Err: err}
	}
	prompt, err := p.writePrompt(t.Profile.SystemPrompt)
	if err != nil {
		return nil, &agent.Failure{Class: agent.Unavailable, Err: err}
	}
	env, revoke := credentials(p.config)
	recorded := make(chan struct{}) // or it could be forgotten first, and stay in the records
	p.work.Add(1)
	s, err := p.command.launch(ctx, t, from, prompt, env, p.life, p.log, func(s *session) {
		revoke()
		<-recorded
		p.ended(s)
	})
	if err != nil {
		p.work.Done()
		revoke()
		p.removePrompt(prompt)
		if errors.Is(err, fs.ErrNotExist) {
			err = &NotInstalledError{Command: p.config.Command, Err: err}
		}
		return nil, &agent.Failure{Class: agent.Unavailable, Detail: "start claude", Err: err}
	}
	s.before = before
	p.mu.Lock()
	if !s.over {
		p.live[s] = true
	}
	p.mu.Unlock()
	err = p.processes.RecordProcess(ctx, s.record())
	close(recorded)
	if err != nil {
		s.destroy()
		return nil, &agent.Failure{Class: agent.Unavailable, Detail: "record the process", Err: err}
	}
	s.log.Debug("claude was started", "pid", s.self.pid, "resumed", from == resumed, "forked", from == forked, "took", time.Since(began))
	s.initialize()
	return s, nil
}

// writePrompt writes the file of a process's system prompt. It returns no name for no prompt.
func (p *Pool) writePrompt(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	file := filepath.Join(p.config.RunDir, "system-prompt-"+uuid.NewString()+".md")
	if err := writePrivate(file, []byte(text)); err != nil {
		return "", fmt.Errorf("write the system prompt: %w", err)
	}
	return file, nil
}

// removePrompt removes what writePrompt wrote.
func (p *Pool) removePrompt(file string) {
	if file == "" {
		return
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("remove a system prompt", "error", err)
	}
}

// refusals is how the CLI says that it does not run with these flags and settings, or as this user: it will not do so later
// either. What else it says at its end may pass, as while it is upgraded.
var refusals = regexp.MustCompile(`(?m)cannot be used with root|^error: (unknown option|unknown command|option |too many arguments)|^Error: Invalid |Settings validation failed`)

// await waits until the process has answered initialize. One that does not is ended.
func (p *Pool) await(ctx context.Context, s *session) *agent.Failure {
	timer := time.NewTimer(spawnTimeout)
	defer timer.Stop()
	select {
	case <-s.ready:
		return nil
	case <-s.exited:
		if said := s.stderr.String(); refusals.MatchString(said) {
			return &agent.Failure{Class: agent.Refused, Detail: p.redact(said)}
		}
		return s.died(p, agent.Unavailable)
	case <-ctx.Done():
		s.destroy()
		return aborted(ctx)
	case <-timer.C:
		s.destroy()
		return &agent.Failure{Class: agent.Unavailable, Detail: fmt.Sprintf("claude was not ready within %v", spawnTimeout)}
	}
}

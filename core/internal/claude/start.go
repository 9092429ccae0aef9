package claude

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// spawn starts the session's process in a slot of the caller, and frees the slot if it fails.
func (p *Pool) spawn(ctx context.Context, of agentCLI, t agent.Turn) (*worker, error) {
	s, err := p.start(ctx, of, t)
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

// start starts the session's process and waits until it is ready. Its origin is found in the transcripts and, in doubt,
// from the CLI's messages. A started session never starts again from nothing: that would lose its history.
func (p *Pool) start(ctx context.Context, of agentCLI, t agent.Turn) (*worker, error) {
	select {
	case p.spawns <- struct{}{}:
		defer func() { <-p.spawns }()
	case <-ctx.Done():
		return nil, client.Aborted(ctx)
	}
	parent := of
	if t.ForkOf != "" && !of.Transcripts.Has(t.ForkOf) { // a copy in a worktree is one of a session in the folder itself
		var err error
		if parent, err = p.cliOf(t.Agent, t.Folder); err != nil {
			return nil, err
		}
	}
	from := of.origin(t, parent)
	for switched := false; ; {
		s, err := p.launch(ctx, of, parent, t, from)
		if process.Exhausted(err) && !process.DiskFull(err) && p.evictIdle(ctx) { // idle processes use all resources except disk space
			continue
		}
		if err != nil {
			return nil, err
		}
		failure := s.Await(ctx)
		if failure == nil {
			return s, nil
		}
		said := s.process.Stderr()
		missing, exists := strings.Contains(said, "No conversation found"), strings.Contains(said, "already in use")
		switch {
		case from == cli.Forked && missing:
			from = cli.Fresh
		case from == cli.Resumed && missing && (t.Started || switched), from != cli.Resumed && exists && switched:
			return nil, &agent.Failure{Class: agent.TranscriptMissing, Detail: of.Redact(said)}
		case from == cli.Resumed && missing:
			from, switched = cli.Fresh, true
		case from != cli.Resumed && exists:
			from, switched = cli.Resumed, true
		case from != cli.Fresh && failure.Class == agent.Unavailable && p.begins(ctx, of, t):
			failure.Class = agent.Unresumable
			return nil, failure
		default:
			return nil, failure
		}
	}
}

// begins reports whether claude starts for an empty session, in the slot of one that it could not resume. This costs
// nothing, because claude gets no message.
func (p *Pool) begins(ctx context.Context, of agentCLI, t agent.Turn) bool {
	t.Key, t.Session, t.Started, t.ForkOf = "", uuid.NewString(), false, ""
	s, err := p.launch(ctx, of, of, t, cli.Fresh)
	if err != nil {
		return false
	}
	failure := s.Await(ctx)
	s.Dismiss()
	s.process.Park(parkPatience)
	return failure == nil
}

// evictIdle ends a spare process, or the idle one that is worth the least, and reports whether there was one.
func (p *Pool) evictIdle(ctx context.Context) bool {
	p.mu.Lock()
	idle := p.leastValued()
	for _, s := range p.stock.spares {
		idle = append([]*worker{s.worker}, idle...)
	}
	if len(idle) == 0 {
		p.mu.Unlock()
		return false
	}
	p.log.Warn("an idle claude is ended to free resources for another one", "session", idle[0].session)
	if !p.clear() {
		p.leave(idle[0], Exhausted)
	}
	p.mu.Unlock()
	select {
	case <-idle[0].process.Exited():
		return true
	case <-ctx.Done():
		return false
	}
}

// origin is what a turn's session starts from.
func (of agentCLI) origin(t agent.Turn, parent agentCLI) cli.Origin {
	switch {
	case t.Started || of.Transcripts.Has(t.Session):
		return cli.Resumed
	case t.ForkOf != "" && parent.Transcripts.Has(t.ForkOf):
		return cli.Forked
	default:
		return cli.Fresh
	}
}

// launch starts a process and records it.
func (p *Pool) launch(ctx context.Context, of, parent agentCLI, t agent.Turn, from cli.Origin) (*worker, error) {
	began := time.Now()
	var before map[string]bool
	var foreign string
	var err error
	switch from {
	case cli.Resumed:
		if foreign, err = of.Transcripts.Foreign(t.Session); err == nil {
			before, err = of.Transcripts.Steered(t.Session)
		}
	case cli.Forked:
		before, err = parent.Transcripts.Steered(t.ForkOf)
	}
	if err != nil {
		return nil, &agent.Failure{Class: agent.Unavailable, Err: err}
	}
	recorded := make(chan struct{}) // otherwise the record could be deleted before it is written, and stay
	log := p.log.With("session", t.Session)
	started := of.Process(t, from, log)
	s := &worker{
		Client: client.New(of.Command, p.config.limits(), t, started, before, of.inventory, log), process: started,
		session: t.Session, key: t.Key, foreign: foreign, log: log,
	}
	s.Attend(ctx, t)
	if err := started.Start(s); err != nil {
		s.Dismiss()
		return nil, &agent.Failure{Class: agent.Unavailable, Detail: "start claude", Err: err}
	}
	p.work.Go(func() {
		<-s.process.Exited()
		<-recorded
		p.ended(s)
	})
	p.mu.Lock()
	if !s.over {
		p.live.add(s)
	}
	p.mu.Unlock()
	err = p.processes.RecordProcess(ctx, started.Record())
	close(recorded)
	if err != nil {
		s.process.Destroy()
		return nil, &agent.Failure{Class: agent.Unavailable, Detail: "record the process", Err: err}
	}
	s.log.Debug("claude was started", "pid", s.process.ID().PID, "resumed", from == cli.Resumed,
		"forked", from == cli.Forked, "took", time.Since(began))
	s.Initialize()
	return s, nil
}

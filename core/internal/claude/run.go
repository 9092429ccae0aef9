package claude

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// Run runs a message and returns its answer; its error is an [*agent.Failure], with which the result contains what the
// turn has produced. The end of ctx stops the turn: Run then returns once its tools are gone, and the session's process
// may continue to run. When Run returns, claude works on nothing that Run has written.
func (p *Pool) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	if err := check(t); err != nil {
		return agent.Result{}, &agent.Failure{Class: agent.Unknown, Err: err}
	}
	here, err := p.cliOf(t.Agent, t.Place())
	if err != nil {
		return agent.Result{}, err
	}
	if err := p.enter(ctx, t.Session); err != nil {
		return agent.Result{}, err
	}
	p.noteBeginning(t)
	r := &run{pool: p, cli: here, turn: t, next: agent.Line{UUID: t.UUID, Text: t.Prompt, Pictures: t.Pictures}}
	defer func() {
		if r.worker != nil {
			r.worker.Dismiss() // if no line was written
			p.served(r.worker)
		}
		p.exit(t.Session, r.worker)
		p.restock()
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	if t.Watcher != nil {
		r.turn.Watcher = &watcher{Watcher: t.Watcher}
	}
	if t.Asker != nil {
		r.turn.Asker = &asker{pool: p, of: t.Asker}
	}
	result, err := r.carry(ctx)
	if r.worker != nil {
		p.joined(here, t)
	}
	var failure *agent.Failure
	if errors.As(err, &failure) && failure.Class == agent.Died && p.closing.Err() != nil {
		err = client.Aborted(p.closing) // Close has killed the process, before ctx has told the turn
	}
	return result, err
}

// asker counts the open questions of a run. While there are any, its process does not count towards
// Config.MaxProcesses.
type asker struct {
	pool *Pool
	of   agent.Asker
	open int // guarded by the pool
}

// Ask implements [agent.Asker].
func (a *asker) Ask(ctx context.Context, q agent.Question) agent.Decision {
	a.begin()
	defer a.end()
	return a.of.Ask(ctx, q)
}

func (a *asker) begin() {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.open++; a.open == 1 {
		a.pool.asking++
		a.pool.grant()
	}
}

func (a *asker) end() {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.open--; a.open == 0 {
		a.pool.asking--
		a.pool.grant()
	}
}

// watcher reports only once that the message was read, however many lines were written for it.
type watcher struct {
	agent.Watcher
	once sync.Once
}

// Consumed implements [agent.Watcher].
func (w *watcher) Consumed(ctx context.Context) { w.once.Do(func() { w.Watcher.Consumed(ctx) }) }

// run is one message in progress.
type run struct {
	pool    *Pool
	cli     agentCLI
	turn    agent.Turn
	worker  *worker    // nil: none was acquired
	next    agent.Line // to write
	planned bool       // next is based on the transcript
	past    agent.Result
}

// carry writes lines until one is answered.
func (r *run) carry(ctx context.Context) (agent.Result, error) {
	p := r.pool
	if r.turn.Again {
		if err := r.plan(false); err != nil {
			return r.past, err
		}
	}
	reused, again := false, false
	for !r.past.Recovered {
		if r.worker == nil || !r.worker.alive() {
			var err error
			if r.worker, reused, err = p.acquire(ctx, r.cli, r.turn); err != nil {
				return r.past, err
			}
		}
		if r.worker.Steered(r.turn.UUID) && !r.planned {
			if err := r.plan(false); err != nil {
				return r.past, err
			}
			continue
		}
		x, failure := r.worker.Converse(ctx, r.turn, r.next)
		switch {
		case failure != nil && reused && !x.Stage().Acked && !r.worker.alive() && ctx.Err() == nil:
			// The idle process had died unnoticed. The line's id makes it safe to write it to a new one.
		case failure != nil:
			return r.result(ctx, x, true), failure
		case x.Failure() != nil:
			failure := x.Failure()
			failure.Detail = r.cli.Redact(failure.Detail)
			return r.result(ctx, x, true), failure
		case x.Void() && !again: // a new process has the message run, if this one did not
			again = true
			r.worker.process.Destroy()
			if err := r.plan(false); err != nil {
				return r.past, err
			}
		case x.Ran():
			return r.result(ctx, x, false), nil
		case r.next.UUID == r.turn.UUID: // acknowledged, but not run
			if err := r.plan(true); err != nil {
				return r.past, err
			}
		default:
			return r.past, &agent.Failure{Class: agent.Unknown, Detail: "the message was acknowledged and not run"}
		}
	}
	if r.turn.Watcher != nil {
		r.turn.Watcher.Consumed(ctx)
	}
	return r.past, nil
}

// plan decides how to continue with a message that may have been written before: with the answer that is already there,
// or with a line to write. Known reports whether the CLI has the message even if the transcript does not contain it.
func (r *run) plan(known bool) error {
	r.planned = true
	t := r.turn
	found, err := r.cli.Transcripts.Recall(t.Session, t.UUID)
	if err != nil {
		return &agent.Failure{Class: agent.Unavailable, Err: err}
	}
	r.past = agent.Result{
		Before: found.Before, Covered: found.Covered, Compactions: found.Compactions, Changes: found.Changes,
	}
	goOn := transcript.ContinueID(t.UUID, found.Continued+1)
	switch {
	case found.Status == transcript.Answered:
		r.past.Text, r.past.Recovered = found.Text, true
	case compacts(t.Prompt) && (known || found.Status == transcript.Unfinished):
		r.next.UUID = goOn // it is unknown whether it ran; running twice does no harm
	case known || found.Status == transcript.Unfinished:
		r.next, r.past.Continued = agent.Line{UUID: goOn, Text: transcript.ContinueText(found.Failed)}, found.Failed == 0
	}
	return nil
}

// result is the result of a finished or failed turn and the attempts before it.
func (r *run) result(ctx context.Context, x *exchange.Exchange, failed bool) agent.Result {
	stopped := errors.Is(context.Cause(ctx), agent.ErrStopped)
	result, covered := x.Outcome(), x.Covered(stopped)
	if failed && !stopped && len(covered) > 0 && !r.worker.alive() {
		// What a killed process has read but not written down is lost to the conversation.
		noted, err := r.cli.Transcripts.Steered(r.turn.Session)
		if err != nil {
			r.worker.log.Warn("cannot read which messages claude has recorded", "error", err)
		}
		covered = slices.DeleteFunc(covered, func(id string) bool { return !noted[id] })
	}
	result.Before = slices.Concat(r.past.Before, result.Before)
	result.Covered = r.past.Covered
	for _, id := range covered {
		if !slices.Contains(result.Covered, id) {
			result.Covered = append(result.Covered, id)
		}
	}
	result.Compactions += r.past.Compactions
	changes := r.past.Changes
	changes.Join(result.Changes)
	result.Changes = changes
	result.Continued = r.past.Continued
	return result
}

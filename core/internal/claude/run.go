package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// Run carries a message through and returns its answer; its error is an [*agent.Failure]. The end of ctx stops the turn:
// Run then returns once the tools that it started are gone, and the session's process may go on.
func (p *Pool) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	if err := check(t); err != nil {
		return agent.Result{}, &agent.Failure{Class: agent.Unknown, Err: err}
	}
	if err := p.enter(ctx, t.Session); err != nil {
		return agent.Result{}, err
	}
	var s *session
	defer func() { p.exit(t.Session, s) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()

	t.OnConsumed = once(t.OnConsumed)
	l, earlier, err := line{uuid: t.UUID, text: t.Prompt}, (*agent.Result)(nil), error(nil)
	if t.Attempt > 1 || t.Consumed {
		l, earlier, err = p.plan(t, false)
	}
	for earlier == nil && err == nil {
		reused := false
		if s == nil || !s.isAlive() {
			if s, reused, err = p.acquire(ctx, t); err != nil {
				return agent.Result{}, err
			}
		}
		tr, failure := p.converse(ctx, s, t, l)
		switch {
		case failure != nil && reused && !tr.acked && !s.isAlive() && ctx.Err() == nil:
			// The idle process had died unseen. The line's id makes it safe to write it to a new one.
		case failure != nil:
			return agent.Result{}, failure
		case tr.outcome != nil && tr.outcome.IsError:
			return agent.Result{}, tr.failed(p.redact)
		case tr.outcome != nil:
			return tr.result(), nil
		case l.uuid == t.UUID:
			l, earlier, err = p.plan(t, true)
		default:
			return agent.Result{}, &agent.Failure{Class: agent.Unknown, Detail: "the message was acknowledged and not run"}
		}
	}
	if err != nil {
		return agent.Result{}, &agent.Failure{Class: agent.Unavailable, Err: err}
	}
	t.OnConsumed()
	return *earlier, nil
}

// once makes a function that may be nil callable any number of times.
func once(f func()) func() {
	if f == nil {
		return func() {}
	}
	return sync.OnceFunc(f)
}

// plan decides how to go on with a message that may have been written before: by the answer that is there already, or
// by a line to write. Known says that the CLI has the message, even if the transcript does not show it.
func (p *Pool) plan(t agent.Turn, known bool) (line, *agent.Result, error) {
	found, text, err := p.command.recall(t)
	switch {
	case err != nil:
		return line{}, nil, err
	case found == answered:
		return line{}, &agent.Result{Text: text, Recovered: true}, nil
	case found == unfinished || known:
		return line{uuid: continueID(t.UUID, t.Attempt), text: continueText}, nil, nil
	default:
		return line{uuid: t.UUID, text: t.Prompt}, nil, nil
	}
}

// aborted is the failure of a turn whose context ended.
func aborted(ctx context.Context) error {
	return &agent.Failure{Class: agent.Aborted, Err: context.Cause(ctx)}
}

// line is a message to write.
type line struct{ uuid, text string }

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

// start starts the session's process and waits until it is ready. Which of begin and resume is right is seen from the
// transcript, and in doubt from what the CLI says. A started session is never begun again: that would lose its history.
func (p *Pool) start(ctx context.Context, t agent.Turn) (*session, error) {
	select {
	case p.spawns <- struct{}{}:
		defer func() { <-p.spawns }()
	case <-ctx.Done():
		return nil, aborted(ctx)
	}
	resume := t.Started || p.command.hasTranscript(t.Session)
	for switched := false; ; switched = true {
		s, err := p.launch(ctx, t.Session, resume)
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
		case missing && resume && (t.Started || switched), exists && !resume && switched:
			return nil, &agent.Failure{Class: agent.TranscriptMissing, Detail: p.redact(said)}
		case missing && resume, exists && !resume:
			resume = !resume
		default:
			return nil, failure
		}
	}
}

// launch starts a process and records it.
func (p *Pool) launch(ctx context.Context, id string, resume bool) (*session, error) {
	began := time.Now()
	p.work.Add(1)
	s, err := p.command.launch(id, resume, p.life, p.log, p.ended)
	if err != nil {
		p.work.Done()
		if errors.Is(err, fs.ErrNotExist) {
			err = &NotInstalledError{Command: p.config.Command, Err: err}
		}
		return nil, &agent.Failure{Class: agent.Unavailable, Detail: "start claude", Err: err}
	}
	p.mu.Lock()
	if !s.over {
		p.live[s] = true
	}
	p.mu.Unlock()
	if err := p.processes.RecordProcess(ctx, s.record()); err != nil {
		s.destroy()
		return nil, &agent.Failure{Class: agent.Unavailable, Detail: "record the process", Err: err}
	}
	s.log.Debug("claude was started", "pid", s.self.pid, "resume", resume, "took", time.Since(began))
	s.control("initialize")
	return s, nil
}

// await waits until the process has answered initialize. One that does not is ended.
func (p *Pool) await(ctx context.Context, s *session) error {
	timer := time.NewTimer(spawnTimeout)
	defer timer.Stop()
	select {
	case <-s.ready:
		return nil
	case <-s.exited:
		return s.died(p, agent.Unavailable)
	case <-ctx.Done():
		s.destroy()
		return aborted(ctx)
	case <-timer.C:
		s.destroy()
		return &agent.Failure{Class: agent.Unavailable, Detail: fmt.Sprintf("claude was not ready within %v", spawnTimeout)}
	}
}

// converse writes a line and follows it to the end of its turn. With an error it has none; without an outcome in the
// track, the line was acknowledged and not run. The timers run on the monotonic clock, which stands still while the
// machine sleeps: a closed laptop is no silence of claude's.
func (p *Pool) converse(ctx context.Context, s *session, t agent.Turn, l line) (*track, error) {
	const (
		look  = 50 * time.Millisecond // for the transcript of a new session, which the CLI writes behind
		quiet = 2 * time.Second       // after which an echo without a turn is all that will come
	)
	limit := p.config.Timeout
	if t.Timeout > 0 {
		limit = t.Timeout
	}
	timeout, stall := time.NewTimer(limit), time.NewTimer(p.config.Stall)
	defer timeout.Stop()
	defer stall.Stop()
	var looks, silence <-chan time.Time

	tr := newTrack(l.uuid)
	s.follow(tr)
	defer s.follow(nil)
	s.send(map[string]any{
		"type": "user", "uuid": l.uuid, "message": map[string]any{"role": "user", "content": l.text},
	})
	for {
		now := s.look()
		if now.acked && (now.finished || t.Started || p.command.hasTranscript(t.Session)) {
			t.OnConsumed()
		} else if now.acked && looks == nil {
			ticker := time.NewTicker(look)
			defer ticker.Stop()
			looks = ticker.C
		}
		if now.echoed && !now.began && silence == nil {
			silence = time.After(quiet)
		}
		if now.finished {
			return tr, nil
		}
		select {
		case <-now.moved:
		case <-looks:
		case <-s.exited:
			if s.look().finished {
				continue
			}
			s.destroy() // its tools
			if ctx.Err() != nil {
				return tr, aborted(ctx) // it was ended for that
			}
			return tr, s.died(p, agent.Died)
		case <-silence:
			if at := s.look(); !at.began && !at.finished {
				return tr, nil
			}
		case <-ctx.Done():
			s.stop()
			return tr, aborted(ctx)
		case <-timeout.C:
			if s.stop(); tr.succeeded() {
				return tr, nil
			}
			return tr, &agent.Failure{Class: agent.Timeout, Detail: fmt.Sprintf("no answer within %v", limit)}
		case <-stall.C:
			now := s.look()
			left := p.config.Stall - time.Since(now.heard)
			if now.busy {
				left = p.config.Stall
			}
			if left > 0 {
				stall.Reset(left)
				continue
			}
			if s.stop(); tr.succeeded() {
				return tr, nil
			}
			return tr, &agent.Failure{Class: agent.Timeout, Detail: fmt.Sprintf("nothing was heard for %v", p.config.Stall)}
		}
	}
}

// stop ends the running turn and whatever it started. The ladder is what brings it under 200 ms: the interrupt, which a
// sound claude answers in under 60 ms, its tools gone; then SIGINT, which has it leave and take its tools along; then
// SIGKILL, for it and for the tools, which would outlive it. What it has started is noted before: a process that cleared
// its environment cannot be found once its parent is gone.
func (s *session) stop() {
	const (
		answer = 100 * time.Millisecond
		leave  = 50 * time.Millisecond
	)
	tools := func() []proc { return descendants(s.self.pid, s.variables()...) }
	known := tools()
	s.control("interrupt")
	if s.finishes(answer) {
		killAll(known, tools)
		return
	}
	known = append(known, tools()...)
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	timer := time.NewTimer(leave)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
	}
	s.destroy(known...)
}

// finishes waits for the end of the followed turn.
func (s *session) finishes(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		now := s.look()
		if now.finished {
			return true
		}
		select {
		case <-now.moved:
		case <-s.exited:
			return false
		case <-timer.C:
			return false
		}
	}
}

// glance is the state of the followed turn at one moment.
type glance struct {
	stage
	heard time.Time
	moved <-chan struct{} // closed when the stage is another one
}

// look returns the state of the followed turn.
func (s *session) look() glance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return glance{stage: s.track.stage(), heard: s.heard, moved: s.moved}
}

// follow has the events of the process go to a track; nil: to none.
func (s *session) follow(t *track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.track, s.heard = t, time.Now()
}

// succeeded tells whether the turn ended well before it was stopped.
func (t *track) succeeded() bool { return t.outcome != nil && !t.outcome.IsError }

// result is what the finished turn brought.
func (t *track) result() agent.Result {
	r := agent.Result{Text: strings.TrimSpace(t.answer.text.String()), Model: t.model, ContextTokens: t.contextTokens}
	if !t.answer.some && !t.synthetic {
		r.Text = strings.TrimSpace(t.outcome.Result)
	}
	for name, used := range t.outcome.SinceLast {
		r.InputTokens += used.InputTokens
		r.OutputTokens += used.OutputTokens
		r.CacheTokens += used.CacheRead + used.CacheCreation
		r.CostMicros += int64(math.Round(used.CostUSD * 1e6))
		if name == t.model || used.Canonical == t.model || strings.HasPrefix(name, t.model+"[") {
			r.ContextWindow = max(r.ContextWindow, used.ContextWindow)
		}
	}
	return r
}

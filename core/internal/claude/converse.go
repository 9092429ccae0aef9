package claude

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
)

// converse writes a line and follows it to the end of its turn, and of those of the lines that it has written into it.
// Where its own turn did not run, and without an error, the line was acknowledged and not run. The timers run on the
// monotonic clock, which stands still while the machine sleeps: a closed laptop is no silence of claude's. They stand still,
// too, while somebody is being asked something, as people take their time; how much of it is for Turn.Ask to say.
func (p *Pool) converse(ctx context.Context, s *session, t agent.Turn, l line) (*exchange.Exchange, error) {
	const (
		look  = 50 * time.Millisecond // for the transcript of a new session, which the CLI writes behind
		quiet = 2 * time.Second       // after which an echo without a turn is all that will come
	)
	limit := p.config.Timeout
	if t.Timeout > 0 {
		limit = t.Timeout
	}
	timeout, stall := newClock(limit), time.NewTimer(p.config.Stall)
	defer timeout.timer.Stop()
	defer stall.Stop()
	var looks, silence <-chan time.Time

	nudged := t.Nudged
	if t.Steer == nil {
		nudged = nil
	}
	opened := 0 // the tools that were used for steering

	s.attend(ctx, t)
	defer s.dismiss()
	x := exchange.New(l.uuid)
	s.follow(x, t.Progress)
	defer s.follow(nil, nil)
	s.say(l)
	for {
		now := s.look()
		timeout.hold(now.asking)
		if now.Acked && (now.Finished || t.Started || p.command.Transcripts.Has(t.Session)) {
			t.OnConsumed()
		} else if now.Acked && looks == nil {
			ticker := time.NewTicker(look)
			defer ticker.Stop()
			looks = ticker.C
		}
		if now.Echoed && !now.Began && silence == nil {
			silence = time.After(quiet)
		}
		if now.Finished {
			return x, nil
		}
		if t.Steer != nil && now.Tool && now.Opened != opened {
			opened = now.Opened
			p.steer(ctx, s, t)
		}
		select {
		case <-now.moved:
		case _, ok := <-nudged:
			if !ok {
				nudged = nil
			} else if s.look().Tool {
				p.steer(ctx, s, t)
			} // else the next tool finds what waits
		case <-looks:
		case <-s.proc.Exited():
			if s.look().Finished {
				continue
			}
			s.proc.Destroy() // its tools
			switch {
			case ctx.Err() != nil:
				return x, aborted(ctx) // it was ended for that
			case x.Succeeded():
				return x, nil
			}
			return x, s.died(p, agent.Died)
		case <-silence:
			if at := s.look(); !at.Began && !at.Finished {
				return x, nil
			}
		case <-ctx.Done():
			s.stop(p.config.Interrupt)
			return x, aborted(ctx)
		case <-timeout.timer.C:
			if s.look().asking {
				continue
			}
			if s.stop(p.config.Interrupt); x.Succeeded() {
				return x, nil
			}
			return x, &agent.Failure{Class: agent.Timeout, Detail: fmt.Sprintf("no answer within %v", limit)}
		case <-stall.C:
			now := s.look()
			left := p.config.Stall - time.Since(now.heard)
			if now.Busy || now.asking {
				left = p.config.Stall
			}
			if left > 0 {
				stall.Reset(left)
				continue
			}
			if s.stop(p.config.Interrupt); x.Succeeded() {
				return x, nil
			}
			return x, &agent.Failure{Class: agent.Timeout, Detail: fmt.Sprintf("nothing was heard for %v", p.config.Stall)}
		}
	}
}

// stop ends the running turn and whatever it started. The ladder is what brings it under 200 ms: the interrupt, which a
// sound claude answers in under 60 ms, its tools gone; then SIGINT, which has it leave and take its tools along; then
// SIGKILL, for it and for the tools, which would outlive it. What it has started is noted before: a process that cleared
// its environment cannot be found once its parent is gone.
func (s *session) stop(answer time.Duration) {
	const leave = 50 * time.Millisecond
	known, _ := s.proc.Descendants()
	s.withdraw()
	if s.finishes(answer) {
		s.proc.KillDescendants(known...)
		return
	}
	more, _ := s.proc.Descendants()
	known = append(known, more...)
	s.proc.Interrupt()
	timer := time.NewTimer(leave)
	defer timer.Stop()
	select {
	case <-s.proc.Exited():
	case <-timer.C:
	}
	s.proc.Destroy(known...)
}

// finishes interrupts the followed turn, and what the CLI begins after it, and waits for the end.
func (s *session) finishes(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for inits := -1; ; {
		now := s.look()
		if now.Finished {
			return true
		}
		if now.Inits != inits {
			// Newer CLIs also drop what else waits; older ones pass over the field.
			inits = now.Inits
			s.request(uuid.NewString(), map[string]any{"subtype": "interrupt", "cancel_queued": true})
		}
		select {
		case <-now.moved:
		case <-s.proc.Exited():
			return false
		case <-timer.C:
			return false
		}
	}
}

// glance is the state of the followed turn at one moment.
type glance struct {
	exchange.Stage
	asking bool // somebody is being asked something
	heard  time.Time
	moved  <-chan struct{} // closed when the stage is another one
}

// look returns the state of the followed turn.
func (s *session) look() glance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return glance{Stage: s.exchange.Stage(), asking: s.desk != nil && s.desk.asking > 0, heard: s.heard, moved: s.moved}
}

// follow has the events of the process go to an exchange, and its progress to tell; nil: to none. When it returns, the function
// that was told before is not called any more.
func (s *session) follow(t *exchange.Exchange, tell func(agent.Progress)) {
	s.mu.Lock()
	s.exchange, s.tell, s.heard = t, tell, time.Now()
	s.mu.Unlock()
	s.telling.Lock()
	defer s.telling.Unlock()
}

// clock is a timer that can be held.
type clock struct {
	timer *time.Timer
	left  time.Duration // when it was last started
	since time.Time     // it was started; zero: it is held
}

func newClock(d time.Duration) *clock {
	return &clock{timer: time.NewTimer(d), left: d, since: time.Now()}
}

// hold has the clock stand still, or go on.
func (c *clock) hold(still bool) {
	switch {
	case still && !c.since.IsZero():
		c.timer.Stop()
		c.left -= time.Since(c.since)
		c.since = time.Time{}
	case !still && c.since.IsZero():
		c.timer.Reset(c.left)
		c.since = time.Now()
	}
}

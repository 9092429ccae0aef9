package client

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Converse writes a line and follows it to the end of its turn, and of the turns of the lines that it has steered into
// it. An error means that the turn did not end by itself: ctx ended, the time was up, nothing was heard, or the process
// died. Without an error the exchange says how it ended: with a failure ([exchange.Exchange.Failure]), without output
// (Void), with an answer (Ran), or, if none of these, the line was acknowledged and not run.
//
// The timers use the monotonic clock, which does not advance while the machine sleeps, so that time does not count as
// silence of claude. They also stop while a question to people is open, because people take their time; the Asker decides
// how much.
func (c *Client) Converse(ctx context.Context, t agent.Turn, l agent.Line) (*exchange.Exchange, error) {
	const (
		look  = 50 * time.Millisecond // for the transcript of a new session, which the CLI writes with a delay
		quiet = 2 * time.Second       // after which an echo without a turn will not be followed by one
	)
	limit := c.limits.Timeout
	if t.Timeout > 0 {
		limit = t.Timeout
	}
	timeout, stall := newClock(limit), time.NewTimer(c.limits.Stall)
	defer timeout.timer.Stop()
	defer stall.Stop()
	var looks, silence <-chan time.Time

	var nudged <-chan struct{}
	if t.Steering != nil {
		nudged = t.Steering.Nudged()
	}
	opened := 0 // the tools that were used for steering

	c.Attend(ctx, t)
	defer c.Dismiss()
	x := c.expect(l.UUID, t.Watcher)
	c.follow(x, t.Watcher)
	defer c.follow(nil, nil)
	c.say(l)
	for {
		now := c.look()
		timeout.hold(now.asking)
		if now.Acked && (now.Finished || t.Started || c.command.Transcripts.Has(t.Session)) {
			consumed(ctx, t)
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
		if t.Steering != nil && now.Tool && now.Opened != opened {
			opened = now.Opened
			c.steer(ctx, t)
		}
		select {
		case <-now.moved:
		case <-now.asked:
		case _, ok := <-nudged:
			if !ok {
				nudged = nil
			} else if c.look().Tool {
				c.steer(ctx, t)
			} // otherwise the next tool does
		case <-looks:
		case <-c.process.Exited():
			if c.look().Finished {
				continue
			}
			c.process.Destroy() // its tools
			switch {
			case ctx.Err() != nil:
				return x, Aborted(ctx) // it was ended for that
			case x.Succeeded():
				return x, nil
			}
			return x, c.died(agent.Died)
		case <-silence:
			if at := c.look(); !at.Began && !at.Finished {
				return x, nil
			}
		case <-ctx.Done():
			c.stop(c.limits.Interrupt)
			return x, Aborted(ctx)
		case <-timeout.timer.C:
			if c.look().asking {
				continue
			}
			if c.stop(c.limits.Interrupt); x.Succeeded() {
				return x, nil
			}
			return x, &agent.Failure{Class: agent.TimeUp, Detail: fmt.Sprintf("no answer within %v", limit)}
		case <-stall.C:
			now := c.look()
			left := c.limits.Stall - time.Since(now.heard)
			if now.Busy || now.asking {
				left = c.limits.Stall
			}
			if left > 0 {
				stall.Reset(left)
				continue
			}
			if c.stop(c.limits.Interrupt); x.Succeeded() {
				return x, nil
			}
			return x, &agent.Failure{Class: agent.Timeout, Detail: fmt.Sprintf("nothing was heard for %v", c.limits.Stall)}
		}
	}
}

// say writes a message with its pictures. One that cannot be read is left out: the text has its path.
func (c *Client) say(l agent.Line) {
	var images []protocol.Image
	for _, p := range l.Pictures[:min(len(l.Pictures), agent.MaxPictures)] {
		data, err := read(p.Path)
		if err != nil {
			c.log.Warn("a picture is not shown to claude with its message", "error", err)
			continue
		}
		images = append(images, protocol.Image{Type: p.Type, Data: data})
	}
	c.process.Send(protocol.UserMessage(l.UUID, l.Text, images...))
}

// expect returns a new exchange for a line. If claude reports when it starts a line, output of an earlier turn is not taken for the
// line's own.
func (c *Client) expect(line string, of agent.Watcher) *exchange.Exchange {
	var planned []domain.Todo
	if of != nil {
		planned = of.Todos()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.announces {
		return exchange.NewAnnounced(line, planned...)
	}
	return exchange.New(line, planned...)
}

// stop ends the running turn and everything that it started, usually in under 200 ms: first an interrupt, which a claude
// process that works answers in under 60 ms after ending its tools; then SIGINT, after which it exits with its tools; then SIGKILL for it
// and for the tools, which would outlive it. Its descendants are recorded before: one with a cleared environment cannot
// be found after its parent's end.
func (c *Client) stop(answer time.Duration) {
	const leave = 50 * time.Millisecond
	known, _ := c.process.Descendants()
	c.withdraw()
	if c.finishes(answer) {
		c.process.KillDescendants(known...)
		return
	}
	more, _ := c.process.Descendants()
	known = append(known, more...)
	c.process.Interrupt()
	timer := time.NewTimer(leave)
	defer timer.Stop()
	select {
	case <-c.process.Exited():
	case <-timer.C:
	}
	c.process.Destroy(known...)
}

// finishes interrupts the followed turn and those that the CLI begins after it, and waits for the end.
func (c *Client) finishes(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for inits := -1; ; {
		now := c.look()
		if now.Finished {
			return true
		}
		if now.Inits != inits {
			inits = now.Inits
			c.interrupt()
		}
		select {
		case <-now.moved:
		case <-c.process.Exited():
			return false
		case <-timer.C:
			return false
		}
	}
}

// interrupt asks claude to end what it does. Newer CLIs also drop everything that waits; older ones ignore the field.
func (c *Client) interrupt() {
	c.request(uuid.NewString(), map[string]any{"subtype": "interrupt", "cancel_queued": true})
}

// snapshot is the state of the followed turn at one moment.
type snapshot struct {
	exchange.Stage
	asking bool // a question to people is open
	heard  time.Time
	moved  <-chan struct{} // closed when the stage changes
	asked  <-chan struct{} // closed when a question is opened or closed
}

// look returns a snapshot of the followed turn.
func (c *Client) look() snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := snapshot{Stage: c.exchange.Stage(), heard: c.heard, moved: c.moved}
	var settled time.Time
	if now.asking, settled, now.asked = c.requests.questions(); settled.After(now.heard) {
		now.heard = settled // the time of a question is no silence of the CLI
	}
	return now
}

// consumed reports that Claude has read a turn's message.
func consumed(ctx context.Context, t agent.Turn) {
	if t.Watcher != nil {
		t.Watcher.Consumed(ctx)
	}
}

// follow directs the events of the process to an exchange, and its progress to a watcher; nil: to none. After it
// returns, the previous watcher is no longer called.
func (c *Client) follow(t *exchange.Exchange, watch agent.Watcher) {
	c.mu.Lock()
	c.exchange, c.watch, c.heard = t, watch, time.Now()
	c.mu.Unlock()
	c.telling.Lock()
	defer c.telling.Unlock()
}

// clock is a timer that can be stopped and continued.
type clock struct {
	timer *time.Timer
	left  time.Duration // when it was last started
	since time.Time     // when it was started; zero: it is stopped
}

func newClock(d time.Duration) *clock {
	return &clock{timer: time.NewTimer(d), left: d, since: time.Now()}
}

// hold stops or continues the clock.
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

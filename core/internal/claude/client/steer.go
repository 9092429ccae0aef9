package client

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
)

// A waiting line can be withdrawn. The CLI remembers the ids of withdrawn lines and accepts the same id again without
// running it, so the process is replaced before the message runs on its own. A new process, in contrast, knows only the
// ids of messages with turns of their own: those of steered lines are read from the transcript.

// steer writes the lines that wait for the running turn.
func (c *Client) steer(ctx context.Context, t agent.Turn) {
	lines, err := t.Steering.Lines(ctx)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("cannot steer messages, so they wait for the end of the turn", "error", err)
	}
	for _, l := range lines {
		if l.UUID == "" || strings.TrimSpace(l.Text) == "" || strings.HasPrefix(l.Text, "/") || !c.join(l) {
			c.log.Debug("a message waits for the end of the turn", "message", l.UUID)
		}
	}
}

// join writes a line for the running turn and follows it. It reports whether the line was written. Both are one step,
// so that a request to withdraw the line cannot precede it.
func (c *Client) join(l agent.Line) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spent[l.UUID] || !c.exchange.Expect(l.UUID) {
		return false
	}
	if c.before[l.UUID] {
		c.exchange.Consume(l.UUID)
		return false
	}
	c.say(l)
	return true
}

// withdraw withdraws the waiting lines.
func (c *Client) withdraw() {
	c.mu.Lock()
	ids := c.exchange.Unread()
	for _, id := range ids {
		c.spent[id] = true
	}
	c.mu.Unlock()
	for _, id := range ids {
		c.takeBack(exchange.WithdrawalID(id, ""), id)
	}
}

func (c *Client) takeBack(request, line string) {
	c.request(request, map[string]any{"subtype": "cancel_async_message", "message_uuid": line})
}

// WithdrawLine withdraws a line that was, or is about to be, steered into the running turn. It reports whether neither
// that nor a later turn will see the line.
func (c *Client) WithdrawLine(ctx context.Context, line string) bool {
	const patience = 2 * time.Second
	switch c.giveUp(line) {
	case exchange.Consumed:
		return false
	case exchange.Cancelled:
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := exchange.WithdrawalID(line, uuid.NewString())
	answers, forget := c.expectAnswer(id)
	defer forget()
	c.takeBack(id, line)
	select {
	case e := <-answers:
		return e.Response.Response.Cancelled || c.giveUp(line) == exchange.Cancelled // by another request
	case <-c.process.Exited():
	case <-ctx.Done():
	}
	return false
}

// giveUp returns the state of a line that is no longer wanted. If it was not written yet, it will not be.
func (c *Client) giveUp(line string) exchange.LineState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exchange == nil || c.before[line] {
		return exchange.Consumed
	}
	state, written := c.exchange.Line(line)
	if !written {
		state = exchange.Cancelled
	}
	if !written || state == exchange.Waiting {
		c.spent[line] = true
	}
	return state
}

// Serves reports whether an idle process can run a turn, after adopting its model and effort.
func (c *Client) Serves(t agent.Turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cli.SameProcess(c.profile, t.Profile) && c.tools == (t.Tools != nil) && !c.spent[t.UUID]
}

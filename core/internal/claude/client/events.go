package client

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Line takes one line, and tells the running turn of its progress with no lock held that somebody else could want. Of pieces of a
// text that have come together it tells once.
func (c *Client) Line(line []byte, more bool) (patience time.Duration, err error) {
	e, err := protocol.Parse(line)
	c.mu.Lock()
	c.heard = time.Now()
	if err != nil {
		c.mu.Unlock()
		return 0, err
	}
	c.observe(e)
	piece := e.Type == "stream_event" && e.Stream.Type == "content_block_delta"
	if piece {
		patience = c.patience()
	} else {
		c.streaming = time.Time{}
	}
	if c.watch == nil || piece && more {
		c.mu.Unlock()
		return patience, nil
	}
	progress, changed := c.exchange.Progress()
	if !changed {
		c.mu.Unlock()
		return patience, nil
	}
	watch := c.watch
	c.telling.Lock()
	defer c.telling.Unlock()
	c.mu.Unlock()
	watch.Progress(progress)
	return patience, nil
}

// patience is how long the next piece of a text may wait to be read: so short a part of the time that the text has been streaming
// that nobody sees it. The client is locked.
func (c *Client) patience() time.Duration {
	const (
		part  = 50
		least = time.Millisecond // a shorter wait saves nothing
		most  = 10 * time.Millisecond
	)
	if c.streaming.IsZero() {
		c.streaming = c.heard
	}
	wait := min(c.heard.Sub(c.streaming)/part, most)
	if wait < least {
		return 0
	}
	return wait
}

// End takes that there are no more lines.
func (c *Client) End() { c.Dismiss() }

// observe takes an event. The client is locked. A process is killed at once that something else than the host has written
// into: with the host's settings the CLI lets nothing in.
func (c *Client) observe(e *protocol.Event) {
	if c.intruder != nil {
		return // what it still writes is an answer to somebody else
	}
	switch e.Type {
	case "control_request":
		if e.Request != nil {
			c.receive(e)
		}
		return
	case "control_cancel_request":
		c.retract(e.RequestID)
		return
	case "control_response":
		// Answers to the host's requests come, and so do copies of the host's own answers.
		if !c.isReady && e.Response.RequestID == initID {
			c.isReady = true
			close(c.ready)
		}
		c.answeredBy(e)
	case "system":
		if e.Subtype == "status" && e.Mode != "" {
			c.profile.PermissionMode = e.Mode // as when a plan was approved
		}
	case "result":
		c.meter.Count(e)
	}
	if c.intruder == nil && e.Origin != nil && e.Origin.Kind == "peer" {
		c.intruder = &e.Origin.PID
		c.Process.Kill()
		return
	}
	if c.exchange == nil {
		return
	}
	before := c.exchange.Stage()
	c.exchange.Observe(e)
	if c.exchange.Stage() != before {
		c.stir()
	}
}

// stir has whoever follows the turn look again. The client is locked.
func (c *Client) stir() {
	close(c.moved)
	c.moved = make(chan struct{})
}

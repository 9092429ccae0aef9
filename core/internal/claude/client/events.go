package client

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Line receives one line, and reports progress to the running turn without holding a lock that others need. Pieces of a
// text that arrive together cause one report.
func (c *Client) Line(line []byte, more bool) error {
	e, err := protocol.Parse(line)
	c.mu.Lock()
	c.heard = time.Now()
	if err != nil {
		c.mu.Unlock()
		return err
	}
	c.observe(e)
	piece := e.Type == "stream_event" && e.Stream.Type == "content_block_delta"
	if c.watch == nil || piece && more {
		c.mu.Unlock()
		return nil
	}
	progress, changed := c.exchange.Progress()
	if !changed {
		c.mu.Unlock()
		return nil
	}
	watch := c.watch
	c.telling.Lock()
	defer c.telling.Unlock()
	c.mu.Unlock()
	watch.Progress(progress)
	return nil
}

// End is called after the last line.
func (c *Client) End() { c.Dismiss() }

// observe handles an event. The caller holds the lock. If another process has written into the session, claude is
// killed at once: with the host's settings the CLI accepts no such messages. So is one that leaves its session, because
// what is said in another one would be lost with the process.
func (c *Client) observe(e *protocol.Event) {
	if c.intruder != nil || c.elsewhere {
		return // its further output answers someone else, or is not in the conversation
	}
	switch e.Type {
	case "control_request":
		if e.Request != nil {
			c.requests.receive(e)
		}
		return
	case "control_cancel_request":
		c.requests.withdraw(e.RequestID)
		return
	case "control_response":
		// These are answers to the host's requests, and copies of the host's own answers.
		if !c.isReady && e.Response.RequestID == initID {
			c.isReady = true
			c.process.Initialized()
			close(c.ready)
			c.takeModels(e.Response.Response.Models)
		}
		if e.Response.RequestID == statusID {
			c.takeServers(e.Response.Response.Servers)
		}
		c.answeredBy(e)
	case "system":
		if e.Subtype == "status" && e.Mode != "" {
			c.profile.PermissionMode = e.Mode // such as after a plan was approved
		}
		if e.Subtype == "init" {
			if c.elsewhere = e.Session != "" && e.Session != c.session; c.elsewhere {
				c.process.Kill()
				return
			}
			c.speed = e.Speed
			c.take(e)
		}
		if e.Subtype == "permission_denied" { // by the CLI itself: nobody was asked
			c.log.Info("Claude Code has not allowed a tool", "session", c.session, "tool", cut(e.DeniedTool, maxRule), "because", cut(e.DeniedBy, maxRule))
		}
		if e.Subtype == "session_writes_lost" {
			c.inventory.loses(c.session, e.Lost, e.ErrorCode)
		}
		c.tasks.observe(e, c.heard)
	case "command_lifecycle":
		c.announces = true
	case "result":
		c.meter.Count(e)
		if e.Fast != "" {
			c.speed = e.Speed
		}
		if c.pending {
			c.request(statusID, map[string]any{"subtype": "mcp_status"})
		}
	}
	if c.intruder == nil && e.Origin != nil && e.Origin.Kind == "peer" {
		c.intruder = &e.Origin.PID
		c.process.Kill()
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

// stir wakes those who follow the turn. The caller holds the lock.
func (c *Client) stir() {
	close(c.moved)
	c.moved = make(chan struct{})
}

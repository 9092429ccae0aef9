package client

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// A process can change its model, effort and speed, so a message with its own model needs neither a new process nor another
// one after it. The CLI accepts them between turns, by the control protocol. It may not support the effort setting, so
// the resulting value is queried. Whether the model thinks at all, and its speed, are not set by flags, because
// those could not be undone.

// begin sets in a new process what no flag sets. It does not wait for the responses, because the CLI handles requests before the
// lines that follow them. A CLI that does not know the requests ignores them.
func (c *Client) begin() {
	if c.profile.Effort == agent.EffortOff {
		c.request(uuid.NewString(), thinking(false))
	}
	if c.profile.Fast {
		c.request(uuid.NewString(), speed(true))
	}
}

// thinking returns the request that switches thinking off, or back to the default.
func thinking(on bool) map[string]any {
	var budget any // null: the default
	if !on {
		budget = 0
	}
	return map[string]any{"subtype": "set_max_thinking_tokens", "max_thinking_tokens": budget}
}

// speed returns the request that switches fast mode on or off.
func speed(fast bool) map[string]any {
	return map[string]any{"subtype": "apply_flag_settings", "settings": map[string]any{"fastMode": fast}}
}

// Adopt gives an idle process a profile's model, effort and speed. It reports whether that succeeded in time; otherwise the
// process must be replaced.
func (c *Client) Adopt(ctx context.Context, wanted agent.Profile) bool {
	const patience = 2 * time.Second // the CLI answers in milliseconds
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.mu.Lock()
	has := c.profile
	c.mu.Unlock()
	if has.Model != wanted.Model {
		if _, ok := c.ask(ctx, map[string]any{"subtype": "set_model", "model": cmp.Or(wanted.Model, c.command.UsualModel)}); !ok {
			return false
		}
	}
	if thinks := wanted.Effort != agent.EffortOff; thinks != (has.Effort != agent.EffortOff) {
		if _, ok := c.ask(ctx, thinking(thinks)); !ok {
			return false
		}
	}
	if level := cli.EffortLevel(wanted.Effort); level != cli.EffortLevel(has.Effort) && !c.setEffort(ctx, level) {
		return false
	}
	if has.Fast != wanted.Fast {
		if _, ok := c.ask(ctx, speed(wanted.Fast)); !ok {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.profile.Model, c.profile.Effort, c.profile.Fast = wanted.Model, wanted.Effort, wanted.Fast
	return true
}

// setEffort changes the effort; empty: the default.
func (c *Client) setEffort(ctx context.Context, effort string) bool {
	var level any
	if effort != "" {
		level = effort
	}
	if _, ok := c.ask(ctx, map[string]any{"subtype": "apply_flag_settings", "settings": map[string]any{"effortLevel": level}}); !ok {
		return false
	}
	answer, ok := c.ask(ctx, map[string]any{"subtype": "get_settings"})
	if !ok || answer.Response.Response.Applied == nil {
		return false
	}
	return effort == "" || answer.Response.Response.Applied.Effort == effort
}

// ask sends a request of the control protocol and waits for its answer. False: it failed, or there was no answer.
func (c *Client) ask(ctx context.Context, body map[string]any) (*protocol.Event, bool) {
	id := uuid.NewString()
	answers, forget := c.expectAnswer(id)
	defer forget()
	c.request(id, body)
	select {
	case e := <-answers:
		return e, e.Response.Subtype == "success"
	case <-c.process.Exited():
	case <-ctx.Done():
	}
	return nil, false
}

package client

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// A process can change its model and effort, so a message with its own model needs neither a new process nor another
// one after it. The CLI accepts both between turns, by the control protocol. It may not support the effort setting, so
// the resulting value is queried.

// Adopt gives an idle process a profile's model and effort. It reports whether that succeeded in time; otherwise the
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
	if has.Effort != wanted.Effort && !c.setEffort(ctx, wanted.Effort) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.profile.Model, c.profile.Effort = wanted.Model, wanted.Effort
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

package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// maxWindows bounds the limits of a plan that are shown.
const maxWindows = 8

// Plan asks claude how much of the limits of its login's plan is used. There are none for a login by key, if the CLI cannot say, or
// if it gives no answer before ctx ends.
func (c *Client) Plan(ctx context.Context) []domain.PlanWindow {
	// Without the behaviours it reads no transcripts; detached, nothing that is written later waits for the answer.
	e, ok := c.ask(ctx, map[string]any{"subtype": "get_usage", "skip_behaviors": true, "detached": true})
	if !ok {
		return nil
	}
	return planOf(e)
}

// planWindow is a limit as the CLI reports it.
type planWindow struct {
	Name        string   `json:"display_name"`
	Utilization *float64 `json:"utilization"` // percent
	ResetsAt    string   `json:"resets_at"`   // RFC 3339
}

// planOf reads the limits of an answer. The CLI calls its form experimental: what cannot be read is left out.
func planOf(e *protocol.Event) []domain.PlanWindow {
	var limits map[string]json.RawMessage
	if json.Unmarshal(e.Response.Response.RateLimits, &limits) != nil {
		return nil
	}
	var found []planWindow
	for _, known := range []struct{ key, name string }{
		{"five_hour", "5 hours"},
		{"seven_day", "7 days"},
		{"seven_day_opus", "7 days, Opus"},
		{"seven_day_sonnet", "7 days, Sonnet"},
	} {
		var w planWindow
		if json.Unmarshal(limits[known.key], &w) == nil {
			w.Name = known.name
			found = append(found, w)
		}
	}
	var models []planWindow
	if json.Unmarshal(limits["model_scoped"], &models) == nil {
		for _, w := range models {
			w.Name = "7 days, " + cut(w.Name, maxRule)
			found = append(found, w)
		}
	}
	var list []domain.PlanWindow
	for _, w := range found[:min(len(found), maxWindows)] {
		if w.Utilization == nil {
			continue
		}
		resets, _ := time.Parse(time.RFC3339, w.ResetsAt) // zero: not known
		list = append(list, domain.PlanWindow{Name: w.Name, Used: *w.Utilization, ResetsAt: resets})
	}
	return list
}

package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxChannels is how many channels /status shows.
const maxChannels = 5

// status is what the chat's people want to know at a glance.
func (d desk) status(ctx context.Context, call Call) (string, error) {
	waiting, err := d.store.Waiting(ctx, call.Caller.Session, domain.TurnLane)
	if err != nil {
		return "", fmt.Errorf("count what waits: %w", err)
	}
	s, e, now := call.Session, d.effective(call), d.host.Now()
	var b strings.Builder
	fmt.Fprintf(&b, "**clawhost %s**, up %s\n", d.host.Version, age(now.Sub(d.host.Started)))
	if d.host.Demo {
		b.WriteString("\n- demo: a stand-in answers, not Claude")
	}
	if since, running := d.turns.Running(call.Caller.Session); running {
		fmt.Fprintf(&b, "\n- running for %s", age(now.Sub(since)))
	} else {
		b.WriteString("\n- idle")
	}
	fmt.Fprintf(&b, ", %d waiting", waiting)
	for _, line := range d.openQuestions(call) {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	fmt.Fprintf(&b, "\n- model %s", modelName(e.Model))
	if s.Model != "" && s.Model != e.Model {
		fmt.Fprintf(&b, ", last answer by %s", modelName(s.Model))
	}
	fmt.Fprintf(&b, "\n- effort %s, permission mode %s", or(e.Effort, claudesChoice), e.PermissionMode)
	fmt.Fprintf(&b, "\n- %s", filled(s))
	fmt.Fprintf(&b, "\n- %s", spent(s.Usage))
	fmt.Fprintf(&b, "\n- session %s", code(s.Key))
	if s.Label != "" {
		fmt.Fprintf(&b, " (%s)", code(s.Label))
	}
	fmt.Fprintf(&b, ", begun %s ago", age(now.Sub(begun(s))))
	if !s.InteractedAt.IsZero() {
		fmt.Fprintf(&b, ", last message %s ago", age(now.Sub(s.InteractedAt)))
	}
	fmt.Fprintf(&b, "\n- queue: %s", queueing(e.Queue))
	if e.Activation != "" {
		fmt.Fprintf(&b, "\n- activation: %s", e.Activation)
	}
	if e.Send == "deny" {
		b.WriteString("\n- sending is off: messages here are kept and not answered")
	}
	fmt.Fprintf(&b, "\n- you: %s", call.Caller.Authority)
	channels := d.host.Plugins.Channels()
	for _, line := range channels[:min(len(channels), maxChannels)] {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	if more := len(channels) - maxChannels; more > 0 {
		fmt.Fprintf(&b, "\n- and %s more", plural(more, "channel"))
	}
	return b.String(), nil
}

// maxOpen is how many open questions /status shows.
const maxOpen = 10

// openQuestions are lines on what people have not answered yet: in the conversation, and for an owner alone with the agent
// in all of them.
func (d desk) openQuestions(call Call) []string {
	if d.host.Questions == nil {
		return nil
	}
	everywhere := call.Caller.Authority >= chat.Owner && call.Caller.Kind == chat.Direct
	var lines []string
	for _, q := range d.host.Questions.Open() {
		here := q.Session == call.Caller.Session
		if !here && !everywhere || len(lines) == maxOpen {
			continue
		}
		line := fmt.Sprintf("waits for an answer to %s: %s, asked %s ago", code(q.ID), code(q.About), age(d.host.Now().Sub(q.Since)))
		if !here {
			line += " in " + code(q.Session)
		}
		lines = append(lines, line)
	}
	return lines
}

// filled says how full a session's context is.
func filled(s domain.Session) string {
	text := "context " + count(s.ContextTokens)
	if s.ContextWindow > 0 {
		text += fmt.Sprintf(" of %s tokens (%d%%)", count(s.ContextWindow), s.ContextTokens*100/s.ContextWindow)
	} else {
		text += " tokens"
	}
	return fmt.Sprintf("%s, %s", text, compacted(s.Compactions))
}

// spent says what turns cost.
func spent(u domain.Usage) string {
	return fmt.Sprintf("%s, %s tokens in, %s out, $%.4f", plural(u.Turns, "turn"), count(u.InputTokens+u.CacheTokens), count(u.OutputTokens), float64(u.CostMicros)/1e6)
}

// today is the day in the agent's zone.
func (d desk) today() time.Time {
	now := d.host.Now().In(d.host.Zone)
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
}

package command

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// status summarises the conversation and the host.
func (d hostCommands) status(ctx context.Context, call Call) (string, error) {
	running, waiting, err := d.store.Lane(ctx, call.Caller.Session, domain.TurnLane)
	if err != nil {
		return "", fmt.Errorf("look at the conversation's turns: %w", err)
	}
	questions, err := d.openQuestions(ctx, call)
	if err != nil {
		return "", err
	}
	todos, err := d.store.Todos(ctx, call.Session.ClaudeSession)
	if err != nil {
		return "", err
	}
	s, e, now := call.Session, d.effective(call), d.host.Now()
	var doing, wrong []string
	cli := ""
	if call.Caller.Authority >= chat.Owner {
		doing, cli = d.host.Plugins.Doing(), d.host.Claude.Installation().String()
		for _, p := range d.host.Health.List(ctx) {
			wrong = append(wrong, p.Text)
		}
	}
	speed, slowed := "", ""
	if e.Fast {
		speed, slowed = d.host.Claude.Speed(call.Session.ClaudeSession)
	}
	return wording.Status{
		Version: d.host.Version, Now: now, Up: now.Sub(d.host.Started), Demo: d.host.Demo,
		Running: !running.IsZero(), RunningFor: now.Sub(running), Waiting: waiting, Questions: questions, Todos: todos,
		Session: s, Agent: d.agentOf(call), Folder: call.Session.Place(), Model: e.Model, Effort: e.Effort, CLI: cli, Fast: e.Fast, Speed: speed, Slowed: slowed,
		Permission: e.PermissionMode, Queue: e.Queue, Activation: e.Activation,
		Muted: e.Send == "deny", Authority: call.Caller.Authority, Channels: d.host.Plugins.Channels(), Plugins: doing, Problems: wrong,
	}.String(), nil
}

// maxOpen bounds the open questions that /status shows.
const maxOpen = 10

// openQuestions are the open questions of the conversation, or, for an owner in a direct chat, of all conversations.
func (d hostCommands) openQuestions(ctx context.Context, call Call) ([]wording.OpenQuestion, error) {
	all, err := d.host.Questions.Open(ctx)
	if err != nil {
		return nil, err
	}
	everywhere := call.Caller.Authority >= chat.Owner && call.Caller.Kind == chat.Direct
	var list []wording.OpenQuestion
	for _, q := range all {
		here := q.Session == call.Caller.Session
		if !here && !everywhere || len(list) == maxOpen {
			continue
		}
		open := wording.OpenQuestion{ID: q.ID, About: q.About, For: d.host.Now().Sub(q.Since)}
		if !here {
			open.Session = q.Session
		}
		list = append(list, open)
	}
	return list, nil
}

// today is the current day in the agent's zone.
func (d hostCommands) today() time.Time {
	now := d.host.Now().In(d.host.Zone)
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
}

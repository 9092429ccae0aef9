package command

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// agent lists the agents, or says which one answers from now on. The choice was made when the command was accepted, so that it applies
// to the next message.
func (d hostCommands) agent(ctx context.Context, call Call) (Answer, error) {
	conversations := d.host.Conversations
	if !conversations.Several() {
		return Answer{Text: wording.OneAgent}, nil
	}
	if call.Args == "" {
		return d.agents(call), nil
	}
	name := strings.ToLower(firstWord(call.Args))
	chosen, ok := conversations.Chosen(call.Args, call.Caller)
	if ok && chosen == nil {
		chosen = conversations.Agent(conversations.Routed(call.Caller.Address, call.Caller.Kind, call.Caller.Sender))
	}
	var said string
	switch {
	case ok:
		begun, err := d.begun(ctx, call, chosen.Label)
		if err != nil {
			return Answer{}, err
		}
		said = wording.AgentChosen(wording.Agent{Label: chosen.Label, Description: chosen.Description}, call.Caller.Kind != chat.Direct, begun)
	case conversations.Agent(name) != nil:
		said = wording.AgentNotOpen(name)
	default:
		said = wording.UnknownArgument("agent", call.Args, wording.AgentOptions)
	}
	return Answer{Text: said}, nil
}

// begun reports whether an agent has a conversation in the caller's chat.
func (d hostCommands) begun(ctx context.Context, call Call, agent string) (bool, error) {
	name, err := session.Parse(call.Caller.Session)
	if err != nil {
		return false, err
	}
	s, err := d.store.Session(ctx, name.With(agent).Key())
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	return s.ClaudeStarted, err
}

// agents lists the agents that the caller may choose, with buttons for those that do not answer now.
func (d hostCommands) agents(call Call) (answer Answer) {
	now := session.AgentOf(call.Caller.Session)
	var list []wording.Agent
	for _, a := range d.host.Conversations.Agents() {
		if !d.host.Conversations.MayChoose(a, call.Caller) {
			continue
		}
		list = append(list, wording.Agent{Label: a.Label, Description: a.Description})
		if a.Label != now {
			answer.Buttons = append(answer.Buttons, chat.Button{Label: a.Label, Data: "/agent " + a.Label})
		}
	}
	answer.Text = wording.Agents(list, now)
	return answer
}

// hasAgents reports whether there is more than one agent.
func (d hostCommands) hasAgents() bool {
	return d.host.Conversations != nil && d.host.Conversations.Several()
}

// agentOf is the agent that answers in the caller's conversation; empty: there is only one.
func (d hostCommands) agentOf(call Call) string {
	if !d.host.Conversations.Several() {
		return ""
	}
	return session.AgentOf(call.Caller.Session)
}

// sessions are those of the caller's conversation with all agents, and those that heartbeats, and plugins with work to do, have of their
// own beside it.
func (d hostCommands) sessions(ctx context.Context, call Call) (keys []string, err error) {
	name, err := session.Parse(call.Caller.Session)
	if err != nil {
		return []string{call.Caller.Session}, nil
	}
	lanes, err := d.store.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range d.host.Conversations.Agents() {
		key := name.With(a.Label).Key()
		keys = append(keys, key)
		if a.Heartbeat.Session == config.HeartbeatOwn {
			keys = append(keys, session.HeartbeatOf(key))
		}
		for _, lane := range lanes {
			if session.PeoplesOf(lane.Session) == key && !slices.Contains(keys, lane.Session) {
				keys = append(keys, lane.Session)
			}
		}
	}
	return keys, nil
}

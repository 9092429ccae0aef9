package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Tools are the agent's: it proposes schedules, and a person makes them.
func (s *schedules) Tools() []sdk.AgentTool {
	return []sdk.AgentTool{
		sdk.Tool("propose", "Proposes a reminder or a repeated task in this chat. A message with buttons asks the people there; nothing is "+
			"scheduled until one of them agrees, and you are not told the answer.", s.propose),
		sdk.Tool("list", "Lists the schedules of this chat and your open proposals.", s.listTool),
		sdk.Tool("withdraw", "Takes back a proposal that nobody has agreed to.", s.withdrawTool),
	}
}

type proposeIn struct {
	When string `json:"when" jsonschema:"Such as: tomorrow 9:00; in 20m; friday 17:30; 2026-12-24 18:00; every weekday 9:00; every monday,thursday 18:30; every 2h; every month 1 9:00; every cron \"0 9 * * 1-5\"."`
	Text string `json:"text" jsonschema:"What is sent to the chat, or what you are asked."`
	Kind string `json:"kind" default:"send" jsonschema:"send: the text is sent as it is. ask: you are asked the text, and your answer is sent."`
	Own  bool   `json:"own_conversation,omitempty" jsonschema:"With ask: whether each run is in a conversation of its own, not in that of the chat."`
}

func (s *schedules) propose(ctx context.Context, call sdk.ToolCall, in proposeIn) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	when, rest, err := parseWhen(in.When, now, s.zone)
	text := strings.TrimSpace(in.Text)
	switch {
	case err != nil:
		return "", fmt.Errorf("when: %w", err)
	case rest != "":
		return "", fmt.Errorf("when: %q is not a part of a time", cutText(rest, 40))
	case in.Kind != "send" && in.Kind != "ask":
		return "", errors.New("kind must be send or ask")
	case text == "":
		return "", errors.New("the text is empty")
	}
	if err := s.expireIn(ctx); err != nil {
		return "", err
	}
	p := proposal{Made: now, row: row{Rule: when, Ask: in.Kind == "ask", Text: text, Own: in.Own && in.Kind == "ask", Created: now, After: now}}
	p.belongsTo(call.Caller)
	if err := s.admit(ctx, p.row); err != nil {
		return "", err
	}
	if n := len(s.proposalsIn(call.Caller)); n >= maxProposals {
		return "", fmt.Errorf("this chat has %d open proposals already: withdraw one, or wait for the people's answer", n)
	}
	if p.ID, err = number(ctx, s.env.State, "", now); err != nil {
		return "", err
	}
	k := &keyed[proposal]{key: keyOf(proposalPrefix, p.ID, p.Person)}
	if err := s.proposals.change(ctx, k, func(kept *proposal) { *kept = p }); err != nil {
		return "", err
	}
	s.proposed[p.ID] = k
	if err := s.env.Outbox.PostMessage(ctx, fmt.Sprintf("schedule:%d:proposal", p.ID), p.To, s.asks(p)); err != nil {
		return "", errors.Join(err, s.withdraw(ctx, k))
	}
	return fmt.Sprintf("Proposal %d is shown in the chat. It becomes a schedule when a person agrees, within a day.", p.ID), nil
}

// asks is the message that asks people whether they agree.
func (s *schedules) asks(p proposal) sdk.Post {
	return sdk.Post{
		Text: fmt.Sprintf("Claude proposes a schedule.\n%s\n\nTo agree: /schedule agree %d. If not: /schedule decline %[2]d", s.will(p.row), p.ID),
		Buttons: [][]chat.Button{{
			{Label: "Agree", Data: fmt.Sprintf("/schedule agree %d", p.ID)},
			{Label: "No", Data: fmt.Sprintf("/schedule decline %d", p.ID)},
		}},
	}
}

// proposalsIn returns the open proposals of the caller's chat. The lock is held.
func (s *schedules) proposalsIn(c chat.Caller) (list []*keyed[proposal]) {
	for id := range s.proposed {
		if k := s.proposed[id]; k.value.To == c.Address && s.clock().Sub(k.value.Made) <= proposalLife {
			list = append(list, k)
		}
	}
	return list
}

func (s *schedules) listTool(_ context.Context, call sdk.ToolCall, _ struct{}) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "It is %s, %s.\n", dayWords(s.clock(), s.clock()), s.zoneName(s.clock()))
	for _, k := range s.sorted(func(r row) bool { return r.sameChat(call.Caller) }) {
		fmt.Fprintf(&b, "Schedule %d, %s, of %s: %s (%s)\n", k.value.ID, s.name(k.value), k.value.Person.nameOr(), s.does(k.value), s.state(k.value))
	}
	for _, k := range s.proposalsIn(call.Caller) {
		fmt.Fprintf(&b, "Proposal %d, not agreed to: %s\n", k.value.ID, strings.ReplaceAll(s.will(k.value.row), "\n", " "))
	}
	return b.String(), nil
}

type withdrawIn struct {
	Number int `json:"number" jsonschema:"The proposal's number."`
}

func (s *schedules) withdrawTool(ctx context.Context, call sdk.ToolCall, in withdrawIn) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.proposed[in.Number]
	if k == nil || k.value.To != call.Caller.Address {
		return "", fmt.Errorf("there is no open proposal %d in this chat; schedules are deleted by people, with /schedule", in.Number)
	}
	if err := s.withdraw(ctx, k); err != nil {
		return "", err
	}
	return fmt.Sprintf("Proposal %d is withdrawn.", in.Number), nil
}

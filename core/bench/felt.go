package main

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

const (
	parkAfter = 6 * time.Second // where processes are to be parked: longer than a person types and waits, and a host resumes some at its start
	aMoment   = 3 * time.Second // that a person takes to go on
	between   = 2 * time.Second // conversations that begin, in which a spare process gets ready
	aMessage  = 2 * time.Second // that a person takes to type one
)

// felt measures what people wait for, in private chats and groups of Telegram, which does not tell that somebody types: from
// a message to the request at the model, and to the first word in the chat. The config's defaults decide how long a message
// waits for the next one.
func (b *bench) felt(ctx context.Context) error {
	const people, starts = 8, 3
	b.describe(people)
	for _, measure := range []func(*sitting) error{
		func(s *sitting) error { return s.private(ctx, people) },
		func(s *sitting) error { return s.grouped(ctx, people) },
		func(s *sitting) error { return s.restarted(ctx, starts) },
		func(s *sitting) error { return s.served(ctx, people) },
	} {
		if err := b.sit(ctx, "telegram", openTelegram, measure); err != nil {
			return err
		}
	}
	return nil
}

// typing measures private chats of the other networks, whose people take a while to type each message, and are seen typing where
// the network tells the plugin.
func (b *bench) typing(ctx context.Context) error {
	const people = 5
	b.describe(people)
	for _, n := range networks {
		if n.name == "telegram" || n.name == "echo" {
			continue // the part felt has the one, and people have the other only for trying out
		}
		err := b.sit(ctx, n.name, n.open, func(s *sitting) error { return s.typed(ctx, people) })
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

// describe prints what is measured.
func (b *bench) describe(people int) {
	claude := "claude-stub, which takes " + stubStart.String() + " to start"
	if b.cli != "" {
		claude = b.version
	}
	line("measured", fmt.Sprintf("%d messages of each kind, one at a time; %s", people, claude))
}

// private measures private chats, also after the processes were parked.
func (s *sitting) private(ctx context.Context, people int) error {
	all := s.people(s.network.person, people)
	err := s.during(ctx, "",
		s.each("new conversation", all, later),
		s.each("warm conversation", all, nil),
		s.each("once /new was answered", all, func(ctx context.Context, p person) error {
			if err := later(ctx, p); err != nil {
				return err
			}
			return s.renew(ctx, p)
		}),
		s.begin(all, s.renew),
		passing(aMoment),
		s.each("some seconds after /new", all, nil),
	)
	if err != nil {
		return err
	}
	return s.during(ctx, fmt.Sprintf("park_after = %q", parkAfter), passing(parkAfter), s.parked, s.each("parked process", all, nil))
}

// grouped measures groups, in which messages mention the agent.
func (s *sitting) grouped(ctx context.Context, groups int) error {
	all := s.people(s.network.group, groups)
	return s.during(ctx, "", s.each("group: new conversation", all, later), s.each("group: warm conversation", all, nil))
}

// restarted measures the first messages after restarts of the host, in conversations that were in use before.
func (s *sitting) restarted(ctx context.Context, starts int) error {
	all := s.people(s.network.person, 3)
	var w waits
	if err := s.during(ctx, "", s.hear(&waits{}, all, nil)); err != nil {
		return err
	}
	for range starts {
		if err := s.during(ctx, "", passing(aMoment), s.hear(&w, all, nil)); err != nil {
			return err
		}
	}
	w.print("after a restart of the host")
	return nil
}

// served measures private chats with an agent that has two MCP servers.
func (s *sitting) served(ctx context.Context, people int) error {
	servers, err := mcpServers()
	if err != nil {
		return err
	}
	all := s.people(s.network.person, people)
	err = s.during(ctx, servers,
		s.each("two MCP servers: new conversation", all, later),
		s.each("two MCP servers: warm conversation", all, nil),
	)
	if err != nil {
		return err
	}
	return s.during(ctx, fmt.Sprintf("%s\n  park_after = %q", servers, parkAfter),
		passing(parkAfter), s.parked, s.each("two MCP servers: parked process", all, nil))
}

// typed measures private chats in which people take a while to type each message.
func (s *sitting) typed(ctx context.Context, people int) error {
	all, name := s.people(s.network.person, people), s.name
	if all[0].types != nil {
		name += ", seen typing"
	}
	types := func(ctx context.Context, p person) error {
		if p.types != nil {
			if err := p.types(); err != nil {
				return err
			}
		}
		return pause(ctx, aMessage)
	}
	var fresh, warm waits
	var steps []step
	for i := range all { // before their processes are parked
		steps = append(steps, s.hear(&fresh, all[i:i+1], types), s.hear(&warm, all[i:i+1], types))
	}
	steps = append(steps, func(context.Context) error {
		fresh.print(name + ": new conversation")
		warm.print(name + ": warm conversation")
		return nil
	}, s.parked, s.each(name+": parked process", all, types))
	return s.during(ctx, fmt.Sprintf("park_after = %q", parkAfter), steps...)
}

// later has a person begin a while after the one before.
func later(ctx context.Context, _ person) error { return pause(ctx, between) }

// renew has a person begin a new conversation.
func (s *sitting) renew(ctx context.Context, p person) error {
	if _, err := p.say("/new"); err != nil {
		return err
	}
	_, err := p.sees(ctx, wording.NewConversation("", false))
	return err
}

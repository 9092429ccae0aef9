package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// arrival is a message with what applies to it.
type arrival struct {
	event    chat.Event
	message  domain.Message // with its writer's authority
	settings config.Settings
	name     session.Name
	key      string           // of the session
	chosen   domain.Overrides // for the session
	access   access.Decision
}

// caller returns the writer of an arrival.
func (in *Inbox) caller(a arrival) chat.Caller {
	c := in.conversations.Caller(a.key, a.message.Address(), a.message.Chat.Kind)
	c.Sender, c.Authority = a.message.Sender, a.message.Authority
	return c
}

// authorise finds the session of a message, and decides with which authority it is let in, if it is.
func (in *Inbox) authorise(ctx context.Context, e chat.Event, m domain.Message) (a arrival, err error) {
	a = arrival{event: e, message: m, settings: in.conversations.Settings(m.Channel)}
	if a, err = in.to(ctx, a, ""); err != nil {
		return a, err
	}
	if a.access, err = in.decide(ctx, m.Channel, e, a.chosen.Activation); err != nil {
		return a, err
	}
	a.message.Authority = a.access.Authority
	return in.pressed(ctx, a)
}

// to returns an arrival as a message to an agent, or, without one, to the agent that answers there.
func (in *Inbox) to(ctx context.Context, a arrival, agent string) (_ arrival, err error) {
	if a.name, err = in.name(ctx, agent, a.message.Address(), a.message.Chat, a.message.Sender); err != nil {
		return a, err
	}
	a.key = a.name.Key()
	if a.chosen, err = in.store.Overrides(ctx, a.key); err != nil {
		return a, fmt.Errorf("look up a session: %w", err)
	}
	return a, nil
}

// tooOld reports whether an event is older than the config lets in.
func (in *Inbox) tooOld(channel string, e chat.Event) bool {
	c := in.conversations.Settings(channel).Inbound
	return c.Drop && c.MaxAge > 0 && in.now().Sub(e.At) > c.MaxAge
}

// decide applies the access rules.
func (in *Inbox) decide(ctx context.Context, channel string, e chat.Event, activation string) (access.Decision, error) {
	rules := rules(in.conversations.Settings(channel).Access)
	e.Chat.ID = in.listed(channel, e.Chat.ID)
	rules.Activation = activation
	decision, err := rules.Decide(channel, e, func(s chat.Sender) (bool, error) {
		return in.store.Allowed(ctx, channel, append([]chat.UserID{s.ID}, s.Aliases...)...)
	})
	if err != nil {
		return decision, fmt.Errorf("decide on access: %w", err)
	}
	return decision, nil
}

func rules(a config.Access) access.Rules {
	groups := make(map[chat.ID]access.Group, len(a.Group))
	for id, g := range a.Group {
		groups[chat.ID(id)] = access.Group{RequireMention: g.RequireMention}
	}
	return access.Rules{
		Owners: a.Owners, DM: access.DMPolicy(a.DM), Allow: a.Allow, CommandsFrom: a.CommandsFrom,
		Groups: access.GroupPolicy(a.Groups), Group: groups, RequireMention: a.RequireMention, MentionPatterns: a.MentionPatterns,
	}
}

// pressed turns a press on a button of an agent's into a message to that agent. The data of a press can be forged: it counts only
// if it names a message that the agent has sent to the conversation in which it is pressed.
func (in *Inbox) pressed(ctx context.Context, a arrival) (arrival, error) {
	body, _ := a.event.Body.(chat.ButtonPress)
	data, ok := strings.CutPrefix(body.Data, domain.PressData)
	if !ok {
		return a, nil
	}
	token, index, _ := strings.Cut(data, ":")
	sent, err := in.store.AgentMessageByToken(ctx, token)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return a, fmt.Errorf("look up a button: %w", err)
	}
	n, wrong := strconv.Atoi(index)
	by := session.AgentOf(sent.Session)
	if err != nil || wrong != nil || n < 0 || n >= len(sent.Labels) || a.name.With(by).Key() != session.PeoplesOf(sent.Session) {
		return a, nil
	}
	if session.PeoplesOf(sent.Session) != sent.Session {
		sent.Number = 0 // it counts in the heartbeat's own conversation
	}
	a.message.Text, a.message.Pressed = sent.Labels[n], &domain.Press{Number: sent.Number}
	return in.to(ctx, a, by)
}

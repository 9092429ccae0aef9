// Package inbox takes events in: it decides whether an event is for the agent, whose session it belongs to and which lane
// it waits in, and answers once it is durable.
package inbox

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// The bounds of a burst: what somebody writes without a pause for longer, or more of it, is answered in parts.
	burstMessages = 12
	burstBytes    = 50_000
	burstWindows  = 5
)

// Commands finds what a text asks of the host.
type Commands interface {
	Parse(text string) (domain.Command, bool)
	// Mistyped makes a command of a text that begins like one and is none, if it is a near miss of one. It answers which is meant.
	Mistyped(text string) (domain.Command, bool)
	// Quick reports whether a command is one of the host's own that answer at once.
	Quick(name string) bool
	// Skill makes a prompt of a text that begins with the name of a skill.
	Skill(text string) (prompt string, ok bool)
	// Directives takes the directives out of a text of somebody of this authority: what they set for this message, and the
	// commands that answer some of them. Where no rest is left there is nothing else to answer. Begins says that the message
	// begins with the text: only there do some of them count.
	Directives(text string, begins bool, authority chat.Authority) (rest string, overrides domain.Overrides, commands []domain.Command)
	// ResetHint takes the model out of what begins a conversation; "": the config's, nil: none.
	ResetHint(rest string) (model *string, text string)
	// IsAbort reports whether a text asks to stop, and nothing else.
	IsAbort(text string) bool
}

// Questions are what Claude asks people.
type Questions interface {
	// Reading makes an answer of a message that answers what Claude asks in the chat; false: it does not. Addressed says that it is
	// meant for the agent.
	Reading(ctx context.Context, caller chat.Caller, m domain.Message, addressed bool) (id, answer string, ok bool, err error)
	// Unread returns what somebody is told whose message has come to a turn that waits for an answer in the same chat; false: no
	// question is open there.
	Unread(caller chat.Caller) (id, told string, ok bool)
}

// Owners are those who run the host.
type Owners interface {
	// StrangerAsks is told that somebody asks to be let in on a channel.
	StrangerAsks(channel string)
}

// Options are what an inbox works with.
type Options struct {
	Commands  Commands
	Questions Questions
	Observers Observers
	Reactions Reactions
	Chats     Chats
	Owners    Owners
	Zone      *time.Location
}

// Inbox takes events in.
type Inbox struct {
	*Intake
	options  Options
	refusals refusals
}

// New returns an inbox whose events are taken by an intake.
func New(intake *Intake, options Options) *Inbox {
	return &Inbox{Intake: intake, options: options}
}

// Outcome is what became of an event.
type Outcome struct {
	Verdict chat.Verdict
	Reason  string // why it was rejected, for the plugin's log
	Session string // accepted or a duplicate: the session key
	Waiting int    // accepted: messages before it in its lane
	behind  bool   // accepted: a turn runs before it
}

// arrival is an event on its way in.
type arrival struct {
	event    chat.Event
	message  domain.Message
	settings config.Settings
	name     session.Name
	key      string
	chosen   domain.Overrides // for the session

	addressed bool // the message is meant for the agent
}

// caller is who wrote.
func (a *arrival) caller() chat.Caller {
	return chat.Caller{
		Session: a.key, Address: a.message.Address(), Kind: a.message.Chat.Kind, Sender: a.message.Sender, Authority: a.message.Authority,
	}
}

// Submit takes a channel's event. An error means that the host does not have the event.
func (in *Inbox) Submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	outcome, err := in.submit(ctx, channel, e)
	crashpoint.Pass("accepted") // The event is durable, the plugin does not know it yet.
	return outcome, err
}

func (in *Inbox) submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	if e.At.IsZero() {
		e.At = in.now() // the network told no time
	}
	switch body := e.Body.(type) {
	case chat.Edited:
		return in.edit(ctx, channel, e, body)
	case chat.Deleted:
		return in.delete(ctx, channel, e, body)
	case chat.Migrated:
		return in.move(ctx, channel, e, body)
	}
	message, ok := finalise(channel, e)
	if !ok {
		return rejected("this kind of event is not used"), nil
	}
	a, err := in.arrive(ctx, channel, e, message)
	if err != nil {
		return Outcome{}, err
	}
	if age := in.now().Sub(e.At); a.settings.Inbound.Drop && a.settings.Inbound.MaxAge > 0 && age > a.settings.Inbound.MaxAge {
		return rejected("older than inbound.max_age"), nil
	}
	decision, err := in.decide(ctx, channel, e, a.chosen.Activation)
	if err != nil {
		return Outcome{}, err
	}
	a.message.Authority, a.addressed = decision.Authority, decision.Addressed
	switch decision.Action {
	case access.Let:
		return in.take(ctx, a)
	case access.RecordPassive:
		return in.overhear(ctx, a)
	case access.Pair:
		return in.pair(ctx, channel, message, decision.Reason)
	default:
		in.log.Debug("an event is not let in", "channel", channel, "event", e.ID, "reason", decision.Reason)
		in.refusals.advise(in.log, channel, e, decision.Reason, in.now())
		return rejected(decision.Reason), nil
	}
}

// arrive finds out what an event meets: the channel's settings, the session, and what was chosen for that.
func (in *Inbox) arrive(ctx context.Context, channel string, e chat.Event, m domain.Message) (*arrival, error) {
	a := &arrival{event: e, message: m, settings: in.conversations.Settings(channel)}
	a.name = in.name(a.settings.Session, channel, e.Chat, e.Thread, e.Sender)
	a.key = a.name.Key()
	var err error
	if a.chosen, err = in.store.Overrides(ctx, a.key); err != nil {
		return nil, fmt.Errorf("look up a session: %w", err)
	}
	return a, nil
}

// take accepts an event that was let in.
func (in *Inbox) take(ctx context.Context, a *arrival) (Outcome, error) {
	inbound, beside, err := in.inbound(ctx, a)
	if err != nil {
		return Outcome{}, err
	}
	if beside != nil { // First, so that the event is not taken without it.
		if _, err := in.accept(ctx, *beside); err != nil {
			return Outcome{}, err
		}
	}
	if _, press := a.event.Body.(chat.ButtonPress); press && inbound.Message.Command == nil {
		return rejected("the button has no command of the host's"), nil
	}
	if inbound.Lane == domain.TurnLane && inbound.Message.Origin == "" && in.policy(a) == "deny" {
		if !inbound.Message.Fresh {
			outcome, err := in.record(ctx, a)
			in.received(a, "", outcome, err)
			return outcome, err
		}
		inbound = alone(inbound)
	}
	if reply, event, missing := envelope.Missing(inbound.Message.Text, inbound.Message.Media); missing && inbound.Lane == domain.TurnLane {
		return in.miss(ctx, a, reply, event)
	}
	outcome, err := in.accept(ctx, inbound)
	if in.received(a, inbound.Lane, outcome, err) && outcome.behind && inbound.Lane == domain.TurnLane {
		in.stillOpen(ctx, a.caller())
	}
	return outcome, err
}

// stillOpen tells somebody whose message has come to a turn that waits for an answer that it does: once for each question, for what
// is written there else looks as if it had been the answer.
func (in *Inbox) stillOpen(ctx context.Context, caller chat.Caller) {
	id, told, ok := in.options.Questions.Unread(caller)
	if !ok {
		return
	}
	if _, err := in.store.Post(ctx, "unread:"+id, in.conversations.Notice(caller.Address, caller.Kind, told)...); err != nil {
		in.log.Warn("nobody is told that a question is still open", "question", id, "error", err)
	}
}

// alone makes the command that it begins with of a message that begins a conversation in which nothing is answered.
func alone(in domain.Inbound) domain.Inbound {
	m := in.Message
	m.Fresh, m.Command = false, &domain.Command{Name: "new"}
	return domain.Inbound{EventID: in.EventID, Session: in.Session, Lane: domain.ControlLane, Message: m, Reset: true, Model: in.Model}
}

// overhear takes a message of a group that is not addressed to the agent for an answer, if what claude asks there awaits it. Any
// other is kept, to be told with the next one that is for the agent.
func (in *Inbox) overhear(ctx context.Context, a *arrival) (Outcome, error) {
	if inbound, awaited, err := in.awaited(ctx, a); err != nil {
		return Outcome{}, err
	} else if awaited {
		outcome, err := in.accept(ctx, inbound)
		in.received(a, inbound.Lane, outcome, err)
		return outcome, err
	}
	limit := a.settings.Access.HistoryLimit
	if g, ok := a.settings.Access.Group[string(in.listed(a.message.Channel, a.event.Chat.ID))]; ok && g.HistoryLimit != nil {
		limit = *g.HistoryLimit
	}
	if limit == 0 && a.message.Starter == "" {
		return rejected("the message does not mention the agent"), nil
	}
	return in.keep(ctx, a, domain.Passive{
		Note:  &domain.Note{Kind: domain.NoteHistory, At: a.message.SentAt, Sender: a.message.Sender.Name(), Text: named(overheard(a.message), a.event.Body)},
		Limit: limit,
	})
}

// record keeps a message that must not be answered.
func (in *Inbox) record(ctx context.Context, a *arrival) (Outcome, error) {
	return in.keep(ctx, a, domain.Passive{
		Transcript: []chat.TranscriptEntry{{Role: chat.User, Text: a.message.Written(), At: in.now()}},
	})
}

func (in *Inbox) keep(ctx context.Context, a *arrival, o domain.Passive) (Outcome, error) {
	o.EventID, o.Channel, o.Session, o.Starter = a.event.ID, a.message.Channel, a.key, a.message.Starter
	duplicate, err := in.store.RecordPassive(ctx, o)
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("keep an event: %w", err)
	case duplicate:
		return Outcome{Verdict: chat.Duplicate, Session: a.key}, nil
	default:
		return Outcome{Verdict: chat.Accepted, Session: a.key}, nil
	}
}

// pair tells a stranger how to be let in, at most once while a request stands.
func (in *Inbox) pair(ctx context.Context, channel string, m domain.Message, reason string) (Outcome, error) {
	now := in.now()
	code := access.NewCode()
	created, err := in.store.RequestPairing(ctx, domain.Pairing{
		Code: code, Channel: channel, User: m.Sender.ID, Name: m.Sender.Name(), Chat: m.Chat.ID,
		CreatedAt: now, ExpiresAt: now.Add(access.CodeTTL),
	}, access.MaxPending, now.Add(-access.KeepFor), domain.OutboxItem{To: m.Address(), Text: access.Prompt(channel, m.Sender.ID, code)})
	if err != nil {
		return Outcome{}, fmt.Errorf("ask for pairing: %w", err)
	}
	if created {
		in.log.Info("a stranger asks to be let in; `clawhost pairing list` shows the code", "channel", channel, "user", m.Sender.ID)
		in.options.Owners.StrangerAsks(channel)
	}
	return rejected(reason), nil
}

func rejected(reason string) Outcome {
	return Outcome{Verdict: chat.Rejected, Reason: reason}
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

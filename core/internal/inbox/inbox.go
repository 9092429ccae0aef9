// Package inbox takes events in: it decides whether an event is for the agent, whose session it belongs to and which lane
// it waits in, and answers once it is durable.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxWaiting bounds a lane. A session with so many unanswered messages is flooded, not used.
	maxWaiting = 1000
	// stopsWaiting and ownersWaiting are how many more what stops and what is an owner's may be, so that no flood of others has
	// it refused.
	stopsWaiting, ownersWaiting = 50, 100
	// The bounds of a burst: what somebody writes without a pause for longer, or more of it, is answered in parts.
	burstMessages = 12
	burstBytes    = 50_000
	burstWindows  = 5
)

// Store is what the inbox needs of the store.
type Store interface {
	Accept(ctx context.Context, in domain.Inbound) (domain.Acceptance, error)
	RecordPassive(ctx context.Context, o domain.Passive) (duplicate bool, err error)
	Overrides(ctx context.Context, session string) (domain.Overrides, error)
	DirectChat(ctx context.Context, channel, id string) (domain.DirectChat, error)
	Find(ctx context.Context, channel string, in chat.ID, id chat.MessageID) (domain.Found, error)
	Amend(ctx context.Context, m domain.Message, model *string, unread int64) (domain.Standing, error)
	WithdrawMessage(ctx context.Context, channel string, in chat.ID, id chat.MessageID, unread int64, notice ...domain.OutboxItem) (domain.Standing, error)
	Post(ctx context.Context, key string, items ...domain.OutboxItem) (firstID int64, err error)
	Allowed(ctx context.Context, channel string, users ...chat.UserID) (bool, error)
	// Origin returns the first id that a chat had; its own where it has not moved.
	Origin(channel string, id chat.ID) chat.ID
	Move(ctx context.Context, channel string, event chat.EventID, from, to chat.ID) (duplicate bool, err error)
	RequestPairing(ctx context.Context, p domain.Pairing, limit int, olderThan time.Time, prompt domain.OutboxItem) (bool, error)
}

// Commands finds what a text asks of the host.
type Commands interface {
	Parse(text string) (domain.Command, bool)
	// Mistyped makes a command of a text that begins like one and is none, if it is a near miss of one. It answers which is meant.
	Mistyped(text string) (domain.Command, bool)
	// Quick tells whether a command is one of the host's own that answer at once.
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

// Turns are the running turns.
type Turns interface {
	// Nudge tells a session's running turn that messages wait that it could be told.
	Nudge(session string)
	// End ends a run that has lost its lane.
	End(run int64)
}

// Claude is what the inbox needs of the claude processes.
type Claude interface {
	// Withdraw takes back a message that a session's running turn was told, by its id for claude. False: it was read, or may
	// have been.
	Withdraw(ctx context.Context, session, message string) bool
	// Retire is told of a session that a reset left behind.
	Retire(session string)
}

// Options are what an inbox works with.
type Options struct {
	Store    Store
	Commands Commands
	Turns    Turns
	Claude   Claude
	Settings func(channel string) config.Settings
	// Reading makes a command of a message that answers what claude asks in the chat; false: it does not. Addressed says that it
	// is meant for the agent.
	Reading func(ctx context.Context, caller chat.Caller, m domain.Message, addressed bool) (domain.Command, bool, error)
	// Policy tells whether a session's messages from a chat are answered: allow or deny. Own is what people chose for it.
	Policy func(own, key string, from chat.Address, kind chat.Kind) string
	// Received is told of each message of a person that was taken, and of the lane that it waits in; none: it is only recorded.
	// It must not block.
	Received func(caller chat.Caller, m chat.Message, lane domain.Lane)
	// Behind is told of each message that has come to a turn that goes on.
	Behind func(ctx context.Context, caller chat.Caller)
	// Receipt makes what shows in the chat that a message waits, if it does, with buttons for what can be done about it; nil:
	// nothing does.
	Receipt func(m domain.Message) func(domain.Acceptance) domain.OutboxItem
	Zone    *time.Location
	Now     func() time.Time
}

// Inbox takes events in.
type Inbox struct {
	options  Options
	log      hclog.Logger
	refusals refusals
}

// New returns an inbox.
func New(options Options, log hclog.Logger) *Inbox {
	return &Inbox{options: options, log: log}
}

// Outcome is what became of an event.
type Outcome struct {
	Verdict chat.Verdict
	Reason  string // why it was rejected, for the plugin's log
	Session string // accepted or a duplicate: the session key
	Waiting int    // accepted: messages before it in its lane
	// Stranger says that its sender, who is not known, was told just now how to be let in.
	Stranger bool

	behind bool // accepted: a turn runs before it
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
	if e.At.IsZero() {
		e.At = in.options.Now() // the network told no time
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
	if age := in.options.Now().Sub(e.At); a.settings.Inbound.Drop && a.settings.Inbound.MaxAge > 0 && age > a.settings.Inbound.MaxAge {
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
		in.refusals.advise(in.log, channel, e, decision.Reason, in.options.Now())
		return rejected(decision.Reason), nil
	}
}

// arrive finds out what an event meets: the channel's settings, the session, and what was chosen for that.
func (in *Inbox) arrive(ctx context.Context, channel string, e chat.Event, m domain.Message) (*arrival, error) {
	a := &arrival{event: e, message: m, settings: in.options.Settings(channel)}
	a.name = in.name(a.settings.Session, channel, e.Chat, e.Thread, e.Sender)
	a.key = a.name.Key()
	var err error
	if a.chosen, err = in.options.Store.Overrides(ctx, a.key); err != nil {
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
		in.options.Behind(ctx, a.caller())
	}
	return outcome, err
}

// received tells of a message that was taken, if it is one.
func (in *Inbox) received(a *arrival, lane domain.Lane, outcome Outcome, err error) bool {
	m, ok := a.event.Body.(chat.Message)
	if !ok || err != nil || outcome.Verdict != chat.Accepted {
		return false
	}
	in.options.Received(a.caller(), m, lane)
	return true
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
		Transcript: []chat.TranscriptEntry{{Role: chat.User, Text: a.message.Written(), At: in.options.Now()}},
	})
}

func (in *Inbox) keep(ctx context.Context, a *arrival, o domain.Passive) (Outcome, error) {
	o.EventID, o.Channel, o.Session, o.Starter = a.event.ID, a.message.Channel, a.key, a.message.Starter
	duplicate, err := in.options.Store.RecordPassive(ctx, o)
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("keep an event: %w", err)
	case duplicate:
		return Outcome{Verdict: chat.Duplicate, Session: a.key}, nil
	default:
		return Outcome{Verdict: chat.Accepted, Session: a.key}, nil
	}
}

// policy tells whether the session's messages are answered.
func (in *Inbox) policy(a *arrival) string {
	return in.options.Policy(a.chosen.Send, a.key, a.message.Address(), a.message.Chat.Kind)
}

func (in *Inbox) accept(ctx context.Context, inbound domain.Inbound) (Outcome, error) {
	inbound.MaxWaiting = maxWaiting
	switch {
	case inbound.Message.Authority == chat.Owner:
		inbound.MaxWaiting += ownersWaiting
	case inbound.Urgent:
		inbound.MaxWaiting += stopsWaiting
	}
	accepted, err := in.options.Store.Accept(ctx, inbound)
	switch {
	case errors.Is(err, domain.ErrLaneFull):
		in.log.Warn("a session has too many waiting messages; further ones are refused", "session", inbound.Session, "waiting", inbound.MaxWaiting)
		return rejected("too many messages wait in this chat"), nil
	case err != nil:
		return Outcome{}, fmt.Errorf("accept an event: %w", err)
	case accepted.Duplicate:
		return Outcome{Verdict: chat.Duplicate, Session: inbound.Session}, nil
	}
	if accepted.Replaced != "" {
		in.options.Claude.Retire(accepted.Replaced)
	}
	if accepted.Superseded != 0 {
		in.options.Turns.End(accepted.Superseded)
	}
	if accepted.Running && inbound.Queue.Steers() {
		in.options.Turns.Nudge(inbound.Session)
	}
	return Outcome{Verdict: chat.Accepted, Session: inbound.Session, Waiting: accepted.Waiting, behind: accepted.Running}, nil
}

// pair tells a stranger how to be let in, at most once while a request stands.
func (in *Inbox) pair(ctx context.Context, channel string, m domain.Message, reason string) (Outcome, error) {
	now := in.options.Now()
	code := access.NewCode()
	created, err := in.options.Store.RequestPairing(ctx, domain.Pairing{
		Code: code, Channel: channel, User: m.Sender.ID, Name: m.Sender.Name(), Chat: m.Chat.ID,
		CreatedAt: now, ExpiresAt: now.Add(access.CodeTTL),
	}, access.MaxPending, now.Add(-access.KeepFor), domain.OutboxItem{To: m.Address(), Text: access.Prompt(channel, m.Sender.ID, code)})
	if err != nil {
		return Outcome{}, fmt.Errorf("ask for pairing: %w", err)
	}
	if created {
		in.log.Info("a stranger asks to be let in; `clawhost pairing list` shows the code", "channel", channel, "user", m.Sender.ID)
	}
	outcome := rejected(reason)
	outcome.Stranger = created
	return outcome, nil
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

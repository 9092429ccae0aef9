// Package inbox accepts events: it decides whether an event is for the agent, to which session and lane it belongs, and
// responds once it is durable.
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
	// The bounds of a burst: more messages, or a longer stream without a pause, are answered in parts.
	burstMessages = 12
	burstBytes    = 50_000
	burstWindows  = 5
)

// Commands finds commands and directives in texts.
type Commands interface {
	Parse(text string) (domain.Command, bool)
	// Mistyped turns a text that looks like a mistyped command into one. Its answer suggests the right one.
	Mistyped(text string) (domain.Command, bool)
	// Lane returns the lane in which a command of a person with this authority waits.
	Lane(name string, by chat.Authority) domain.Lane
	// Skill turns a text that begins with the name of a skill into a prompt.
	Skill(text string) (prompt string, ok bool)
	// Directives removes the directives from a text by a person of this authority, and returns what they set for this
	// message and the commands that answer some of them. An empty rest means that there is nothing else to answer.
	// Begins reports whether the message begins with the text: some directives count only there.
	Directives(text string, begins bool, authority chat.Authority) (rest string, overrides domain.Overrides, commands []domain.Command)
	// ResetHint removes the model from the beginning of a conversation's first text; "": the config's, nil: none.
	ResetHint(rest string) (model *string, text string)
	// IsAbort reports whether a text is only a request to stop.
	IsAbort(text string) bool
}

// Questions are claude's questions to people.
type Questions interface {
	// ParseAnswer returns the answer that a message gives to an open question of the chat; false: it gives none.
	// Addressed reports whether it is meant for the agent.
	ParseAnswer(ctx context.Context, caller chat.Caller, m domain.Message, addressed bool) (id, answer string, ok bool, err error)
	// OpenNotice returns the notice for a person whose message reached a turn that waits for an answer in the same chat;
	// false: no question is open there.
	OpenNotice(ctx context.Context, caller chat.Caller) (id, told string, ok bool, err error)
}

// Owners are those who run the host.
type Owners interface {
	// StrangerAsks is called when a stranger asks for access on a channel.
	StrangerAsks(channel string)
}

// Options are the settings and collaborators of an inbox.
type Options struct {
	Commands  Commands
	Questions Questions
	Observers Observers
	Reactions Reactions
	Chats     Chats
	Owners    Owners
	Zone      *time.Location
}

// Inbox accepts events.
type Inbox struct {
	*Intake
	options  Options
	refusals refusals
}

// New returns an inbox that stores events by an intake.
func New(intake *Intake, options Options) *Inbox {
	return &Inbox{Intake: intake, options: options}
}

// Outcome is the result of an event.
type Outcome struct {
	Verdict chat.Verdict
	Reason  string // why it was rejected, for the plugin's log
	Session string // accepted or a duplicate: the session key
	Waiting int    // accepted: messages before it in its lane
	Number  int64  // accepted: by which it is named while it waits
	behind  bool   // accepted: a turn runs before it
}

// arrival is an event that is being accepted.
type arrival struct {
	event    chat.Event
	message  domain.Message
	settings config.Settings
	name     session.Name
	key      string
	chosen   domain.Overrides // for the session

	addressed bool // the message is meant for the agent
}

// caller is the writer.
func (a *arrival) caller() chat.Caller {
	return chat.Caller{
		Session: a.key, Address: a.message.Address(), Kind: a.message.Chat.Kind, Sender: a.message.Sender, Authority: a.message.Authority,
	}
}

// Submit accepts a channel's event. After an error the host does not have the event.
func (in *Inbox) Submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	outcome, err := in.submit(ctx, channel, e)
	crashpoint.Pass("accepted") // The event is durable, the plugin does not know it yet.
	return outcome, err
}

func (in *Inbox) submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	if e.At.IsZero() {
		e.At = in.now() // the network sent no time
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
		return in.passive(ctx, a)
	case access.Pair:
		return in.pair(ctx, channel, message, decision.Reason)
	default:
		in.log.Debug("an event was refused", "channel", channel, "event", e.ID, "reason", decision.Reason)
		in.refusals.advise(in.log, channel, e, decision.Reason, in.now())
		return rejected(decision.Reason), nil
	}
}

// arrive collects what applies to an event: the channel's settings, the session, and the session's own settings.
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

// take accepts a permitted event.
func (in *Inbox) take(ctx context.Context, a *arrival) (Outcome, error) {
	if err := in.press(ctx, a); err != nil {
		return Outcome{}, err
	}
	inbound, beside, err := in.inbound(ctx, a)
	if err != nil {
		return Outcome{}, err
	}
	if beside != nil { // First, so that the event is not accepted without it.
		if _, err := in.accept(ctx, *beside); err != nil {
			return Outcome{}, err
		}
	}
	if _, press := a.event.Body.(chat.ButtonPress); press && inbound.Message.Command == nil && inbound.Message.Pressed == nil {
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

// stillOpen tells a person whose message reached a turn that waits for an answer, once for each question: otherwise
// they may think that they have answered it.
func (in *Inbox) stillOpen(ctx context.Context, caller chat.Caller) {
	id, told, ok, err := in.options.Questions.OpenNotice(ctx, caller)
	if ok {
		_, err = in.store.Post(ctx, "unread:"+id, in.conversations.Notice(caller.Address, caller.Kind, told)...)
	}
	if err != nil {
		in.log.Warn("no notice that a question is still open", "question", id, "error", err)
	}
}

// alone turns a message that starts a conversation into that command alone, where nothing is answered.
func alone(in domain.Inbound) domain.Inbound {
	m := in.Message
	m.Fresh, m.Command = false, &domain.Command{Name: "new"}
	return domain.Inbound{EventID: in.EventID, Session: in.Session, Lane: domain.ControlLane, Message: m, Reset: true, Model: in.Model}
}

// passive handles a message of a group that is not addressed to the agent: as the answer to an open question if it is
// one, else it is recorded for the agent's next turn.
func (in *Inbox) passive(ctx context.Context, a *arrival) (Outcome, error) {
	if inbound, awaited, err := in.awaited(ctx, a); err != nil {
		return Outcome{}, err
	} else if awaited {
		outcome, err := in.accept(ctx, inbound)
		in.received(a, inbound.Lane, outcome, err)
		return outcome, err
	}
	limit := in.conversations.History(a.message.Channel, a.event.Chat.ID)
	if limit == 0 && a.message.Starter == "" {
		return rejected("the message does not mention the agent"), nil
	}
	note := history(a.message, a.event.Body)
	return in.keep(ctx, a, domain.Passive{Note: &note, Limit: limit})
}

// history returns a message of a group that is not for the agent as its next turn reads it.
func history(m domain.Message, body chat.Body) domain.Note {
	return domain.Note{Kind: domain.NoteHistory, MessageID: m.ID, At: m.SentAt, Sender: m.Sender.Name(), Text: named(passiveText(m), body)}
}

// History returns what people said in a group before the agent came as its first turn reads it: as that of which it was a witness.
func History(channel string, events []chat.Event) (notes []domain.Note) {
	for _, e := range events {
		if m, ok := finalise(channel, e); ok && m.ID != "" && !m.Sender.IsSelf && !m.Sender.IsBot {
			notes = append(notes, history(m, e.Body))
		}
	}
	return notes
}

// record stores a message that must not be answered.
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

// pair tells a stranger how to get access, at most once while a request is open.
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
		in.log.Info("a stranger asks for access; `clawhost pairing list` shows the code", "channel", channel, "user", m.Sender.ID)
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

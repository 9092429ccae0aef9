// Package inbox takes events in: it decides whether an event is for the agent, whose session it belongs to and which lane
// it waits in, and answers once it is durable.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxWaiting bounds a lane. A session with so many unanswered messages is flooded, not used.
const maxWaiting = 1000

// Store is what the inbox needs of the store.
type Store interface {
	Accept(ctx context.Context, in store.Inbound) (store.Acceptance, error)
	Allowed(ctx context.Context, channel string, users ...chat.UserID) (bool, error)
	RequestPairing(ctx context.Context, p store.Pairing, max int, prompt store.Piece) (bool, error)
}

// Commands finds slash commands in text.
type Commands interface {
	Parse(text string) (store.Command, bool)
	// Builtin tells whether a command is the host's own.
	Builtin(name string) bool
}

// Options are what an inbox works with.
type Options struct {
	Store    Store
	Commands Commands
	Settings func(channel string) config.Settings
	// Retire is told of a claude session that a reset left behind.
	Retire func(claudeSession string)
	Now    func() time.Time
}

// Inbox takes events in.
type Inbox struct {
	options Options
	log     hclog.Logger
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
}

// Submit takes a channel's event. An error means that the host does not have the event.
func (in *Inbox) Submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	if e.At.IsZero() {
		e.At = in.options.Now() // the network told no time
	}
	message, ok := finalise(channel, e)
	if !ok {
		return rejected("this kind of event is not used"), nil
	}
	settings := in.options.Settings(channel)
	if age := in.options.Now().Sub(e.At); settings.Inbound.Drop && settings.Inbound.MaxAge > 0 && age > settings.Inbound.MaxAge {
		return rejected("older than inbound.max_age"), nil
	}
	decision, err := rules(settings.Access).Decide(channel, e, func(s chat.Sender) (bool, error) {
		return in.options.Store.Allowed(ctx, channel, append([]chat.UserID{s.ID}, s.Aliases...)...)
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("decide on access: %w", err)
	}
	switch decision.Action {
	case access.Let:
	case access.Pair:
		return in.pair(ctx, channel, message, decision.Reason)
	default:
		in.log.Debug("an event is not let in", "channel", channel, "event", e.ID, "reason", decision.Reason)
		return rejected(decision.Reason), nil
	}
	message.Authority = decision.Authority
	lane := in.lane(&message, settings.Session.ResetTriggers)
	return in.accept(ctx, store.Inbound{
		EventID: e.ID, Session: key(settings.Session, channel, e.Chat, e.Thread, e.Sender), Lane: lane, Message: message,
		Reset: resets(message),
	})
}

// Turn takes a prompt of a plugin: a message that nobody in the chat wrote. The plugin speaks with an owner's authority,
// because an owner put it into the config.
func (in *Inbox) Turn(ctx context.Context, id chat.EventID, m store.Message) (Outcome, error) {
	m.Authority = chat.Owner
	m.SentAt = in.options.Now()
	return in.accept(ctx, store.Inbound{EventID: id, Session: in.Session(m.Channel, m.Chat, m.Thread), Lane: store.TurnLane, Message: m})
}

// Session returns the key of the session of a chat. In a direct chat the other person's id is taken to be the chat's.
func (in *Inbox) Session(channel string, c chat.Chat, thread chat.ThreadID) string {
	return key(in.options.Settings(channel).Session, channel, c, thread, chat.Sender{ID: chat.UserID(c.ID)})
}

func key(s config.Session, channel string, c chat.Chat, thread chat.ThreadID, sender chat.Sender) string {
	return session.Key(session.Scope(s.Scope), channel, c, thread, sender, session.Links(s.IdentityLinks))
}

func (in *Inbox) accept(ctx context.Context, inbound store.Inbound) (Outcome, error) {
	inbound.MaxWaiting = maxWaiting
	accepted, err := in.options.Store.Accept(ctx, inbound)
	switch {
	case errors.Is(err, store.ErrLaneFull):
		in.log.Warn("a session has too many waiting messages; further ones are refused", "session", inbound.Session, "waiting", maxWaiting)
		return rejected("too many messages wait in this chat"), nil
	case err != nil:
		return Outcome{}, fmt.Errorf("accept an event: %w", err)
	case accepted.Duplicate:
		return Outcome{Verdict: chat.Duplicate, Session: inbound.Session}, nil
	case accepted.Replaced != "":
		in.options.Retire(accepted.Replaced)
	}
	return Outcome{Verdict: chat.Accepted, Session: inbound.Session, Waiting: accepted.Waiting}, nil
}

// resets tells whether a message is a command that begins a new claude session. It does so as it is accepted, so that what
// is written after it, in the same breath, is part of the new one; the command itself only says so.
func resets(m store.Message) bool {
	return m.Command != nil && (m.Command.Name == "new" || m.Command.Name == "reset") && m.Authority >= chat.Authorised
}

// lane decides where a message waits: a command goes around what runs, and one of the host's own around those of plugins,
// which may hang. A reset trigger with text behind it is a message that begins a new session. A command of somebody who
// may not use it goes the same way, and is told so.
func (in *Inbox) lane(m *store.Message, triggers []string) store.Lane {
	if rest, ok := trigger(m.Text, triggers); ok && m.Authority >= chat.Authorised {
		if rest == "" {
			m.Command = &store.Command{Name: "new"}
			return store.ControlLane
		}
		m.Fresh, m.Text, m.Command = true, rest, nil
		return store.TurnLane
	}
	if m.Command == nil {
		if command, ok := in.options.Commands.Parse(m.Text); ok {
			m.Command = &command
		}
	}
	switch {
	case m.Command == nil:
		return store.TurnLane
	case in.options.Commands.Builtin(m.Command.Name):
		return store.ControlLane
	default:
		return store.CommandLane
	}
}

// trigger tells whether a text is one of the triggers, or begins with one and a space, and returns what is behind it.
func trigger(text string, triggers []string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	for _, t := range triggers {
		if len(text) < len(t) || !strings.EqualFold(text[:len(t)], t) {
			continue
		}
		rest := text[len(t):]
		if rest == "" || strings.TrimLeft(rest, " \t\r\n") != rest {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// pair tells a stranger how to be let in, at most once while a request stands.
func (in *Inbox) pair(ctx context.Context, channel string, m store.Message, reason string) (Outcome, error) {
	now := in.options.Now()
	code := access.NewCode()
	created, err := in.options.Store.RequestPairing(ctx, store.Pairing{
		Code: code, Channel: channel, User: m.Sender.ID, Name: m.Sender.Name(), Chat: m.Chat.ID,
		CreatedAt: now, ExpiresAt: now.Add(access.CodeTTL),
	}, access.MaxPending, store.Piece{To: m.Address(), Text: access.Prompt(channel, m.Sender.ID, code)})
	if err != nil {
		return Outcome{}, fmt.Errorf("ask for pairing: %w", err)
	}
	if created {
		in.log.Info("a stranger asks to be let in; `clawhost pairing list` shows the code", "channel", channel, "user", m.Sender.ID)
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
		Groups: access.GroupPolicy(a.Groups), Group: groups, RequireMention: a.RequireMention,
	}
}

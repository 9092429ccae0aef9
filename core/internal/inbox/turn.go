package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Turn takes a prompt that nobody in the chat wrote: a plugin's, or one of the host's own. It counts as the person's whose
// direct chat it is. It has an owner's authority, because an owner put it into the config.
func (in *Inbox) Turn(ctx context.Context, id chat.EventID, m domain.Message) (Outcome, error) {
	person, err := in.person(ctx, m.Channel, m.Chat)
	if err != nil {
		return Outcome{}, err
	}
	m.Sender.ID, m.Sender.Aliases = person.ID, person.Aliases
	m.Authority = chat.Owner
	m.SentAt = in.options.Now()
	if m.Origin == "" {
		m.Origin = domain.OriginPlugin
	}
	settings := in.options.Settings(m.Channel).Session
	a := &arrival{message: m, key: in.name(settings, m.Channel, m.Chat, m.Thread, m.Sender).Key()}
	if a.chosen, err = in.options.Store.Overrides(ctx, a.key); err != nil {
		return Outcome{}, fmt.Errorf("look up a session: %w", err)
	}
	if in.policy(a) == "deny" {
		m.Silent = true // nothing is sent there, whoever asked for it
	}
	inbound := domain.Inbound{EventID: id, Session: a.key, Lane: domain.TurnLane, Message: m, Queue: domain.Queueing{Mode: domain.Queue}}
	if m.Thread != "" {
		inbound.Parent = in.name(settings, m.Channel, m.Chat, "", m.Sender).Key()
	}
	return in.accept(ctx, inbound)
}

// Tell takes a text for a session, as if the caller had written it. The same id is taken once.
func (in *Inbox) Tell(ctx context.Context, id chat.EventID, session string, known domain.Session, caller chat.Caller, text string) (Outcome, error) {
	m := domain.Message{
		Channel: caller.Address.Channel, Chat: chat.Chat{ID: caller.Address.Chat, Kind: caller.Kind, Title: known.Title}, Thread: caller.Address.Thread,
		Sender: caller.Sender, Authority: caller.Authority, SentAt: in.options.Now(), Text: text,
	}
	return in.accept(ctx, domain.Inbound{EventID: id, Session: session, Lane: domain.TurnLane, Message: m, Queue: domain.Queueing{Mode: domain.Queue}})
}

// Repeat takes a message once more that was given up before Claude had read it, with others that go with it or alone. It begins
// no new conversation, as it may have done before. The same id is taken once.
func (in *Inbox) Repeat(ctx context.Context, id chat.EventID, session string, m domain.Message, together bool) (Outcome, error) {
	m.Fresh = false
	mode := domain.Queue
	if together {
		mode = domain.Collect
	}
	return in.accept(ctx, domain.Inbound{EventID: id, Session: session, Lane: domain.TurnLane, Message: m, Queue: domain.Queueing{Mode: mode}})
}

// Session returns the key of the session of a chat. A direct chat may be named by the id of its person.
func (in *Inbox) Session(ctx context.Context, channel string, c chat.Chat, thread chat.ThreadID) (string, error) {
	person, err := in.person(ctx, channel, c)
	if err != nil {
		return "", err
	}
	return in.name(in.options.Settings(channel).Session, channel, c, thread, person).Key(), nil
}

// person is whose direct chat it is. As long as nobody has written there, its id is taken to be the person's.
func (in *Inbox) person(ctx context.Context, channel string, c chat.Chat) (chat.Sender, error) {
	taken := chat.Sender{ID: chat.UserID(c.ID)}
	if c.Kind != chat.Direct {
		return taken, nil
	}
	found, err := in.options.Store.DirectChat(ctx, channel, string(c.ID))
	switch {
	case errors.Is(err, domain.ErrNotFound), err == nil && len(found.Person) == 0:
		return taken, nil
	case err != nil:
		return chat.Sender{}, fmt.Errorf("look up whose chat it is: %w", err)
	}
	return chat.Sender{ID: found.Person[0], Aliases: found.Person[1:]}, nil
}

// name names the session of a chat, by the first id that this had.
func (in *Inbox) name(s config.Session, channel string, c chat.Chat, thread chat.ThreadID, sender chat.Sender) session.Name {
	c.ID = in.options.Store.Origin(channel, c.ID)
	return session.Of(session.Scope(s.Scope), channel, c, thread, sender, session.Links(s.IdentityLinks))
}

package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxWaiting bounds a lane. More unanswered messages are a flood.
	maxWaiting = 1000
	// stopsWaiting and ownersWaiting are additional places for stop commands and for owners' messages, so that a flood
	// by others does not block them.
	stopsWaiting, ownersWaiting = 50, 100
)

// Store is what the inbox needs of package store.
type Store interface {
	Accept(ctx context.Context, in domain.Inbound) (domain.Acceptance, error)
	// PostReceipt posts the item that shows that a message waits, as long as it does.
	PostReceipt(ctx context.Context, session string, seq int64, receipt domain.OutboxItem) error
	// Linger has the messages of an author that wait for more wait until a new time.
	Linger(ctx context.Context, session, by string, until time.Time) error
	// Recent returns the sessions whose turns began last, since a time.
	Recent(ctx context.Context, since time.Time, limit int) ([]domain.Session, error)
	RecordPassive(ctx context.Context, o domain.Passive) (duplicate bool, err error)
	Overrides(ctx context.Context, session string) (domain.Overrides, error)
	// ChosenAgent returns the agent that people have chosen for a conversation; empty: none.
	ChosenAgent(ctx context.Context, conversation string) (string, error)
	Session(ctx context.Context, key string) (domain.Session, error)
	DirectChat(ctx context.Context, channel, id string) (domain.DirectChat, error)
	Find(ctx context.Context, channel string, in chat.ID, id chat.MessageID) (domain.Found, error)
	AgentMessageByToken(ctx context.Context, token string) (domain.AgentMessage, error)
	Amend(ctx context.Context, m domain.Message, model *string, unread int64) (domain.Standing, error)
	WithdrawMessage(ctx context.Context, channel string, in chat.ID, id chat.MessageID, unread int64, notice ...domain.OutboxItem) (domain.Standing, error)
	Post(ctx context.Context, key domain.Key, items ...domain.OutboxItem) (firstID int64, err error)
	Allowed(ctx context.Context, channel string, users ...chat.UserID) (bool, error)
	// Origin returns the first id of a chat that has moved; its own otherwise.
	Origin(channel string, id chat.ID) chat.ID
	Move(ctx context.Context, channel string, event chat.EventID, from, to chat.ID) (duplicate bool, err error)
	RequestPairing(ctx context.Context, p domain.Pairing, limit int, olderThan time.Time, prompt domain.OutboxItem) (bool, error)
}

// Claude is what the inbox needs of the claude processes: claude.Pool.
type Claude interface {
	// Withdraw removes a message that was steered into the running turn of a claude session, by its id for claude. False: it was
	// read, or may have been.
	Withdraw(ctx context.Context, claudeSession, message string) bool
	// Retire notes that a reset has ended a claude session.
	Retire(claudeSession string)
}

// Intake puts messages into the lanes of their sessions: those that the [Inbox] has let in, and turns that the host, plugins
// and programs begin.
type Intake struct {
	store         Store
	claude        Claude
	conversations *conversation.Resolver
	now           func() time.Time
	log           hclog.Logger
}

// NewIntake returns an intake.
func NewIntake(
	s Store, claude Claude, conversations *conversation.Resolver, now func() time.Time, log hclog.Logger,
) *Intake {
	return &Intake{store: s, claude: claude, conversations: conversations, now: now, log: log}
}

// denies reports whether the messages of a session, which has chosen own settings, are not answered.
func (in *Intake) denies(chosen domain.Overrides, session string, m domain.Message) bool {
	return in.conversations.SendPolicy(chosen.Send, session, m.Address(), m.Chat.Kind) == "deny"
}

// put accepts a message into its lane.
func (in *Intake) put(ctx context.Context, inbound domain.Inbound) (Outcome, error) {
	inbound.MaxWaiting = maxWaiting
	switch {
	case inbound.Message.Authority == chat.Owner:
		inbound.MaxWaiting += ownersWaiting
	case inbound.Urgent:
		inbound.MaxWaiting += stopsWaiting
	}
	accepted, err := in.store.Accept(ctx, inbound)
	switch {
	case errors.Is(err, domain.ErrLaneFull):
		in.log.Warn("a session has too many waiting messages; further ones are refused", "session", inbound.Session,
			"waiting", inbound.MaxWaiting)
		return rejected("too many messages wait in this chat"), nil
	case err != nil:
		return Outcome{}, fmt.Errorf("accept an event: %w", err)
	case accepted.Duplicate:
		return Outcome{Verdict: chat.Duplicate, Session: inbound.Session}, nil
	}
	if accepted.Replaced != "" {
		in.claude.Retire(accepted.Replaced)
	}
	return Outcome{
		Verdict: chat.Accepted, Session: inbound.Session, Waiting: accepted.Waiting, Number: accepted.Seq,
		running: accepted.Running, behind: accepted.Behind,
	}, nil
}

// Turn accepts a prompt for an agent that does not come from the chat: a plugin's, or the host's own. Without an agent it is for the
// one that answers in the chat. It runs as the person whose direct chat it is, with an owner's authority, because an owner put it into
// the config. A message that has an authority already, because its text is not trusted, runs with that, and as nobody.
func (in *Intake) Turn(ctx context.Context, id domain.Key, agent string, m domain.Message) (Outcome, error) {
	person, err := in.person(ctx, m.Channel, m.Chat)
	if err != nil {
		return Outcome{}, err
	}
	m.SentAt = in.now()
	if m.Origin == "" {
		m.Origin = domain.OriginPlugin
	}
	name, err := in.name(ctx, agent, m.Address(), m.Chat, person)
	if err != nil {
		return Outcome{}, err
	}
	if m.Authority == 0 {
		m.Authority, m.Sender.ID, m.Sender.Aliases = chat.Owner, person.ID, person.Aliases
	}
	key, expires := name.Key(), domain.Expiry{}
	if m.Apart {
		if key = session.HeartbeatOf(key); m.Conversation != "" {
			key = session.PluginsOf(key, m.Conversation)
		}
		zone := time.Local
		if a := in.conversations.Agent(name.Agent()); a != nil { // a reload may have removed it
			zone = a.Timezone
		}
		expires = expiry(in.conversations.Settings(m.Channel).Session, name.Type(), m.SentAt, zone)
	}
	chosen, err := in.store.Overrides(ctx, key)
	if err != nil {
		return Outcome{}, fmt.Errorf("look up a session: %w", err)
	}
	m.Silent = m.Silent || in.denies(chosen, key, m) // nothing is sent there, whoever asked for it
	inbound := domain.Inbound{
		EventID: id.EventID(), Session: key, Lane: domain.TurnLane, Message: m,
		Queue: domain.Queueing{Mode: domain.Queue}, Expiry: expires,
	}
	if m.Thread != "" {
		inbound.Parent = in.parent(name, m, person)
	}
	return in.put(ctx, inbound)
}

// FromAgent accepts what the agent does to a session from another one: a prompt, or, with an origin, a compaction. A reset begins
// a new conversation instead. It is done as in [Intake.Turn], once for an id. False: the session has no chat of its own.
func (in *Intake) FromAgent(ctx context.Context, id domain.Key, s domain.Session, m domain.Message, reset bool) (ok bool, err error) {
	m.Channel, m.Chat, m.Thread = s.Route.Channel, chat.Chat{ID: s.Route.Chat, Kind: s.Kind, Title: s.Title}, s.Route.Thread
	agent := session.AgentOf(s.Key)
	key, err := in.Session(ctx, agent, m.Address(), m.Chat)
	if err != nil || key != s.Key || m.Chat.ID == "" {
		return false, err
	}
	if !reset {
		outcome, err := in.Turn(ctx, id, agent, m)
		return outcome.Verdict != chat.Rejected, err
	}
	m.Authority, m.SentAt, m.Origin = chat.Owner, in.now(), domain.OriginPlugin
	m.Text, m.Command = "/new", &domain.Command{Name: "new"}
	outcome, err := in.put(ctx, domain.Inbound{EventID: id.EventID(), Session: key, Lane: domain.ControlLane, Message: m, Reset: true})
	return outcome.Verdict != chat.Rejected, err
}

// Tell accepts a text for a session, as if the caller had written it; for the heartbeat's own in that of the person. The same id is
// accepted once.
func (in *Intake) Tell(ctx context.Context, id domain.Key, key string, caller chat.Caller, text string) error {
	key = session.PeoplesOf(key)
	known, err := in.store.Session(ctx, key)
	if err != nil {
		return fmt.Errorf("look up a session: %w", err)
	}
	m := domain.Message{
		Channel: caller.Address.Channel, Chat: chat.Chat{ID: caller.Address.Chat, Kind: caller.Kind, Title: known.Title},
		Thread: caller.Address.Thread,
		Sender: caller.Sender, Authority: caller.Authority, SentAt: in.now(), Text: text,
	}
	_, err = in.put(ctx, domain.Inbound{
		EventID: id.EventID(), Session: key, Lane: domain.TurnLane, Message: m,
		Queue: domain.Queueing{Mode: domain.Queue},
	})
	return err
}

// OfJob accepts what a job has to tell for the session that started it, as if the job's person had written it. The same id is accepted
// once. The error may pass. False: there is no such session any more.
func (in *Intake) OfJob(ctx context.Context, id domain.Key, key string, caller chat.Caller, text string) (bool, error) {
	key = session.PeoplesOf(key)
	known, err := in.store.Session(ctx, key)
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look up a session: %w", err)
	}
	m := domain.Message{
		Channel: caller.Address.Channel, Chat: chat.Chat{ID: caller.Address.Chat, Kind: caller.Kind, Title: known.Title},
		Thread: caller.Address.Thread, Sender: caller.Sender, Authority: caller.Authority, SentAt: in.now(),
		Text: text, Origin: domain.OriginJob,
	}
	chosen, err := in.store.Overrides(ctx, key)
	if err != nil {
		return false, fmt.Errorf("look up a session: %w", err)
	}
	m.Silent = in.denies(chosen, key, m)
	outcome, err := in.put(ctx, domain.Inbound{
		EventID: id.EventID(), Session: key, Lane: domain.TurnLane, Message: m, Queue: domain.Queueing{Mode: domain.Queue},
	})
	if err == nil && outcome.Verdict == chat.Rejected {
		err = domain.ErrLaneFull
	}
	return true, err
}

// Repeat accepts messages again that were given up before Claude had read them, to be answered together. They start no
// new conversation, because they may have done so before. The same id is accepted once.
func (in *Intake) Repeat(ctx context.Context, id domain.Key, session string, messages []domain.Message) error {
	mode := domain.Queue
	if len(messages) > 1 {
		mode = domain.Collect
	}
	for i, m := range messages {
		m.Fresh = false
		inbound := domain.Inbound{
			EventID: id.For(i).EventID(), Session: session, Lane: domain.TurnLane, Message: m,
			Queue: domain.Queueing{Mode: mode},
		}
		if _, err := in.put(ctx, inbound); err != nil {
			return err
		}
	}
	return nil
}

// Session returns the key of the session of a chat with an agent, or, without one, with the agent that answers there. A direct chat
// may be named by the id of its person.
func (in *Intake) Session(ctx context.Context, agent string, to chat.Address, c chat.Chat) (string, error) {
	person, err := in.person(ctx, to.Channel, c)
	if err != nil {
		return "", err
	}
	name, err := in.name(ctx, agent, to, c, person)
	return name.Key(), err
}

// person is the person of a direct chat. Before the first message, the chat's id is taken for the person's.
func (in *Intake) person(ctx context.Context, channel string, c chat.Chat) (chat.Sender, error) {
	taken := chat.Sender{ID: chat.UserID(c.ID)}
	if c.Kind != chat.Direct {
		return taken, nil
	}
	found, err := in.store.DirectChat(ctx, channel, string(c.ID))
	switch {
	case errors.Is(err, domain.ErrNotFound), err == nil && len(found.Person) == 0:
		return taken, nil
	case err != nil:
		return chat.Sender{}, fmt.Errorf("look up whose chat it is: %w", err)
	}
	return chat.Sender{ID: found.Person[0], Aliases: found.Person[1:]}, nil
}

// name returns the name of the session in which someone writes to an agent, or, without one, to the agent that answers there.
func (in *Intake) name(ctx context.Context, agent string, to chat.Address, c chat.Chat, sender chat.Sender) (session.Name, error) {
	base := in.base(to, c, sender)
	if agent == "" && in.conversations.Several() {
		var err error
		if agent, err = in.store.ChosenAgent(ctx, base.Key()); err != nil {
			return base, fmt.Errorf("look up the agent of a conversation: %w", err)
		}
		if agent == "" || in.conversations.Agent(agent) == nil {
			agent = in.conversations.Routed(to, c.Kind, sender)
		}
	}
	if agent == "" {
		return base, nil
	}
	return base.With(agent), nil
}

// base returns the name of a conversation with the main agent, by the chat's first id.
func (in *Intake) base(to chat.Address, c chat.Chat, sender chat.Sender) session.Name {
	c.ID = in.store.Origin(to.Channel, c.ID)
	settings := in.conversations.Settings(to.Channel).Session
	return session.Of(session.Scope(settings.Scope), to.Channel, c, to.Thread, sender, session.Links(settings.IdentityLinks))
}

// parent returns the key of the session of the chat that the thread of a message belongs to, with the same agent, for a person of
// the chat.
func (in *Intake) parent(name session.Name, m domain.Message, person chat.Sender) string {
	to := m.Address()
	to.Thread = ""
	return in.base(to, m.Chat, person).With(name.Agent()).Key()
}

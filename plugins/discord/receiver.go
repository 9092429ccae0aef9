package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// receiver submits the gateway's events to the host. It is used by one goroutine, except for acknowledging interactions.
type receiver struct {
	rest    *rest
	in      sdk.Inbox
	state   sdk.State
	log     *slog.Logger
	pace    pace
	places  places
	cursors cursors
	claims  claims

	self    string          // the bot's id; empty: not known yet
	name    string          // the bot's
	owed    []string        // channels to catch up on
	awaited map[string]bool // servers that Discord has not described yet
	recall  bool            // whether to handle stored interactions now
	again   bool            // and once more, when idle
	first   int             // the number of the session's first connection; zero: of a previous process
}

func newReceiver(r *rest, env sdk.Env, in sdk.Inbox, p pace) *receiver {
	return &receiver{
		rest: r, in: in, state: env.State, log: env.Log, pace: p,
		places:  newPlaces(r),
		cursors: newCursors(env.State),
		claims:  claims{byID: map[string]*claim{}},
		recall:  true,
	}
}

// begin is called once, before the first event.
func (r *receiver) begin(ctx context.Context, self discordgo.User) error {
	if err := r.cursors.load(ctx); err != nil {
		return fmt.Errorf("read the host's position: %w", err)
	}
	r.self, r.name = self.ID, self.Username
	return nil
}

func (r *receiver) inbound() inbound { return inbound{r.self, &r.places} }

// handle returns nil once the host has the event, or if it means nothing to the host. An event that cannot be decoded is
// skipped: it would fail again.
func (r *receiver) handle(ctx context.Context, session string, e *discordgo.Event) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	err := r.dispatch(ctx, session, e)
	if unreadable, ok := errors.AsType[*unreadableError](err); ok {
		r.log.Error("skipping an event that cannot be read", "event", e.Type, "error", unreadable)
		return nil
	}
	return err
}

// unreadableError is the error of an event that violates Discord's documentation.
type unreadableError struct{ err error }

// Error implements error.
func (e *unreadableError) Error() string { return e.err.Error() }

// read decodes an event for f.
func read[T any](e *discordgo.Event, f func(*T) error) error {
	var data T
	if err := decode(e, &data); err != nil {
		return &unreadableError{err}
	}
	return f(&data)
}

func (r *receiver) dispatch(ctx context.Context, session string, e *discordgo.Event) error {
	switch e.Type {
	case "GUILD_CREATE":
		return read(e, func(g *guild) error { return r.meetGuild(ctx, g) })
	case "GUILD_DELETE":
		return read(e, func(g *guild) error { return r.leaveGuild(ctx, g) })
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		return read(e, func(of *struct {
			GuildID string `json:"guild_id"`
		},
		) error {
			r.places.forgetRoles(of.GuildID)
			return nil
		})
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		return read(e, func(c *discordgo.Channel) error {
			r.places.learn(c, "")
			return nil
		})
	case "CHANNEL_DELETE", "THREAD_DELETE":
		return read(e, func(c *discordgo.Channel) error {
			r.places.forget(c.ID)
			return r.cursors.drop(ctx, c.ID)
		})
	case "MESSAGE_CREATE":
		return read(e, func(m *discordgo.Message) error { return r.message(ctx, m) })
	case "MESSAGE_UPDATE":
		return read(e, func(m *discordgo.Message) error { return r.edit(ctx, m) })
	case "MESSAGE_DELETE":
		return read(e, func(d *deletion) error { return r.deletion(ctx, d, d.ID) })
	case "MESSAGE_DELETE_BULK":
		return read(e, func(d *deletion) error { return r.deletion(ctx, d, d.IDs...) })
	case "MESSAGE_REACTION_ADD":
		return read(e, func(a *discordgo.MessageReactionAdd) error {
			return r.reaction(ctx, gatewayEvent(session, e.Sequence), a.MessageReaction, a.Member, emojiOf(a.Emoji))
		})
	case "MESSAGE_REACTION_REMOVE":
		return read(e, func(a *discordgo.MessageReactionRemove) error {
			return r.reaction(ctx, gatewayEvent(session, e.Sequence), a.MessageReaction, nil, "")
		})
	case "TYPING_START":
		return read(e, func(t *typingStart) error { return r.typing(ctx, t) })
	case "INTERACTION_CREATE":
		return read(e, func(i *interaction) error {
			_, err := r.interaction(ctx, *i)
			return err
		})
	default:
		return nil
	}
}

// message submits a message and records that the host has it. The bot's own messages are skipped.
func (r *receiver) message(ctx context.Context, m *discordgo.Message) error {
	id := parseID(m.ID)
	if id == 0 || parseID(m.ChannelID) == 0 || m.Author == nil {
		return &unreadableError{errors.New("a message without id, channel or author")}
	}
	if m.Author.ID == r.self {
		return nil
	}
	event := chat.Event{ID: messageEvent(m.ID), Sender: r.inbound().author(m), At: m.Timestamp}
	if err := r.places.locate(ctx, &event, m.ChannelID, m.GuildID); err != nil {
		return err
	}
	body, says, err := r.inbound().message(ctx, m)
	if err != nil || !says {
		return err
	}
	if err := r.cursors.meet(ctx, m.ChannelID, m.GuildID, id); err != nil {
		return err
	}
	if event.Thread != "" && r.cursors.first(m.ChannelID, id) {
		if body.ThreadStarter, err = r.places.starter(ctx, r.inbound(), m.ChannelID, m.ID); err != nil {
			return err
		}
	}
	event.Body = body
	if _, err := r.submit(ctx, event); err != nil {
		return err
	}
	r.cursors.passed(m.ChannelID, id)
	return nil
}

// submit submits an event.
func (r *receiver) submit(ctx context.Context, event chat.Event) (chat.Verdict, error) {
	verdict, err := r.in.Submit(ctx, event)
	if err != nil {
		return 0, fmt.Errorf("submit: %w", err)
	}
	r.log.Debug("event submitted", "event", event.ID, "verdict", verdict)
	return verdict, nil
}

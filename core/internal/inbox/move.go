package inbox

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// move notes that a chat goes on under another id: its session, settings and history go on with it. The network's word is taken
// for it, in groups that are let in.
func (in *Inbox) move(ctx context.Context, channel string, e chat.Event, body chat.Migrated) (Outcome, error) {
	if body.To == "" || len(body.To) > wire.MaxID || len(e.Chat.ID) > wire.MaxID || body.To == in.options.Store.Origin(channel, e.Chat.ID) {
		return rejected("the chat cannot go on under that id"), nil
	}
	e.Sender = chat.Sender{} // It does not matter who has done it, or that an admin may be anonymous.
	decision, err := in.decide(ctx, channel, e, "")
	switch {
	case err != nil:
		return Outcome{}, err
	case decision.Action != access.Let:
		return rejected(decision.Reason), nil
	}
	duplicate, err := in.options.Store.Move(ctx, channel, e.ID, e.Chat.ID, body.To)
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("move a chat: %w", err)
	case duplicate:
		return Outcome{Verdict: chat.Duplicate}, nil
	}
	in.log.Info("a chat goes on under another id; its session stays", "channel", channel, "from", e.Chat.ID, "to", body.To)
	return Outcome{Verdict: chat.Accepted}, nil
}

// Group returns the settings of a group; false: the config does not list it. One that has moved is listed under the id that it has,
// else under its first one.
func (in *Inbox) Group(channel string, id chat.ID) (config.Group, bool) {
	g, ok := in.options.Settings(channel).Access.Group[string(in.listed(channel, id))]
	return g, ok
}

// listed returns the id under which the config lists a chat, if it does.
func (in *Inbox) listed(channel string, id chat.ID) chat.ID {
	if _, ok := in.options.Settings(channel).Access.Group[string(id)]; ok {
		return id
	}
	return in.options.Store.Origin(channel, id)
}

package inbox

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// move records that a chat continues under another id, with its session, settings and history. The host trusts the
// network on that, in groups that are permitted.
func (in *Inbox) move(ctx context.Context, channel string, e chat.Event, body chat.Migrated) (Outcome, error) {
	if body.To == "" || body.To == in.store.Origin(channel, e.Chat.ID) {
		return rejected("the chat cannot go on under that id"), nil
	}
	e.Sender = chat.Sender{} // It does not matter who did it, and an admin may be anonymous.
	decision, err := in.decide(ctx, channel, e, "")
	switch {
	case err != nil:
		return Outcome{}, err
	case decision.Action != access.Let:
		return rejected(decision.Reason), nil
	}
	duplicate, err := in.store.Move(ctx, channel, e.ID, e.Chat.ID, body.To)
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("move a chat: %w", err)
	case duplicate:
		return Outcome{Verdict: chat.Duplicate}, nil
	}
	in.log.Info("a chat continues under another id and keeps its session", "channel", channel, "from", e.Chat.ID, "to", body.To)
	return Outcome{Verdict: chat.Accepted}, nil
}

// listed returns the id under which the config lists a chat, if any.
func (in *Inbox) listed(channel string, id chat.ID) chat.ID {
	return conversation.Listed(in.conversations.Settings(channel).Access, channel, id, in.store)
}

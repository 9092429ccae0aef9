package inbox

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// change heeds that a message was edited or deleted while it waits; one that is being answered, or was, is left as it is. The
// network's word is taken for it that only who may does so.
func (in *Inbox) change(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	var standing store.Standing
	var err error
	switch body := e.Body.(type) {
	case chat.Edited:
		if len(body.ID) > wire.MaxID {
			return rejected("the message's id is too long"), nil
		}
		decision, failed := in.decide(ctx, channel, e, "")
		if failed != nil {
			return Outcome{}, failed
		}
		if decision.Action != access.Let {
			return rejected(decision.Reason), nil
		}
		written := wire.Cut(body.Text, wire.MaxText)
		text := readable(written, body.Mentions)
		if text == "" {
			return rejected("there is nothing to read in it"), nil
		}
		raw := ""
		if text != written {
			raw = written
		}
		standing, err = in.options.Store.Amend(ctx, channel, e.Chat.ID, body.ID, text, raw)
	case chat.Deleted:
		if len(body.ID) > wire.MaxID {
			return rejected("the message's id is too long"), nil
		}
		standing, err = in.options.Store.WithdrawMessage(ctx, channel, e.Chat.ID, body.ID)
	}
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("change a message that waits: %w", err)
	case standing != store.StandingWaiting:
		return rejected("the message does not wait"), nil
	}
	return Outcome{Verdict: chat.Accepted}, nil
}

// decide asks the rules.
func (in *Inbox) decide(ctx context.Context, channel string, e chat.Event, activation string) (access.Decision, error) {
	rules := rules(in.options.Settings(channel).Access)
	rules.Activation = activation
	decision, err := rules.Decide(channel, e, func(s chat.Sender) (bool, error) {
		return in.options.Store.Allowed(ctx, channel, append([]chat.UserID{s.ID}, s.Aliases...)...)
	})
	if err != nil {
		return decision, fmt.Errorf("decide on access: %w", err)
	}
	return decision, nil
}

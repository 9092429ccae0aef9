package core

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/outbox"
	"github.com/clawhost/clawhost/sdk/chat"
)

// submitting takes events in for the plugins.
type submitting struct {
	*inbox.Inbox
	host *Host
}

// Submit takes an event in.
func (s submitting) Submit(ctx context.Context, channel string, e chat.Event) (inbox.Outcome, error) {
	outcome, err := s.Inbox.Submit(ctx, channel, e)
	crashpoint.Pass("accepted") // the event is durable, the plugin does not know it yet
	if outcome.Stranger {
		owners{s.host}.StrangerAsks(channel)
	}
	return outcome, err
}

// await returns a channel's live sender.
func (h *Host) await(ctx context.Context, channel string) (outbox.Sender, error) {
	live, err := h.supervisor.Await(ctx, channel)
	if err != nil {
		return nil, err
	}
	return live, nil
}

// addedBy asks the hooks what they add to a turn.
func addedBy(hooks *hook.Chain) func(context.Context, string, chat.Caller, string) ([]string, error) {
	return func(ctx context.Context, turnID string, caller chat.Caller, prompt string) ([]string, error) {
		return hooks.BeforeAgentStart(ctx, hook.Start{TurnID: turnID, Caller: caller, Prompt: prompt})
	}
}

package core

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/outbox"
	"github.com/clawhost/clawhost/core/internal/supervisor"
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
	s.host.points.pass("accepted") // the event is durable, the plugin does not know it yet
	if outcome.Stranger {
		owners{s.host}.StrangerAsks(channel)
	}
	return outcome, err
}

// sending sends for the outbox.
type sending struct {
	*supervisor.Live
	points *points
}

// Send sends a message.
func (s sending) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	receipt, err := s.Live.Send(ctx, out)
	s.points.pass("sent") // the network may have the message, the store does not know it yet
	return receipt, err
}

// Edit changes a message.
func (s sending) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	err := s.Live.Edit(ctx, to, id, text, buttons)
	s.points.pass("edited") // as above
	return err
}

// await returns a channel's live sender.
func (h *Host) await(ctx context.Context, channel string) (outbox.Sender, error) {
	live, err := h.supervisor.Await(ctx, channel)
	if err != nil {
		return nil, err
	}
	return sending{live, h.points}, nil
}

// addedBy asks the hooks what they add to a turn.
func addedBy(hooks *hook.Chain) func(context.Context, string, chat.Caller, string) ([]string, error) {
	return func(ctx context.Context, turnID string, caller chat.Caller, prompt string) ([]string, error) {
		return hooks.BeforeAgentStart(ctx, hook.Start{TurnID: turnID, Caller: caller, Prompt: prompt})
	}
}

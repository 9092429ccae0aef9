package core

import (
	"context"
	"time"

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

// turnsOf asks the host's dispatcher at each use.
type turnsOf struct{ host *Host }

// Stop ends a session's turn.
func (t turnsOf) Stop(ctx context.Context, session string, before time.Time) (bool, error) {
	return t.host.dispatcher.Stop(ctx, session, before)
}

// Running tells since when a session's turn runs.
func (t turnsOf) Running(session string) (time.Time, bool) { return t.host.dispatcher.Running(session) }

// Pause notes that a run waits for people. False: too many do.
func (t turnsOf) Pause(run int64) bool { return t.host.dispatcher.Pause(run) }

// Resume waits until a run may go on that waited for people.
func (t turnsOf) Resume(ctx context.Context, run int64) { t.host.dispatcher.Resume(ctx, run) }

// Nudge tells a session's running turn that messages wait.
func (t turnsOf) Nudge(session string) { t.host.dispatcher.Nudge(session) }

// Withdraw takes back a message that a claude session's running turn was told.
func (t turnsOf) Withdraw(ctx context.Context, claudeSession, message string) bool {
	return t.host.claude.Withdraw(ctx, claudeSession, message)
}

// End ends a run that has lost its lane.
func (t turnsOf) End(run int64) { t.host.dispatcher.End(run) }

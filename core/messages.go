package core

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/outbox"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

// submitting takes events in for the plugins.
type submitting struct {
	*inbox.Inbox
	points *points
}

// Submit takes an event in.
func (s submitting) Submit(ctx context.Context, channel string, e chat.Event) (inbox.Outcome, error) {
	outcome, err := s.Inbox.Submit(ctx, channel, e)
	s.points.pass("accepted") // the event is durable, the plugin does not know it yet
	return outcome, err
}

// run has Claude do a turn.
func (h *Host) run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	if t.Profile == (agent.Profile{}) {
		t.Profile = h.profile()
	}
	result, err := h.claude.Run(ctx, t)
	h.points.pass("result") // Claude has answered, the answer is not durable yet
	return result, err
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

// await returns a channel's live sender.
func (h *Host) await(ctx context.Context, channel string) (outbox.Sender, error) {
	live, err := h.supervisor.Await(ctx, channel)
	if err != nil {
		return nil, err
	}
	return sending{live, h.points}, nil
}

// fallbackLimit cuts text for a channel that has not told its limits yet: the least of the common networks'.
var fallbackLimit = chat.TextLimit{Max: 2000, Unit: chat.UTF16}

// prompt is what Claude reads of a run's message.
func (h *Host) prompt(run *store.Run, added []string) string {
	m := run.Message.Message
	var late time.Duration
	limit := h.config.For(m.Channel).Inbound.MaxAge
	if age := time.Since(m.SentAt); limit > 0 && age > limit {
		late = age
	}
	return envelope.Prompt(envelope.Message{
		Channel: m.Channel, Chat: m.Chat, Sender: m.Sender, SentAt: m.SentAt, Previous: run.PreviousAt, Text: m.Text,
		Unread: m.Media, Forwarded: m.Forwarded, ReplyTo: m.ReplyTo, Late: late, Context: added,
	}, h.config.Agent.Timezone)
}

// limit is how much text fits into one message of a chat.
func (h *Host) limit(channel string, kind chat.Kind) chat.TextLimit {
	limits, ok := h.supervisor.Limits(channel, kind)
	if !ok {
		return fallbackLimit
	}
	return limits.Text
}

// reply makes pieces of an answer: none when it is silent, a word when it is empty.
func (h *Host) reply(run *store.Run, text string) []store.Piece {
	m := run.Message.Message
	settings := h.config.For(m.Channel).Reply
	answer := reply.Normalise(text)
	switch {
	case answer.Silent:
		return nil
	case answer.Text == "" && m.Chat.Kind != chat.Direct:
		return nil
	case answer.Text == "":
		answer.Text = reply.Empty
	}
	return pieces(m.Address(), reply.Pieces(answer.Text, settings.Prefix, h.limit(m.Channel, m.Chat.Kind), settings.TextLimit))
}

// posted makes pieces of a text that is no answer.
func (h *Host) posted(to chat.Address, text string) []store.Piece {
	return pieces(to, reply.Pieces(text, "", h.limit(to.Channel, chat.Direct), 0))
}

func pieces(to chat.Address, texts []string) []store.Piece {
	list := make([]store.Piece, len(texts))
	for i, text := range texts {
		list[i] = store.Piece{To: to, Text: text}
	}
	return list
}

// trouble is what the user is told of a turn that failed.
func (h *Host) trouble(f *agent.Failure) string {
	return reply.Trouble(f.Class, f.ResetsAt, h.config.Agent.Timezone)
}

// typing shows that an answer is being written, where the channel can and the config wants it.
func (h *Host) typing(ctx context.Context, run *store.Run) (stop func()) {
	m := run.Message.Message
	settings := h.config.For(m.Channel).Reply
	limits, _ := h.supervisor.Limits(m.Channel, m.Chat.Kind)
	if settings.Typing == "never" || limits.TypingTTL == 0 || m.Silent {
		return func() {}
	}
	return turn.ShowTyping(ctx, min(settings.TypingInterval, limits.TypingTTL), func(ctx context.Context, active bool) error {
		live, ok := h.supervisor.Get(m.Channel)
		if !ok {
			return nil
		}
		return live.Typing(ctx, m.Address(), active)
	})
}

// runCommand answers a run's slash command.
func runCommand(r *command.Registry) func(context.Context, *store.Run) (string, error) {
	return func(ctx context.Context, run *store.Run) (string, error) {
		c := run.Message.Message.Command
		return r.Run(ctx, command.Call{Name: c.Name, Args: c.Args, Caller: turn.Caller(run), Session: run.Session, At: run.Message.ReceivedAt})
	}
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

// waiting counts the messages that wait for a session's turn.
func (h *Host) waiting(ctx context.Context, session string) (int, error) {
	lanes, err := h.store.Lanes(ctx)
	if err != nil {
		return 0, err
	}
	for _, lane := range lanes {
		if lane.Session == session && lane.Lane == store.TurnLane {
			return lane.Waiting, nil
		}
	}
	return 0, nil
}

// welcome is what somebody who was let in is told.
func welcome(p store.Pairing) store.Piece {
	return store.Piece{
		To:   chat.Address{Channel: p.Channel, Chat: p.Chat},
		Text: fmt.Sprintf("Welcome, %s. You may write to me now; /help lists what else you can do.", p.Name),
	}
}

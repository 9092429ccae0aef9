package core

import (
	"context"
	"slices"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

// typing shows that an answer is being written, where the channel can and the config wants it; nil: it does not.
func (h *Host) typing(run *conversation.Turn) *turn.Shown {
	m := run.Message.Message
	settings, limits := run.Settings.Reply, run.Limits
	unasked := m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat
	if settings.Typing == "never" || limits.TypingTTL == 0 || m.Silent || unasked {
		return nil
	}
	return h.typist.Show(turn.Typing{
		To: m.Address(), Every: min(settings.TypingInterval, limits.TypingTTL), Words: settings.Typing == "message" || run.Listening,
		Signal: func(ctx context.Context, active bool) error { return h.signal(ctx, m.Address(), active) },
		Pending: func(ctx context.Context) bool {
			since, err := h.store.OldestUndelivered(ctx, m.Address())
			return err == nil && !since.IsZero()
		},
	})
}

// signal tells a chat that an answer is being written, or no longer.
func (h *Host) signal(ctx context.Context, to chat.Address, active bool) error {
	live, ok := h.supervisor.Get(to.Channel)
	if !ok {
		return nil
	}
	err := live.Typing(ctx, to, active)
	if !active {
		h.shows.redraw(to) // A turn that goes on in silence is still to be seen.
	}
	return err
}

// settled is told that an item has arrived in a chat, or never will.
func (h *Host) settled(to chat.Address) {
	h.typist.Delivered(to)
	h.shows.redraw(to)
}

// received tells who listens of a message that was taken, and its chat at once that it is heard where the config wants that.
func (h *Host) received(caller chat.Caller, m chat.Message, lane domain.Lane) {
	h.observers.Received(caller, withoutTokens(m))
	if lane != domain.TurnLane {
		return
	}
	settings := h.config.For(caller.Address.Channel).Reply
	if emoji := settings.AckReaction; m.ID != "" && emoji != "" && emoji != config.AckStatus {
		h.reactor.Acknowledge(caller.Address, m.ID, emoji)
	}
	limits := h.conversations.Limits(caller.Address.Channel, caller.Kind)
	if settings.Typing == "instant" && limits.TypingTTL > 0 {
		h.typist.Once(func(ctx context.Context) error { return h.signal(ctx, caller.Address, true) })
	}
}

// withoutTokens is a message as other plugins are told of it: what a channel fetches its files by is the channel's own.
func withoutTokens(m chat.Message) chat.Message {
	without := func(files []chat.Media) []chat.Media {
		files = slices.Clone(files)
		for i := range files {
			files[i].Token = ""
		}
		return files
	}
	m.Media = without(m.Media)
	if m.ReplyTo != nil && len(m.ReplyTo.Media) > 0 {
		quote := *m.ReplyTo
		quote.Media = without(quote.Media)
		m.ReplyTo = &quote
	}
	return m
}

package core

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

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
		h.chats.Typing(caller.Address)
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

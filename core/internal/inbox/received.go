package inbox

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Observers are told of messages that were taken. They must not block.
type Observers interface {
	Received(caller chat.Caller, m chat.Message)
}

// Reactions are put on messages.
type Reactions interface {
	// Acknowledge has a message show an emoji. It does not block.
	Acknowledge(to chat.Address, id chat.MessageID, emoji string)
}

// Chats are told what becomes of their messages.
type Chats interface {
	// Typing tells a chat that an answer is being written. It does not block.
	Typing(to chat.Address)
}

// received tells the observers of a message that was taken, if it is one, and its chat at once that it is heard where the config wants
// that. The lane is that in which it waits; none: it is only recorded.
func (in *Inbox) received(a *arrival, lane domain.Lane, outcome Outcome, err error) bool {
	m, ok := a.event.Body.(chat.Message)
	if !ok || err != nil || outcome.Verdict != chat.Accepted {
		return false
	}
	caller := a.caller()
	in.options.Observers.Received(caller, withoutTokens(m))
	if lane != domain.TurnLane {
		return true
	}
	if emoji := a.settings.Reply.AckReaction; m.ID != "" && emoji != "" && emoji != config.AckStatus {
		in.options.Reactions.Acknowledge(caller.Address, m.ID, emoji)
	}
	if a.settings.Reply.Typing == "instant" && in.conversations.Limits(caller.Address.Channel, caller.Kind).TypingTTL > 0 {
		in.options.Chats.Typing(caller.Address)
	}
	return true
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

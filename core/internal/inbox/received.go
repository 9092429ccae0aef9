package inbox

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Observers receive accepted messages. They must not block.
type Observers interface {
	Received(caller chat.Caller, m chat.Message)
}

// Reactions add emoji to messages.
type Reactions interface {
	// Acknowledge adds an emoji to a message. It does not block.
	Acknowledge(to chat.Address, id chat.MessageID, emoji string)
}

// Chats show the state of messages.
type Chats interface {
	// Typing signals that an answer is being written. It does not block.
	Typing(to chat.Address)
}

// received passes an accepted message to the observers, and acknowledges it in its chat if the config wants that. The
// lane is that in which it waits; none: it is only recorded.
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

// withoutTokens is a message as other plugins receive it: the tokens of its files are for the channel alone.
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

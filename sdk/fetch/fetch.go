// Package fetch says which files of a chat a channel fetches from its network for the host, and why the agent has not got the
// others. It is shared by channel plugins.
//
// Each file is asked about before it is fetched, those of the message that another one answers behind the message's own, and a
// [Rule] is told what became of the message. What is not fetched goes to the host all the same, with the reason as its
// Problem.
package fetch

import (
	"fmt"
	"math"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Quoted tells why the files of the message that m answers are not fetched; empty: they are, as far as there is [Room]. They are
// fetched for what is said to the agent alone, or each answer of a group to a picture would fetch that. The kind is that of the
// chat in which m was said.
func Quoted(kind chat.Kind, m chat.Message) (problem string) {
	isSelf := func(mention chat.Mention) bool { return mention.IsSelf }
	switch {
	case m.ReplyTo == nil:
		return ""
	case m.ReplyTo.IsSelf:
		return "was sent by you"
	case kind != chat.Direct && !m.MentionsSelf && !slices.ContainsFunc(m.Mentions, isSelf):
		return "is fetched only for a message that mentions you"
	default:
		return ""
	}
}

// Stored is how many bytes of a message's files the host has, of those of the message that it answers too.
func Stored(m chat.Message) (bytes int64) {
	files := m.Media
	if m.ReplyTo != nil {
		files = slices.Concat(files, m.ReplyTo.Media)
	}
	for _, file := range files {
		if file.Ref != "" {
			bytes += file.Size
		}
	}
	return bytes
}

// Limits are how many bytes of files are fetched at most.
type Limits struct {
	// Together is of one message with the one that it answers; zero: without limit.
	Together int64
	// Refused is of all messages of a chat that the host refuses, until it takes one: no stranger fills its disk.
	Refused int64
}

// maxRefused is how many chats are remembered of which the host refuses messages.
const maxRefused = 1000

// Rule remembers of which chats the host refuses messages, and how much was fetched for them. It must not be used by two
// goroutines at a time.
type Rule struct {
	limits Limits
	wasted map[chat.ID]int64 // bytes; zero: the host has taken one since
}

// NewRule makes the rule of one channel.
func NewRule(limits Limits) *Rule { return &Rule{limits: limits, wasted: map[chat.ID]int64{}} }

// Room is what may still be fetched for a message.
type Room struct {
	// Bytes is how large the next file may be; none is fetched if it is not positive.
	Bytes   int64
	problem string // of a larger one
}

// Room is what may still be fetched for a message of a chat, for which so many bytes are stored.
func (r *Rule) Room(in chat.ID, stored int64) Room {
	if wasted := r.wasted[in]; wasted > 0 {
		return Room{r.limits.Refused - wasted - stored, "was not fetched, for what came from this chat before was refused"}
	}
	if r.limits.Together == 0 {
		return Room{Bytes: math.MaxInt64}
	}
	return Room{
		r.limits.Together - stored,
		fmt.Sprintf("is one of several files with more than the %d MB that are fetched together", r.limits.Together>>20),
	}
}

// Problem tells why a file of so many bytes, as far as that is known, is not fetched; empty: it is.
func (r Room) Problem(size int64) string {
	if r.Bytes > 0 && size <= r.Bytes {
		return ""
	}
	return r.problem
}

// Note remembers what became of a message; of other events nothing. The first refused one of a chat is logged for the
// operator, who may want to allow the chat and finds its id there.
func (r *Rule) Note(log hclog.Logger, event chat.Event, verdict chat.Verdict) {
	message, ok := event.Body.(chat.Message)
	if !ok {
		return // The host may have no use for it in any chat.
	}
	wasted, known := r.wasted[event.Chat.ID]
	switch {
	case verdict == chat.Rejected:
		if !known {
			if len(r.wasted) >= maxRefused {
				clear(r.wasted)
			}
			log.Info("the host refused a message; the chat is perhaps not allowed", "event", event.ID, "chat", event.Chat.ID, "kind", event.Chat.Kind.String())
		}
		r.wasted[event.Chat.ID] = wasted + Stored(message)
	case verdict == chat.Accepted && known:
		r.wasted[event.Chat.ID] = 0
	}
}

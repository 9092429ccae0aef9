package main

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxRefused is how many refused chats are remembered.
	maxRefused = 1000
	// maxWasted is how many bytes of files are fetched for messages of a chat that the host refuses, until it takes one: no
	// stranger fills its disk.
	maxWasted = maxFile
	// maxTogether is how many bytes of files are fetched for one album.
	maxTogether = 2 * maxFile
)

// waste is how many bytes were fetched for messages that the host refused, by the chats that they came from.
type waste map[chat.ID]int64

// limit is the largest file that is fetched, in bytes, and what is wrong with a larger one, beside that it is too large for
// any chat.
type limit struct {
	bytes   int64
	problem string
}

// limit is that of a chat, of which the host may have refused something.
func (w waste) limit(id chat.ID) limit {
	if wasted := w[id]; wasted > 0 {
		return limit{maxWasted - wasted, "was not fetched, for what came from this chat before was refused"}
	}
	return limit{bytes: maxFile}
}

// limitWithin is that of an album, of which the host has something.
func (w waste) limitWithin(id chat.ID, stored int64) limit {
	alone := w.limit(id)
	if left := maxTogether - stored; left < alone.bytes {
		return limit{left, fmt.Sprintf("is of an album with more than the %d MB that are fetched together", maxTogether>>20)}
	}
	return alone
}

// note remembers what became of a message. The first refused one of a chat is for the operator, who may want to allow the
// chat and finds its id here.
func (w waste) note(log hclog.Logger, event chat.Event, verdict chat.Verdict) {
	message, ok := event.Body.(chat.Message)
	if !ok {
		return // The host may have no use for it in any chat.
	}
	wasted, known := w[event.Chat.ID]
	switch {
	case verdict == chat.Rejected:
		if !known && len(w) >= maxRefused {
			clear(w)
		}
		w[event.Chat.ID] = wasted + stored(message.Media)
		if !known {
			log.Info("the host refused a message; the chat is perhaps not allowed", "event", event.ID, "chat", event.Chat.ID, "kind", event.Chat.Kind.String())
		}
	case verdict == chat.Accepted && known:
		w[event.Chat.ID] = 0
	}
}

// stored is how many bytes of files the host has stored.
func stored(files []chat.Media) (bytes int64) {
	for _, m := range files {
		if m.Ref != "" {
			bytes += m.Size
		}
	}
	return bytes
}

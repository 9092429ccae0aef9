package view

import (
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

// known are the messages that the agent of a run has read, by their handles. The store is asked when the agent names one that
// the run does not have. It is safe for concurrent use.
type known struct {
	store Store
	run   *conversation.Run
	log   hclog.Logger

	mu    sync.Mutex
	found map[string]chat.MessageID // by name; empty: none, or several
}

// Message implements [answer.Messages].
func (k *known) Message(name string) chat.MessageID {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, ok := k.found[name]; ok {
		return id
	}
	all, err := k.store.MessageIDs(context.Background(), k.run.Session.Key) // A short query, which no caller needs to cancel.
	if err != nil {
		k.log.Warn("the messages that the agent may name are not known", "session", k.run.Session.Key, "error", err)
	}
	id, _ := envelope.Find(name, slices.Concat(k.ofRun(), all))
	if k.found == nil {
		k.found = map[string]chat.MessageID{}
	}
	k.found[name] = id
	return id
}

// ofRun returns the messages that the run was given.
func (k *known) ofRun() (ids []chat.MessageID) {
	for _, q := range k.run.All() {
		ids = append(ids, q.Message.ID)
		if q.Message.ReplyTo != nil {
			ids = append(ids, q.Message.ReplyTo.ID)
		}
	}
	for _, n := range k.run.Notes {
		ids = append(ids, n.MessageID)
	}
	return ids
}

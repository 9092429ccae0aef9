package notice

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/store"
)

const (
	// heldAfter is how long a message waits for a place before its chat gets a notice.
	heldAfter = 5 * time.Second
	// heldEvery is how often the host looks for such messages while there is no place.
	heldEvery = 2 * time.Second
	// heldMost is how many chats get a notice at a time.
	heldMost = 20
)

// Held notifies the chats whose next message waits because no place is free for its turn.
type Held struct {
	store         *store.Store
	turns         *dispatch.Dispatcher
	conversations *conversation.Resolver
	log           hclog.Logger
}

// NewHeld returns a notifier. Run starts it.
func NewHeld(s *store.Store, turns *dispatch.Dispatcher, conversations *conversation.Resolver, log hclog.Logger) *Held {
	return &Held{store: s, turns: turns, conversations: conversations, log: log}
}

// Run notifies them until ctx ends, once for each message.
func (h *Held) Run(ctx context.Context) {
	tick := time.NewTicker(heldEvery)
	defer tick.Stop()
	notified := map[bool]time.Time{} // when the messages were ready that have had their notice; of owners, and of others
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		owners, others := h.turns.Full()
		for owner, full := range map[bool]bool{true: owners, false: others} {
			if !full {
				continue
			}
			list, err := h.store.Held(ctx, owner, notified[owner], time.Now().Add(-heldAfter), heldMost)
			if err != nil {
				h.log.Warn("cannot look for messages that wait for a place", "error", err)
				continue
			}
			for _, held := range list {
				h.tell(ctx, held)
				notified[owner] = held.ReadyAt
			}
		}
	}
}

func (h *Held) tell(ctx context.Context, held domain.Held) {
	run := h.conversations.Run(&domain.Run{Session: held.Session, Head: domain.Queued{Message: held.Message}})
	if held.Message.Silent || held.Message.Origin != "" || run.Listening {
		return
	}
	if _, err := h.store.Post(ctx, domain.KeyWaitsForPlace.Of(held.Message.Channel, held.EventID),
		run.Notice(wording.WaitingForOthers)...); err != nil {
		h.log.Warn("cannot tell a chat that its message waits for a place", "session", held.Session.Key, "error", err)
	}
}

package core

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// statusReactions is the value of reply.ack_reaction that has a message show how far its answer is.
const statusReactions = "status"

// What a message shows of its answer, in emoji that the networks allow as reactions.
const (
	reactionQueued  = "👀"
	reactionRunning = "✍"
	reactionDone    = "👍"
	reactionFailed  = "💔"
)

const (
	// reactionCall bounds one reaction: it is a courtesy.
	reactionCall = 5 * time.Second
	// waitingReactions is how many may wait for a slow network. Further ones are dropped.
	waitingReactions = 256
)

// reaction is one that is to be put on a message.
type reaction struct {
	to    chat.Address
	id    chat.MessageID
	emoji string
}

// putReactions puts reactions on messages, in order. They are a courtesy: their failures are nobody's business.
func (h *Host) putReactions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-h.reactions:
			live, ok := h.supervisor.Get(r.to.Channel)
			if !ok {
				continue
			}
			call, cancel := context.WithTimeout(ctx, reactionCall)
			_ = live.React(call, r.to, r.id, r.emoji)
			cancel()
		}
	}
}

// react has a reaction put on a message.
func (h *Host) react(to chat.Address, id chat.MessageID, emoji string) {
	if id == "" || emoji == "" {
		return
	}
	select {
	case h.reactions <- reaction{to, id, emoji}:
	default:
	}
}

// acknowledge shows that a message was taken.
func (h *Host) acknowledge(to chat.Address, id chat.MessageID) {
	emoji := h.config.For(to.Channel).Reply.AckReaction
	if emoji == statusReactions {
		emoji = reactionQueued
	}
	h.react(to, id, emoji)
}

// reactTo shows how far a run is on its messages, where the config wants that.
func (h *Host) reactTo(run *store.Run, emoji string) {
	if h.config.For(run.Message.Message.Channel).Reply.AckReaction != statusReactions {
		return
	}
	for _, q := range append([]store.Queued{run.Message}, run.More...) {
		if q.Message.Origin == "" {
			h.react(q.Message.Address(), q.Message.ID, emoji)
		}
	}
}

// over is told how a turn has ended.
func (h *Host) over(ctx context.Context, run *store.Run, c store.Completion) {
	h.points.pass("completed") // The answer is durable, the files that go with it are where the agent put them.
	h.questions.End(ctx, run.Session.Key)
	if err := h.media.outgoing.Clear(ctx, c.Files); err != nil {
		h.log.Warn("sent files stay in their folder", "session", run.Session.Key, "error", err)
	}
	if c.State != store.RunDone {
		h.reactTo(run, reactionFailed)
		return
	}
	h.reactTo(run, reactionDone)
}

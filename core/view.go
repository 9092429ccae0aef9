package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

// view is what a run's chat sees of its turn while it goes on.
type view struct {
	typing *turn.Shown // nil: none
	tools  *tools.Turn
}

// view begins to show a run's chat what its turn does.
func (h *Host) view(ctx context.Context, run *store.Run) turn.View {
	h.reactTo(run, reactionRunning)
	return &view{typing: h.typing(ctx, run), tools: h.toolsOf(run)}
}

// Progress is told how far the turn is.
func (v *view) Progress(p agent.Progress) {
	if v.typing != nil {
		v.typing.Heard(p.Text != "")
	}
}

// Tools answers a message that claude sends to the host's tools.
func (v *view) Tools(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	return v.tools.Handle(ctx, message)
}

// End says that the turn is over.
func (v *view) End() turn.Sent {
	if v.typing != nil {
		v.typing.End()
	}
	return turn.Sent{Told: v.tools.Said}
}

// typing shows that an answer is being written, where the channel can and the config wants it; nil: it does not.
func (h *Host) typing(ctx context.Context, run *store.Run) *turn.Shown {
	m := run.Message.Message
	settings := h.config.For(m.Channel).Reply
	limits, _ := h.supervisor.Limits(m.Channel, m.Chat.Kind)
	unasked := m.Origin == store.OriginFlush || m.Origin == store.OriginHeartbeat
	if settings.Typing == "never" || limits.TypingTTL == 0 || m.Silent || unasked {
		return nil
	}
	// In a group where the agent hears all, it may have nothing to say.
	listens := m.Chat.Kind != chat.Direct && settings.Silent == "groups" && h.activation(m.Channel, m.Chat, run.Session) == "always"
	return h.typist.Show(ctx, turn.Typing{
		To: m.Address(), Every: min(settings.TypingInterval, limits.TypingTTL), Words: settings.Typing == "message" || listens,
		Signal: func(ctx context.Context, active bool) error { return h.signal(ctx, m.Address(), active) },
		Pending: func(ctx context.Context) bool {
			since, err := h.store.Behind(ctx, m.Address())
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
	return live.Typing(ctx, to, active)
}

// received tells who listens of a message that was taken, and its chat at once that it is heard where the config wants that.
func (h *Host) received(caller chat.Caller, m chat.Message, lane store.Lane) {
	h.observers.Received(caller, m)
	if lane != store.TurnLane {
		return
	}
	h.acknowledge(caller.Address, m.ID)
	limits, _ := h.supervisor.Limits(caller.Address.Channel, caller.Kind)
	if h.config.For(caller.Address.Channel).Reply.Typing == "instant" && limits.TypingTTL > 0 {
		h.typist.Once(func(ctx context.Context) error { return h.signal(ctx, caller.Address, true) })
	}
}

// lateAfter is how long what was sent early may be on its way before no more is sent early.
const lateAfter = 15 * time.Second

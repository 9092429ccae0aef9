package core

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// stageReactions are what a message shows of its answer, in emoji that the networks allow as reactions.
var stageReactions = map[domain.Stage]string{
	domain.StageWaiting: "👀",
	domain.StageRunning: "✍",
	domain.StageDone:    "👍",
	domain.StageFailed:  "💔",
	domain.StageDropped: "", // what it showed is taken back
}

const (
	// reactionCall bounds one reaction.
	reactionCall = 5 * time.Second
	// reactionPause is how long a channel is left alone whose network could not put one.
	reactionPause = 5 * time.Second
	// reactionPatience is how long one is tried: it is a courtesy.
	reactionPatience = 10 * time.Minute
	// reactionsAtOnce is how many are put in one channel before the others have their turn.
	reactionsAtOnce = 20
	// waitingReactions is how many acknowledgements may wait for a slow network. Further ones are dropped.
	waitingReactions = 256
)

// reaction is an emoji that is to be put on a message.
type reaction struct {
	to    chat.Address
	id    chat.MessageID
	emoji string
}

// stages is what the reactor needs of the store: the messages that do not show how far their answers are.
type stages interface {
	Reactions(ctx context.Context, channel string, limit int) ([]domain.Reaction, error)
	Reacted(ctx context.Context, r domain.Reaction) error
	ReactionsReady() <-chan struct{}
}

// errNoChannel is returned for a channel that does not run.
var errNoChannel = errors.New("the channel does not run")

// reactor puts reactions on messages. They are a courtesy: one that cannot be put is left out in the end, and of the stages
// of a message only the last one matters.
type reactor struct {
	stages   stages
	channels []string
	// react puts one; the error is errNoChannel while nobody can. Changed returns what is closed when that may be over.
	react   func(ctx context.Context, r reaction) error
	changed func() <-chan struct{}
	log     hclog.Logger

	taken chan reaction // acknowledgements, which change no more
}

// acknowledge has a message that was taken show an emoji. It does not block.
func (r *reactor) acknowledge(to chat.Address, id chat.MessageID, emoji string) {
	select {
	case r.taken <- reaction{to, id, emoji}:
	default:
	}
}

// run puts reactions until ctx ends. What it did not come to is put in the host's next life.
func (r *reactor) run(ctx context.Context) {
	rests := map[string]time.Time{} // until when a channel is left alone
	for ctx.Err() == nil {
		changed := r.changed()
		var next time.Time
		for _, channel := range r.channels {
			if at := rests[channel]; time.Now().Before(at) {
				next = earlier(next, at)
				continue
			}
			more, pause := r.show(ctx, channel)
			if pause > 0 {
				rests[channel] = time.Now().Add(pause)
				next = earlier(next, rests[channel])
			} else if more {
				next = time.Now()
			}
		}
		r.wait(ctx, changed, next)
	}
}

// earlier returns the earlier time; the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// wait returns when there may be something to put, and puts acknowledgements.
func (r *reactor) wait(ctx context.Context, changed <-chan struct{}, next time.Time) {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-r.stages.ReactionsReady():
	case <-changed:
	case <-due:
	case taken := <-r.taken:
		_ = r.put(ctx, taken) // it is nobody's business
	}
}

// show has messages of a channel show their stages: it returns whether there are more of them, and how long the channel is to
// be left alone.
func (r *reactor) show(ctx context.Context, channel string) (more bool, pause time.Duration) {
	list, err := r.stages.Reactions(ctx, channel, reactionsAtOnce)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Error("look for reactions", "channel", channel, "error", err)
		}
		return false, reactionPause
	}
	for _, stage := range list {
		err := r.put(ctx, reaction{stage.To, stage.Message, stageReactions[stage.Stage]})
		if errors.Is(err, errNoChannel) || ctx.Err() != nil {
			return false, 0
		}
		if wait, again := later(err); again && time.Since(stage.ChangedAt) < reactionPatience {
			r.log.Debug("a reaction was not put and is tried again", "channel", channel, "again_in", wait, "error", err)
			return false, wait
		}
		if err := r.stages.Reacted(ctx, stage); err != nil {
			r.log.Error("note a reaction", "channel", channel, "error", err)
			return false, reactionPause
		}
	}
	return len(list) == reactionsAtOnce, 0
}

func (r *reactor) put(ctx context.Context, what reaction) error {
	ctx, cancel := context.WithTimeout(ctx, reactionCall)
	defer cancel()
	return r.react(ctx, what)
}

// later tells whether a reaction that failed is to be tried again, and when.
func later(err error) (wait time.Duration, again bool) {
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return 0, false
	}
	if failure, ok := errors.AsType[*chat.Failure](err); ok {
		return max(failure.RetryAfter, reactionPause), failure.Reason.Retryable()
	}
	return reactionPause, true
}

// newReactor returns the host's reactor.
func (h *Host) newReactor() *reactor {
	return &reactor{
		stages: h.store, channels: h.pluginNames(), changed: h.supervisor.Changed, log: h.log.Named("reaction"),
		react: func(ctx context.Context, r reaction) error {
			live, ok := h.supervisor.Get(r.to.Channel)
			if !ok {
				return errNoChannel
			}
			return live.React(ctx, r.to, r.id, r.emoji)
		},
		taken: make(chan reaction, waitingReactions),
	}
}

// acknowledge shows that a message was taken, where that is all that it is to show.
func (h *Host) acknowledge(to chat.Address, id chat.MessageID) {
	emoji := h.config.For(to.Channel).Reply.AckReaction
	if id != "" && emoji != "" && emoji != config.AckStatus {
		h.reactor.acknowledge(to, id, emoji)
	}
}

// over is told how a turn has ended.
func (h *Host) over(ctx context.Context, run *conversation.Turn, c domain.Completion) {
	h.points.pass("completed") // The answer is durable, the files that go with it are where the agent put them.
	h.questions.End(ctx, run.Session.Key, run.ID, c.State == domain.RunCancelled)
	if err := h.media.outgoing.Clear(ctx, c.Files); err != nil {
		h.log.Warn("sent files stay in their folder", "session", run.Session.Key, "error", err)
	}
}

// Package reaction shows the progress of a message's answer by emoji, on networks with reactions.
package reaction

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// stageEmoji are the emoji for the stages, which the networks allow as reactions.
var stageEmoji = map[domain.Stage]string{
	domain.StageWaiting: "👀",
	domain.StageRunning: "✍",
	domain.StageDone:    "👍",
	domain.StageFailed:  "💔",
	domain.StageDropped: "", // removes the reaction
}

const (
	// callTime limits one reaction.
	callTime = 5 * time.Second
	// pause is the wait of a channel after its network failed to set one.
	pause = 5 * time.Second
	// patience limits the retries of a reaction: it is not essential.
	patience = 10 * time.Minute
	// atOnce is the number of reactions set in one channel before the next channel's turn.
	atOnce = 20
	// maxWaiting limits the acknowledgements that wait for a slow network. Further ones are dropped.
	maxWaiting = 256
)

// reaction is an emoji to set on a message.
type reaction struct {
	to    chat.Address
	id    chat.MessageID
	emoji string
}

// errNoChannel means that the message's channel does not run.
var errNoChannel = errors.New("the channel does not run")

// Reactor sets reactions on messages, best effort: one that repeatedly fails is dropped, and only the last stage of a
// message matters.
type Reactor struct {
	store   *store.Store
	plugins *plugins.Registry
	log     hclog.Logger

	taken chan reaction // acknowledgements, which are final
}

// New returns a reactor for the messages of all channels. Run starts it.
func New(s *store.Store, plugins *plugins.Registry, log hclog.Logger) *Reactor {
	return &Reactor{store: s, plugins: plugins, log: log, taken: make(chan reaction, maxWaiting)}
}

// Acknowledge sets an emoji on an accepted message. It does not block.
func (r *Reactor) Acknowledge(to chat.Address, id chat.MessageID, emoji string) {
	select {
	case r.taken <- reaction{to, id, emoji}:
	default:
	}
}

// Run sets reactions until ctx ends. The host's next process sets the remaining ones.
func (r *Reactor) Run(ctx context.Context) {
	rests := map[string]time.Time{} // end of a channel's pause
	for ctx.Err() == nil {
		changed := r.plugins.Changed()
		var next time.Time
		for _, channel := range r.plugins.Names() {
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

// earlier returns the earlier time; the zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// wait returns when there may be a reaction to set, and sets acknowledgements.
func (r *Reactor) wait(ctx context.Context, changed <-chan struct{}, next time.Time) {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-r.store.ReactionsReady():
	case <-changed:
	case <-due:
	case taken := <-r.taken:
		_ = r.put(ctx, taken) // best effort
	}
}

// show updates the reactions of a channel's messages: it returns whether there are more of them, and how long to pause the
// channel.
func (r *Reactor) show(ctx context.Context, channel string) (more bool, pause time.Duration) {
	if _, own := r.plugins.Own(channel); !own {
		return false, 0
	}
	list, err := r.store.Reactions(ctx, channel, atOnce)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Error("cannot look for reactions", "channel", channel, "error", err)
		}
		return false, pause
	}
	for _, stage := range list {
		err := r.put(ctx, reaction{stage.To, stage.Message, stageEmoji[stage.Stage]})
		if errors.Is(err, errNoChannel) || ctx.Err() != nil {
			return false, 0
		}
		if wait, again := later(err); again && time.Since(stage.ChangedAt) < patience {
			r.log.Debug("a reaction was not added and is tried again", "channel", channel, "again_in", wait.Round(time.Millisecond), "error", err)
			return false, wait
		}
		if err := r.store.Reacted(ctx, stage); err != nil {
			r.log.Error("cannot record a reaction", "channel", channel, "error", err)
			return false, pause
		}
	}
	return len(list) == atOnce, 0
}

func (r *Reactor) put(ctx context.Context, what reaction) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	channel, running := r.plugins.Get(what.to.Channel)
	if !running {
		return errNoChannel
	}
	return channel.React(ctx, what.to, what.id, what.emoji)
}

// later reports whether a failed reaction is to be retried, and when.
func later(err error) (wait time.Duration, again bool) {
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return 0, false
	}
	if failure, ok := errors.AsType[*chat.Failure](err); ok {
		return max(failure.RetryAfter, pause), failure.Reason.Retryable()
	}
	return pause, true
}

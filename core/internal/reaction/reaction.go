// Package reaction shows by emoji how far the answer to a message is, where networks have reactions.
package reaction

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// stageEmoji are what a message shows of its answer, in emoji that the networks allow as reactions.
var stageEmoji = map[domain.Stage]string{
	domain.StageWaiting: "👀",
	domain.StageRunning: "✍",
	domain.StageDone:    "👍",
	domain.StageFailed:  "💔",
	domain.StageDropped: "", // what it showed is taken back
}

const (
	// callTime bounds one reaction.
	callTime = 5 * time.Second
	// pause is how long a channel is left alone whose network could not put one.
	pause = 5 * time.Second
	// patience is how long one is tried: it is a courtesy.
	patience = 10 * time.Minute
	// atOnce is how many are put in one channel before the others have their turn.
	atOnce = 20
	// maxWaiting is how many acknowledgements may wait for a slow network. Further ones are dropped.
	maxWaiting = 256
)

// reaction is an emoji that is to be put on a message.
type reaction struct {
	to    chat.Address
	id    chat.MessageID
	emoji string
}

// Store is what a reactor needs of the store.
type Store interface {
	// Reactions returns messages of a channel that do not show how far their answers are.
	Reactions(ctx context.Context, channel string, limit int) ([]domain.Reaction, error)
	// Reacted notes that a message shows it.
	Reacted(ctx context.Context, r domain.Reaction) error
	// ReactionsReady fires when there may be such messages.
	ReactionsReady() <-chan struct{}
}

// Networks put reactions.
type Networks interface {
	// React puts an emoji on a message, or takes it back where it is empty. The error is [ErrNoChannel] while nobody can.
	React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error
	// Changed returns a channel that is closed when that may be over.
	Changed() <-chan struct{}
}

// ErrNoChannel is returned by [Networks] for a channel that does not run.
var ErrNoChannel = errors.New("the channel does not run")

// Reactor puts reactions on messages. They are a courtesy: one that cannot be put is left out in the end, and of the stages
// of a message only the last one matters.
type Reactor struct {
	store    Store
	networks Networks
	channels []string
	log      hclog.Logger

	taken chan reaction // acknowledgements, which change no more
}

// New returns a reactor for the messages of channels. Run starts it.
func New(s Store, networks Networks, channels []string, log hclog.Logger) *Reactor {
	return &Reactor{store: s, networks: networks, channels: channels, log: log, taken: make(chan reaction, maxWaiting)}
}

// Acknowledge has a message that was taken show an emoji. It does not block.
func (r *Reactor) Acknowledge(to chat.Address, id chat.MessageID, emoji string) {
	select {
	case r.taken <- reaction{to, id, emoji}:
	default:
	}
}

// Run puts reactions until ctx ends. What it did not come to is put by the next process of the host.
func (r *Reactor) Run(ctx context.Context) {
	rests := map[string]time.Time{} // until when a channel is left alone
	for ctx.Err() == nil {
		changed := r.networks.Changed()
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
		_ = r.put(ctx, taken) // it is nobody's business
	}
}

// show has messages of a channel show their stages: it returns whether there are more of them, and how long the channel is to
// be left alone.
func (r *Reactor) show(ctx context.Context, channel string) (more bool, pause time.Duration) {
	list, err := r.store.Reactions(ctx, channel, atOnce)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Error("look for reactions", "channel", channel, "error", err)
		}
		return false, pause
	}
	for _, stage := range list {
		err := r.put(ctx, reaction{stage.To, stage.Message, stageEmoji[stage.Stage]})
		if errors.Is(err, ErrNoChannel) || ctx.Err() != nil {
			return false, 0
		}
		if wait, again := later(err); again && time.Since(stage.ChangedAt) < patience {
			r.log.Debug("a reaction was not put and is tried again", "channel", channel, "again_in", wait, "error", err)
			return false, wait
		}
		if err := r.store.Reacted(ctx, stage); err != nil {
			r.log.Error("note a reaction", "channel", channel, "error", err)
			return false, pause
		}
	}
	return len(list) == atOnce, 0
}

func (r *Reactor) put(ctx context.Context, what reaction) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return r.networks.React(ctx, what.to, what.id, what.emoji)
}

// later reports whether a reaction that failed is to be tried again, and when.
func later(err error) (wait time.Duration, again bool) {
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return 0, false
	}
	if failure, ok := errors.AsType[*chat.Failure](err); ok {
		return max(failure.RetryAfter, pause), failure.Reason.Retryable()
	}
	return pause, true
}

// Package outbox delivers items: in order for each destination, concurrently for different ones. It repeats a temporary
// failure, and drops nothing silently.
package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// sendTimeout bounds one send, not counting the bytes of its files. The outcome of a longer send is unknown.
	sendTimeout = 60 * time.Second
	// concurrentSends bounds a channel's concurrent sends.
	concurrentSends = 16

	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute
	// maxPatience is the longest wait for a network that is down: it may return at any moment, and a try costs little.
	maxPatience = 10 * time.Second
	// firstNote and maxNote bound the wait for a store that cannot record the result of a delivery.
	firstNote = 100 * time.Millisecond
	maxNote   = 10 * time.Second
	// claimAgain is the wait after a failed claim, such as with a full disk.
	claimAgain = time.Second
)

// Store is what the outbox needs of the store.
type Store interface {
	ClaimDeliveries(ctx context.Context, channel string, max int) ([]domain.Delivery, error)
	DeliveriesDue(ctx context.Context, channel string) (bool, error)
	Delivered(ctx context.Context, id int64, ids []chat.MessageID) error
	Retry(ctx context.Context, id int64, again domain.Retry) error
	DeadLetter(ctx context.Context, id int64, cause string) error
	// EventOfRun returns the event whose message a run answers.
	EventOfRun(ctx context.Context, run int64) (channel string, id chat.EventID, err error)
}

// errDown is the reason that an item fails when its channel goes down, errOld that of one that is not sent any more, and errLost that of one
// that another host sends.
var (
	errDown = errors.New("the channel is down")
	errOld  = errors.New("the item is too old")
	errLost = errors.New("this host has lost its lease")
)

// Options are an outbox's settings.
type Options struct {
	Plugins       *plugins.Registry
	Config        config.Getter // its block outbox
	Grace         time.Duration // how long deliveries may continue after the outbox's context has ended
	Fleet         *fleet.Fleet  // nothing is sent without a lease; nil: this host is alone
	Conversations *conversation.Resolver
	Chats         *activity.Chats  // learn of deliveries
	Metrics       *metrics.Metrics // count the tries; nil: nothing does
	Tracer        *trace.Tracer    // records them; nil: nothing does
}

// Outbox delivers items.
type Outbox struct {
	store   Store
	options Options
	log     hclog.Logger
}

// New returns an outbox. Run starts it.
func New(s Store, options Options, log hclog.Logger) *Outbox {
	return &Outbox{store: s, options: options, log: log}
}

// Run delivers until ctx ends, then continues for at most the grace until nothing is due.
func (o *Outbox) Run(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(o.options.Grace, cancel) })
	defer stop()
	defer context.AfterFunc(o.options.Fleet.Context(), cancel)()

	var loops sync.WaitGroup
	defer loops.Wait()
	running, over := map[string]bool{}, make(chan string)
	for {
		changed := o.options.Plugins.Changed()
		for _, name := range o.options.Plugins.Names() {
			if running[name] {
				continue
			}
			running[name] = true
			c := &channel{
				outbox: o, name: name, slots: make(chan struct{}, concurrentSends), ended: make(chan struct{}, 1),
				log: o.log.With("channel", name),
			}
			loops.Go(func() {
				c.run(ctx, work)
				select {
				case over <- name: // a reload has removed the plugin, and another one may add it again
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-changed:
		case name := <-over:
			delete(running, name)
		case <-ctx.Done():
			return
		}
	}
}

// channel delivers the items of one channel.
type channel struct {
	outbox *Outbox
	name   string
	slots  chan struct{} // one for each running send
	ended  chan struct{} // a send has ended
	log    hclog.Logger
	sends  sync.WaitGroup
}

func (c *channel) run(ctx, work context.Context) {
	defer c.sends.Wait()
	for ctx.Err() == nil {
		// Nothing is claimed while the channel is down, or another host's.
		_, running, stop, err := c.outbox.options.Plugins.AwaitOwn(ctx, c.name)
		if err != nil {
			break
		}
		for running.Err() == nil {
			if len(c.slots) == cap(c.slots) {
				select {
				case <-c.ended:
				case <-running.Done():
				}
				continue
			}
			c.claim(running, work)
		}
		stop()
	}
	c.drain(work)
}

// drain continues until nothing is due.
func (c *channel) drain(work context.Context) {
	for work.Err() == nil {
		due, err := c.outbox.store.DeliveriesDue(work, c.name)
		switch {
		case err == nil && due && len(c.slots) < cap(c.slots) && c.runs():
			c.claim(work, work)
			continue
		case len(c.slots) == 0:
			return
		}
		select {
		case <-c.ended:
		case <-work.Done():
		}
	}
}

// runs reports whether this host runs the channel.
func (c *channel) runs() bool {
	_, runs := c.outbox.options.Plugins.Own(c.name)
	return runs
}

// claim waits until items are due and starts as many sends as there are free slots.
func (c *channel) claim(ctx, work context.Context) {
	deliveries, err := c.outbox.store.ClaimDeliveries(ctx, c.name, cap(c.slots)-len(c.slots))
	if err != nil && ctx.Err() == nil {
		c.log.Error("cannot claim deliveries", "error", err)
		select {
		case <-time.After(claimAgain):
		case <-ctx.Done():
		}
	}
	if len(deliveries) == 0 {
		return
	}
	plugin, _ := c.outbox.options.Plugins.Own(c.name)
	for _, d := range deliveries {
		c.slots <- struct{}{}
		c.sends.Go(func() {
			c.deliver(work, plugin, d)
			<-c.slots
			select {
			case c.ended <- struct{}{}:
			default:
			}
		})
	}
}

// deliver delivers one item by the channel's plugin, nil if it is down, and records the result.
func (c *channel) deliver(work context.Context, plugin *plugins.Plugin, d domain.Delivery) {
	work, delivery := c.traced(work, d)
	delivery.End(c.try(work, plugin, d))
}

// traced begins the part of the trace of a run's message that a try to deliver an item of its answer is.
func (c *channel) traced(work context.Context, d domain.Delivery) (context.Context, *trace.Span) {
	if c.outbox.options.Tracer == nil || d.RunID == 0 {
		return work, nil
	}
	channel, event, err := c.outbox.store.EventOfRun(work, d.RunID)
	if err != nil {
		c.log.Debug("a delivery is not traced", "item", d.ID, "error", err)
	}
	return c.outbox.options.Tracer.Event(work, channel, string(event), true, time.Now(), "deliver",
		"channel", c.name, "attempt", strconv.Itoa(d.Attempts+1))
}

// try tries to deliver an item. The error has been recorded.
func (c *channel) try(work context.Context, plugin *plugins.Plugin, d domain.Delivery) error {
	if age, most := time.Since(d.CreatedAt), c.outbox.options.Config.Get().Outbox.MaxAge; most > 0 && age > most {
		if optional(d.Item) {
			c.delivered(work, d, nil)
			return nil
		}
		c.giveUp(work, d, "too old to send: "+age.Round(time.Second).String())
		return errOld
	}
	if d.Uncertain && (plugin == nil || !plugin.Idempotent()) {
		trace.Logged(work, c.log).Warn("sending an item again whose outcome is unknown", "item", d.ID, "chat", d.Item.To.Chat, "attempt", d.Attempts+1)
	}
	if !c.outbox.options.Fleet.Held() {
		return errLost // another host sends it
	}
	if plugin == nil {
		c.failed(work, d, &chat.Failure{Reason: chat.NotConnected, Err: errDown})
		return errDown
	}
	began := time.Now()
	ids, err := c.transmit(work, plugin, d)
	c.outbox.options.Metrics.Sent(c.name, time.Since(began), trace.ID(work))
	if err != nil {
		c.failed(work, d, err)
		return err
	}
	c.delivered(work, d, ids)
	return nil
}

func (c *channel) delivered(work context.Context, d domain.Delivery, ids []chat.MessageID) {
	c.count(work, d, metrics.Delivered)
	c.note(work, d, "cannot mark an item as delivered", func(ctx context.Context) error {
		return c.settled(d, c.outbox.store.Delivered(ctx, d.ID, ids))
	})
}

// count counts the result of a try.
func (c *channel) count(work context.Context, d domain.Delivery, r metrics.Result) {
	c.outbox.options.Metrics.Delivery(c.name, r, time.Since(d.CreatedAt), trace.ID(work))
}

// settled has what is shown in the chat drawn again, now that an item no longer waits, if the store has recorded that.
func (c *channel) settled(d domain.Delivery, err error) error {
	if err == nil {
		c.outbox.options.Chats.Delivered(d.Item.To)
	}
	return err
}

// failureOf returns the failure that a sender's error means for an item.
func failureOf(err error) *chat.Failure {
	failure := &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	_ = errors.As(err, &failure)
	return failure
}

// patient reports whether a failure leaves an item in the queue until its maximum age: the network asked to wait, or is
// down.
func patient(failure *chat.Failure) bool {
	return failure.Reason == chat.RateLimited || failure.Reason == chat.NotConnected
}

// again reports whether a failed item is tried again.
func (c *channel) again(d domain.Delivery, failure *chat.Failure) bool {
	return failure.Reason.Retryable() && (patient(failure) || d.Attempts+1 < c.outbox.options.Config.Get().Outbox.Attempts)
}

// failed decides between another try and giving up.
func (c *channel) failed(work context.Context, d domain.Delivery, err error) {
	failure, attempts := failureOf(err), d.Attempts+1
	if !c.again(d, failure) {
		c.giveUp(work, d, failure.Error())
		return
	}
	wait := backoff(attempts)
	if patient(failure) {
		// Attempts do not count here: the longer an outage has lasted, the longer it may last.
		wait = min(max(time.Since(d.CreatedAt)/2, firstBackoff), maxPatience)
	}
	wait = max(wait, failure.RetryAfter)
	c.count(work, d, metrics.Retried)
	trace.Logged(work, c.log).Warn("an item was not sent and is tried again", "item", d.ID, "chat", d.Item.To.Chat, "attempt", attempts,
		"again_in", wait.Round(time.Millisecond), "error", failure)
	again := domain.Retry{At: time.Now().Add(wait), Cause: failure.Error(), Uncertain: failure.MaybeDelivered, Excused: patient(failure)}
	c.note(work, d, "cannot schedule an item again", func(ctx context.Context) error { return c.outbox.store.Retry(ctx, d.ID, again) })
	crashpoint.Pass("postponed") // The store knows why the item was not sent, and whether it may have arrived.
}

func (c *channel) giveUp(work context.Context, d domain.Delivery, cause string) {
	c.count(work, d, metrics.Dead)
	trace.Logged(work, c.log).Error("an item is given up; `clawhost queue dead` lists it", "item", d.ID, "chat", d.Item.To.Chat,
		"attempts", d.Attempts+1, "error", cause)
	c.note(work, d, "cannot give an item up", func(ctx context.Context) error {
		return c.settled(d, c.outbox.store.DeadLetter(ctx, d.ID, cause))
	})
}

// note records the result of an item. Its destination is blocked until the store has it, so a store that fails, such as
// with a full disk, is asked again until it succeeds. Once work has ended, the item stays marked as being sent, and the
// next host process sends it again.
func (c *channel) note(work context.Context, d domain.Delivery, doing string, write func(context.Context) error) {
	for wait := firstNote; ; wait = min(2*wait, maxNote) {
		err := write(context.WithoutCancel(work))
		if err == nil {
			return
		}
		c.log.Error(doing, "item", d.ID, "error", err)
		if errors.Is(err, domain.ErrNotFound) {
			return // the item is no longer ours
		}
		select {
		case <-time.After(wait):
		case <-work.Done():
			return
		}
	}
}

// backoff doubles from one second to five minutes, with 20 % jitter.
func backoff(attempts int) time.Duration {
	wait := maxBackoff
	if shift := attempts - 1; shift < 9 {
		wait = min(firstBackoff<<shift, maxBackoff)
	}
	return wait - time.Duration(rand.Int64N(int64(wait)/5))
}

package hook

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of an observer's queue; messages beyond them are dropped.
const (
	maxWaiting      = 256
	maxWaitingBytes = 4 << 20 // of text
)

// complainEvery is how often missed messages of an observer are logged.
const complainEvery = time.Minute

// Observers pass received messages to plugins, best effort: nothing waits for them, and missed messages are not sent again.
type Observers struct {
	plugins *plugins.Registry
	log     hclog.Logger
	fresh   chan struct{} // receives a value when an observer has no worker

	mu        sync.Mutex
	observers map[string]*observer
	ended     bool
}

// NewObservers returns the observers: for each message, the plugins that observe at that moment.
func NewObservers(plugins *plugins.Registry, log hclog.Logger) *Observers {
	return &Observers{plugins: plugins, log: log, fresh: make(chan struct{}, 1), observers: map[string]*observer{}}
}

// observer is one plugin's queue. All but wake is guarded by Observers.mu.
type observer struct {
	name    string
	wake    chan struct{} // receives a value when the queue is no longer empty
	waiting []observed
	bytes   int
	working bool // it has a worker

	missed     int // since the last log line
	complained time.Time
}

// observed is a message for an observer.
type observed struct {
	plugin  *plugins.Plugin
	caller  chat.Caller
	message chat.Message
}

// Received queues a message for the observers. It returns at once. The message must not be changed afterwards.
func (o *Observers) Received(caller chat.Caller, m chat.Message) {
	for _, plugin := range o.plugins.With(remote.MessageReceived) {
		o.enqueue(observed{plugin: plugin, caller: caller, message: m})
	}
}

func (o *Observers) enqueue(s observed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	to := o.observers[s.plugin.Name]
	if to == nil {
		to = &observer{name: s.plugin.Name, wake: make(chan struct{}, 1)}
		o.observers[s.plugin.Name] = to
		poke(o.fresh)
	}
	size := len(s.message.Text)
	if len(to.waiting) == maxWaiting || len(to.waiting) > 0 && to.bytes+size > maxWaitingBytes {
		o.complain(to, "it is too slow")
		return
	}
	to.waiting = append(to.waiting, s)
	to.bytes += size
	poke(to.wake)
}

// complain logs, at most once a minute, that an observer misses messages. The lock is held.
func (o *Observers) complain(to *observer, why string) {
	to.missed++
	if now := time.Now(); now.Sub(to.complained) >= complainEvery {
		o.log.Warn("a plugin missed received messages", "plugin", to.name, "messages", to.missed, "why", why)
		to.missed, to.complained = 0, now
	}
}

// Run passes messages to the observers until ctx ends; it returns when no call is in progress. Waiting messages are dropped
// then.
func (o *Observers) Run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	for {
		for _, to := range o.idle() {
			workers.Go(func() { o.work(ctx, to) })
		}
		select {
		case <-o.fresh:
		case <-ctx.Done():
			o.mu.Lock()
			defer o.mu.Unlock()
			o.ended = true
			return
		}
	}
}

// idle returns the observers that need a worker.
func (o *Observers) idle() []*observer {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []*observer
	for _, to := range o.observers {
		if !to.working {
			to.working = true
			list = append(list, to)
		}
	}
	return list
}

// work passes messages to one observer, one after the other.
func (o *Observers) work(ctx context.Context, to *observer) {
	for ctx.Err() == nil {
		s, ok := o.next(to)
		if !ok {
			select {
			case <-to.wake:
			case <-ctx.Done():
			}
			continue
		}
		if err := s.plugin.MessageReceived(ctx, s.caller, s.message); err != nil && ctx.Err() == nil {
			o.mu.Lock()
			o.complain(to, err.Error())
			o.mu.Unlock()
		}
	}
}

func (o *Observers) next(to *observer) (s observed, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(to.waiting) == 0 {
		return s, false
	}
	s = to.waiting[0]
	to.waiting[0] = observed{} // release its text
	to.waiting = to.waiting[1:]
	to.bytes -= len(s.message.Text)
	return s, true
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

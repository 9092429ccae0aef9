package supervisor

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 2 * time.Minute
	// healthy is how long a plugin must have run to reset the backoff.
	healthy = time.Minute

	// A crash within quick of the start is a quick one. Too many of them within window disable the plugin.
	quick       = 30 * time.Second
	quickDeaths = 5
	window      = 10 * time.Minute

	// binaryEvery is how often a failed plugin's binary is checked: a changed one is started.
	binaryEvery = 5 * time.Second

	// retryEvery is how often a failed plugin is restarted anyway: the cause may be gone.
	retryEvery = 5 * time.Minute
)

// instance is one plugin across all its processes.
type instance struct {
	name    string // the label of its block
	options *Options
	end     context.CancelFunc // ends run; nil: it was not started; owned by [Supervisor.Run]
	log     hclog.Logger
	restart chan struct{} // a restart was requested
	settled chan struct{} // closed when the first start has succeeded or failed
	once    sync.Once     // closes settled
	host    Host          // owned by run
	entry   *plugins.Entry
	sockets *sockets    // shared by all processes
	channel bool        // it is one, by what its last process has said; owned by run
	duty    *fleet.Duty // to run the channel; nil: it is another host's; owned by run
}

// run keeps the plugin running until ctx ends.
func (i *instance) run(ctx context.Context, host Host) {
	i.host = host
	defer i.entry.Update(func(s *plugins.Status) {
		*s = plugins.Status{Name: s.Name, State: plugins.Stopped, Version: s.Version, Kinds: s.Kinds, Restarts: s.Restarts}
	})
	defer i.settle()
	defer i.sockets.close()
	defer i.yield()
	var deaths []time.Time
	wait := i.options.Backoff
	for ctx.Err() == nil {
		started := time.Now()
		err := i.runProcess(ctx)
		if elsewhere, ok := errors.AsType[*elsewhere](err); ok {
			i.await(ctx, elsewhere)
			deaths, wait = nil, i.options.Backoff
			continue
		}
		i.settle()
		if ctx.Err() != nil {
			return
		}
		if err == nil { // a new start was requested, or the channel is given to another host
			deaths, wait = nil, i.options.Backoff
			i.entry.Update(func(s *plugins.Status) { s.State, s.Detail, s.Doing = plugins.Starting, "", "" })
			continue
		}
		lived := time.Since(started)
		if lived >= healthy {
			wait = i.options.Backoff
		}
		lacks := exhausted(err)
		if lived < quick && !lacks {
			deaths = append(deaths, time.Now())
		}
		for len(deaths) > 0 && time.Since(deaths[0]) > window {
			deaths = deaths[1:]
		}
		switch {
		case actionFor(err) != unknown, len(deaths) >= quickDeaths:
			i.yield() // another host may be able to run it
			i.park(ctx, err)
			deaths, wait = nil, i.options.Backoff
		case lacks:
			i.log.Warn("the plugin cannot be started for now", "error", err, "again_in", wait)
			i.pause(ctx, err, wait, &plugins.Failure{Why: err.Error(), Advice: wording.AdviceWait, Lacks: true})
			wait = min(2*wait, maxBackoff)
		default:
			i.log.Warn("the plugin ended and is started again", "error", err, "again_in", wait)
			i.pause(ctx, err, wait, i.entry.Status().Failure)
			wait = min(2*wait, maxBackoff)
		}
		if ctx.Err() != nil {
			return
		}
		i.entry.Update(func(s *plugins.Status) { s.State, s.Restarts = plugins.Starting, s.Restarts+1 })
	}
}

func (i *instance) settle() { i.once.Do(func() { close(i.settled) }) }

// pause waits for the next start. The failure is more than that it has ended.
func (i *instance) pause(ctx context.Context, why error, wait time.Duration, failure *plugins.Failure) {
	i.entry.Update(func(s *plugins.Status) { s.State, s.Detail, s.Failure = plugins.Waiting, why.Error(), failure })
	timer := time.NewTimer(wait - time.Duration(rand.Int64N(int64(wait)/5)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-i.restart:
	}
}

// park disables the plugin until a restart is requested, its binary changes or some minutes have passed. A plugin that
// needs another config is not restarted by itself: a reload of the config does that.
func (i *instance) park(ctx context.Context, why error) {
	if unfit, ok := errors.AsType[*Unfit](why); ok {
		why = placed{i.entry.Config().PlaceAttribute(unfit.Attribute, "Plugin does not start", why.Error()).String(), why}
	}
	action := actionFor(why)
	advice := action.advice(i.name)
	i.log.Error("the plugin has failed", "plugin", i.name, "error", why, "advice", advice)
	i.entry.Update(func(s *plugins.Status) {
		s.State, s.Detail, s.Failure = plugins.Failed, why.Error(), &plugins.Failure{Why: why.Error(), Advice: advice}
	})
	before := modified(i.entry.Config().Source)
	tick := time.NewTicker(binaryEvery)
	defer tick.Stop()
	var again <-chan time.Time
	if !action.rereads() {
		timer := time.NewTimer(i.options.Retry)
		defer timer.Stop()
		again = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.restart:
			return
		case <-again:
			return
		case <-tick.C:
			if now := modified(i.entry.Config().Source); !now.Equal(before) && !now.IsZero() {
				i.log.Info("the plugin's binary has changed; it is tried again")
				return
			}
		}
	}
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

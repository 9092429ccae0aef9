// Package wakeup calls plugins at the times for which they have set wake-ups.
package wakeup

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/store"
)

// The wait after a failed call; it doubles.
const (
	firstWait = time.Second
	lastWait  = 5 * time.Minute
)

// Run calls plugins for their wake-ups until ctx ends: each at least once, those of one plugin one after the other, and on one host of a
// fleet. It returns when no call is in progress.
func Run(ctx context.Context, s *store.Store, p *plugins.Registry, f *fleet.Fleet, log hclog.Logger) {
	var serving sync.WaitGroup
	defer serving.Wait()
	served := map[string]bool{} // by name, of all plugins so far
	for {
		changed := p.Changed()
		for _, plugin := range p.With(remote.WakeUp) {
			if !served[plugin.Name] {
				served[plugin.Name] = true
				serving.Go(func() { serve(ctx, plugin.Name, s, p, f, log) })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// serve calls one plugin, whenever it runs here, and has no other host do so meanwhile.
func serve(ctx context.Context, name string, s *store.Store, p *plugins.Registry, f *fleet.Fleet, log hclog.Logger) {
	for ctx.Err() == nil {
		plugin, running, stop, err := p.AwaitOwn(ctx, name)
		if err != nil {
			return
		}
		if plugin.Can(remote.WakeUp) {
			f.Only(running, "wake "+name, func(ctx context.Context) { serveOwn(ctx, plugin, s, log) })
		} else {
			<-running.Done()
		}
		stop()
	}
}

// serveOwn calls a plugin until ctx ends.
func serveOwn(ctx context.Context, plugin *plugins.Plugin, s *store.Store, log hclog.Logger) {
	for ctx.Err() == nil {
		w, err := s.DueWakeUp(ctx, plugin.Name)
		if err == nil {
			err = wake(ctx, plugin, w, s, log)
		}
		if err != nil && ctx.Err() == nil {
			log.Error("cannot wake a plugin for now", "plugin", plugin.Name, "error", err)
			pause(ctx, firstWait)
		}
	}
}

// wake calls a plugin for a wake-up. Its error is the store's.
func wake(ctx context.Context, plugin *plugins.Plugin, w domain.WakeUp, s *store.Store, log hclog.Logger) error {
	err := plugin.WakeUp(ctx, w.Key, w.At)
	crashpoint.Pass("woken") // The plugin has done what the wake-up is for; the store does not know.
	switch {
	case err == nil:
		return s.WokenUp(context.WithoutCancel(ctx), w)
	case ctx.Err() != nil:
		return nil
	}
	wait := lastWait
	if doublings := w.Attempts; doublings < 10 {
		wait = min(firstWait<<doublings, lastWait)
	}
	log.Warn("a plugin has failed to do what it set a wake-up for; it is called again", "plugin", w.Instance, "wake_up", w.Key,
		"error", err, "again_in", wait.String())
	return s.PutOffWakeUp(ctx, w, time.Now().Add(wait))
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

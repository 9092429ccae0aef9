package relay

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
)

const (
	// concurrent bounds the calls of a plugin that are made at the same time for other hosts.
	concurrent = 16
	// ahead bounds the parts of a call that were not read yet.
	ahead = 8
)

// Relay makes the calls of other hosts with the channels that this one runs.
type Relay struct {
	store   Store
	plugins *plugins.Registry
	fleet   *fleet.Fleet
	log     hclog.Logger
}

// New returns a relay. Run starts it.
func New(s Store, p *plugins.Registry, f *fleet.Fleet, log hclog.Logger) *Relay {
	return &Relay{s, p, f, log}
}

// Run makes calls until ctx ends. It returns when none is in progress.
func (r *Relay) Run(ctx context.Context) {
	if r.fleet.Alone() {
		return
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	served, over := map[string]bool{}, make(chan string)
	for {
		changed := r.plugins.Changed()
		for _, p := range r.plugins.With(remote.Channel) {
			if served[p.Name] {
				continue
			}
			served[p.Name] = true
			serving.Go(func() {
				r.serve(ctx, p.Name)
				select {
				case over <- p.Name: // a reload has removed the plugin, and another one may add it again
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-changed:
		case name := <-over:
			delete(served, name)
		case <-ctx.Done():
			return
		}
	}
}

// serve makes the calls of one channel, whenever this host runs it.
func (r *Relay) serve(ctx context.Context, name string) {
	var calls sync.WaitGroup
	defer calls.Wait()
	slots := make(chan struct{}, concurrent)
	for ctx.Err() == nil {
		plugin, running, stop, err := r.plugins.AwaitOwn(ctx, name)
		if err != nil {
			return
		}
		for running.Err() == nil {
			select {
			case slots <- struct{}{}:
			case <-running.Done():
				continue
			}
			c, err := r.store.TakeCall(running, name)
			if err != nil {
				<-slots
				if running.Err() == nil {
					r.log.Warn("cannot take the calls of other hosts for now", "plugin", name, "error", err)
					fleet.Pause(running)
				}
				continue
			}
			calls.Go(func() {
				defer func() { <-slots }()
				r.call(ctx, plugin, c)
			})
		}
		stop()
	}
}

// call makes a call and returns its results.
func (r *Relay) call(ctx context.Context, plugin *plugins.Plugin, c domain.PluginCall) {
	ctx, cancel := context.WithTimeout(ctx, c.Expires)
	defer cancel()
	defer context.AfterFunc(r.fleet.Context(), cancel)()
	changed, stop := r.store.WatchCall(c.ID)
	defer stop()
	var number int64
	err := plugin.Forward(ctx, c.Method, c.Request, func(part []byte) error {
		unread, err := r.store.Return(ctx, c.ID, number, part)
		for number++; err == nil && unread >= ahead; {
			select {
			case <-changed:
				unread, err = r.store.Unread(ctx, c.ID)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return err
	})
	if errors.Is(err, domain.ErrNotFound) {
		return // nobody waits for it
	}
	s := status.Convert(err)
	if s.Code() == codes.Unknown && ctx.Err() != nil {
		s = status.FromContextError(ctx.Err())
	}
	err = r.store.EndCall(context.WithoutCancel(ctx), c.ID, domain.CallEnd{Code: uint32(s.Code()), Message: s.Message()})
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		r.log.Warn("cannot say how a call of another host has ended", "plugin", plugin.Name, "error", err)
	}
}

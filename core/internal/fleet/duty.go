package fleet

import (
	"context"
	"sync"
)

// Duty is something that this host does, and no other one meanwhile.
type Duty struct {
	fleet *Fleet
	name  string
	ctx   context.Context
	end   context.CancelFunc
	once  sync.Once
}

// Context ends when the duty must be given up: because the context in which it was taken has ended, because the host is drained, or because
// it has lost its lease.
func (d *Duty) Context() context.Context { return d.ctx }

// Yield gives the duty up, once what is done for it has ended. It may be called more than once.
func (d *Duty) Yield() {
	d.once.Do(func() {
		defer d.end()
		if d.fleet.Alone() || !d.fleet.Held() {
			return
		}
		if err := d.fleet.options.Store.Yield(context.WithoutCancel(d.ctx), d.name); err != nil {
			d.fleet.log.Warn("cannot give a duty up; others get it when this host's lease has ended", "duty", d.name, "error", err)
		}
	})
}

// Take takes a duty. The duty is nil if another host has it, whose name is returned, or if this host is drained.
func (f *Fleet) Take(ctx context.Context, name string) (d *Duty, host string, err error) {
	if f.Alone() {
		doing, cancel := context.WithCancel(ctx)
		return &Duty{name: name, ctx: doing, end: cancel}, "", nil
	}
	f.mu.Lock()
	working := f.working
	f.mu.Unlock()
	if working.Err() != nil {
		return nil, "", nil
	}
	host, own, err := f.options.Store.Take(ctx, name)
	if err != nil || !own {
		return nil, host, err
	}
	doing, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(working, cancel)
	context.AfterFunc(doing, func() { stop() })
	return &Duty{fleet: f, name: name, ctx: doing, end: cancel}, host, nil
}

// Hold takes a duty as soon as no other host has it. The error is ctx's.
func (f *Fleet) Hold(ctx context.Context, name string) (*Duty, error) {
	if f.Alone() {
		d, _, err := f.Take(ctx, name)
		return d, err
	}
	changed, stop := f.options.Store.WatchDuties()
	defer stop()
	for {
		d, _, err := f.Take(ctx, name)
		if d != nil {
			return d, nil
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn("cannot take a duty for now", "duty", name, "error", err)
		}
		select {
		case <-changed: // also from time to time without a change: the engine has all look again
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Only runs a job whenever this host has a duty, until ctx ends. The job returns when its context has ended.
func (f *Fleet) Only(ctx context.Context, duty string, run func(context.Context)) {
	for ctx.Err() == nil {
		d, err := f.Hold(ctx, duty)
		if err != nil {
			return
		}
		run(d.Context())
		d.Yield()
	}
}

// WatchDuties returns a channel that receives a value when a duty has another host, or none. The func ends the watch. A host that is alone
// does not call it.
func (f *Fleet) WatchDuties() (<-chan struct{}, func()) { return f.options.Store.WatchDuties() }

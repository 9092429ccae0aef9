// Package fleet makes a host one of several that share a database: it renews the host's lease, takes over what hosts without one had in
// hand, and says which duties are this host's. A host that is alone has a lease without an end, and each duty.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
)

// renewals is how often a lease is renewed while it lasts. A host acts on its lease until the last renewal that it could have made; the time
// after that is for ending what it does.
const renewals = 5

// retries is how many times as often a renewal is tried again that has failed.
const retries = 4

// drainEvery is how often a host that is drained hands over what waits for it.
const drainEvery = time.Second

// Store is what a fleet needs of package store.
type Store interface {
	Register(ctx context.Context, r hosts.Registration) error
	Serve(ctx context.Context, agents []string) error
	Renew(ctx context.Context, lease time.Duration) (lapsed []domain.Member, err error)
	Expel(ctx context.Context, id string) (store.Taken, error)
	MoveFrom(ctx context.Context, gone domain.Member) (more bool, err error)
	Adopt(ctx context.Context) (more bool, err error)
	HandOver(ctx context.Context) (more bool, err error)
	Leave(ctx context.Context) error
	Hosts(ctx context.Context) ([]domain.Member, error)
	WatchHosts() (<-chan struct{}, func())
	Take(ctx context.Context, duty string) (host string, own bool, err error)
	Yield(ctx context.Context, duty string) error
	WatchDuties() (<-chan struct{}, func())
}

// Options are the settings of a fleet.
type Options struct {
	Store Store
	Name  string // of this host; empty: it is alone
	// Config says which agents the host runs, when it has changed; nil: it does not.
	Config *config.Current
	Registration
}

// Registration is what the host says of itself.
type Registration = hosts.Registration

// Fleet is the hosts that share a database, as this one sees them. It is safe for concurrent use. A nil Fleet is that of a host that is alone.
type Fleet struct {
	options Options
	log     hclog.Logger
	lost    context.Context // ends when the lease is lost
	end     context.CancelFunc

	mu      sync.Mutex
	until   time.Time       // until when the host acts on its lease
	since   time.Time       // since when it has one
	working context.Context // ends when the host is drained
	drain   context.CancelFunc
	agents  []string // that the host runs while it is not drained
}

// New returns a fleet. Join, and then Run, begin its work.
func New(options Options, log hclog.Logger) *Fleet {
	f := &Fleet{options: options, log: log, agents: options.Agents}
	f.lost, f.end = context.WithCancel(context.Background())
	f.working, f.drain = context.WithCancel(f.lost)
	return f
}

// Alone reports whether the host shares its database with no other.
func (f *Fleet) Alone() bool { return f == nil || f.options.Name == "" }

// Name is the name of this host; empty: it is alone.
func (f *Fleet) Name() string {
	if f == nil {
		return ""
	}
	return f.options.Name
}

// Context ends when the host has lost its lease: it must end all that it does, at once and without writing anything more, because other hosts may do it now.
func (f *Fleet) Context() context.Context {
	if f == nil {
		return context.Background()
	}
	return f.lost
}

// Held reports whether the host has a lease. It is asked before anything that the store cannot undo, such as a send.
func (f *Fleet) Held() bool {
	if f.Alone() {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left() > 0
}

// left is how long the host may act on its lease. The machine may have slept, which the monotonic clock does not count, or its clock may
// have been set, which that does not see: the shorter time counts. The caller holds the lock.
func (f *Fleet) left() time.Duration {
	now := time.Now()
	return min(f.until.Sub(now), f.until.Round(0).Sub(now.Round(0)))
}

// Join makes the host one of the fleet. If its name is taken, it waits for as long as that host's lease lasts; the error is a
// [*hosts.TakenError] if that is renewed.
func (f *Fleet) Join(ctx context.Context) error {
	if f.Alone() {
		return nil
	}
	var before time.Time
	for {
		began := time.Now()
		err := f.options.Store.Register(ctx, f.options.Registration)
		if taken, ok := errors.AsType[*hosts.TakenError](err); ok && (before.IsZero() || taken.Until.Equal(before)) {
			f.log.Warn("another host of this name may be alive; waiting until its lease ends", "name", taken.Name, "until", taken.Until)
			before = taken.Until
			if err := sleep(ctx, f.options.Lease/renewals); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.since = began
		f.mu.Unlock()
		f.renewed(began)
		break
	}
	for more := true; more; {
		var err error
		if more, err = f.options.Store.Adopt(ctx); err != nil {
			return err
		}
	}
	return nil
}

// renewed records a renewal that began at a time.
func (f *Fleet) renewed(began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = began.Add(f.options.Lease - f.options.Lease/renewals)
}

// Leave takes the host out of the fleet, so that others may go on at once. It is called when the host has ended what it did.
func (f *Fleet) Leave(ctx context.Context) error {
	if f.Alone() || !f.Held() {
		return nil
	}
	return f.options.Store.Leave(ctx)
}

// serve says which agents the host runs from now on.
func (f *Fleet) serve(ctx context.Context, agents []string) error {
	f.mu.Lock()
	f.agents = agents
	f.mu.Unlock()
	return f.options.Store.Serve(ctx, agents)
}

// follow says which agents the host runs whenever its config has changed, until ctx ends.
func (f *Fleet) follow(ctx context.Context) {
	said := f.options.Agents
	for f.options.Config != nil && ctx.Err() == nil {
		changed := f.options.Config.Changed()
		if agents := f.options.Config.Get().Runs(); !slices.Equal(agents, said) {
			if err := f.serve(ctx, agents); err != nil {
				f.log.Warn("cannot say for now which agents this host runs", "error", err)
				Pause(ctx)
				continue
			}
			said = agents
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Run keeps the host in the fleet until ctx ends or the lease is lost.
func (f *Fleet) Run(ctx context.Context) {
	if f.Alone() {
		<-ctx.Done()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { f.follow(ctx) })
	loops.Go(func() { f.followDrains(ctx) })
	loops.Go(func() { f.watch(ctx); cancel() })
	failing := false
	for ctx.Err() == nil {
		began := time.Now()
		lapsed, err := f.options.Store.Renew(ctx, f.options.Lease)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, engine.ErrLapsed):
			f.lose("another host has taken over")
			return
		case err != nil && !failing:
			f.log.Warn("the lease cannot be renewed for now", "error", err)
		case err == nil:
			if failing {
				f.log.Info("the lease is renewed again")
			}
			f.renewed(began)
			f.takeOver(ctx, lapsed)
		}
		pause := f.options.Lease / renewals
		if failing = err != nil; failing {
			pause /= retries
		}
		if sleep(ctx, pause) != nil {
			return
		}
	}
}

// watch loses the lease when it ends. It does not wait for a renewal, which may stand still.
func (f *Fleet) watch(ctx context.Context) {
	for {
		f.mu.Lock()
		left := f.left()
		f.mu.Unlock()
		if left <= 0 {
			f.lose("it was not renewed in time")
			return
		}
		if sleep(ctx, left) != nil {
			return
		}
	}
}

func (f *Fleet) lose(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = time.Time{}
	if f.lost.Err() == nil {
		f.log.Error("this host has lost its lease: "+why, "lease", f.options.Lease)
		f.end()
	}
}

// takeOver takes over what hosts had in hand that have no lease any more. While the database was away, no host could renew its lease: so a
// host expels others only when it has held its own for as long as a lease lasts.
func (f *Fleet) takeOver(ctx context.Context, lapsed []domain.Member) {
	f.mu.Lock()
	young := time.Since(f.since) < f.options.Lease
	f.mu.Unlock()
	for _, m := range lapsed {
		if young && m.GoneAt.IsZero() {
			continue
		}
		if err := f.takeOverFrom(ctx, m); err != nil && ctx.Err() == nil {
			f.log.Error("cannot take over what a host had in hand", "host", m.Name, "error", err)
		}
	}
}

func (f *Fleet) takeOverFrom(ctx context.Context, m domain.Member) error {
	taken, err := f.options.Store.Expel(ctx, m.ID)
	if err != nil {
		return err
	}
	if taken.Gone {
		f.log.Warn("a host has lost its lease; others go on with its work", "host", m.Name, "turns", taken.Runs, "deliveries", taken.Deliveries)
	} else if m.GoneAt.IsZero() {
		return nil // it has renewed it, or another host was faster
	}
	for more := true; more; {
		if more, err = f.options.Store.MoveFrom(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// followDrains follows whether the host is drained, and then hands over the turns that wait for it.
func (f *Fleet) followDrains(ctx context.Context) {
	changed, stop := f.options.Store.WatchHosts()
	defer stop()
	for {
		drained, err := f.drained(ctx)
		if err != nil && ctx.Err() == nil {
			f.log.Warn("cannot see whether this host is drained", "error", err)
		}
		again := time.NewTimer(drainEvery)
		if !drained && err == nil {
			again.Stop()
		}
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// drained looks whether the host is drained, and does what follows.
func (f *Fleet) drained(ctx context.Context) (drained bool, err error) {
	list, err := f.options.Store.Hosts(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		drained = drained || m.Name == f.options.Name && m.Draining
	}
	f.mu.Lock()
	before := f.working.Err() != nil && f.lost.Err() == nil
	switch {
	case drained && !before:
		f.drain()
	case !drained && before:
		f.working, f.drain = context.WithCancel(f.lost)
	}
	agents := f.agents
	f.mu.Unlock()
	switch {
	case drained && !before:
		f.log.Info("this host is drained: it takes no more turns and gives its channels to others")
	case !drained && before:
		f.log.Info("this host is not drained any more")
		return false, f.options.Store.Serve(ctx, agents)
	}
	for more := drained; more; {
		if more, err = f.options.Store.HandOver(ctx); err != nil {
			return drained, fmt.Errorf("hand turns over: %w", err)
		}
	}
	return drained, nil
}

// Pause waits a moment before a step is tried again that has failed, or until ctx ends.
func Pause(ctx context.Context) { _ = sleep(ctx, time.Second) }

// sleep waits, and returns ctx's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/relay"
	"github.com/clawhost/clawhost/core/internal/network/remote"
)

// borrowAgain is the wait before a channel of another host is described again that has not answered.
const borrowAgain = time.Second

// elsewhere is why a channel is not run here: another host runs it.
type elsewhere struct{ host string }

// Error implements error.
func (e *elsewhere) Error() string {
	if e.host == "" {
		return "the channel is for another host, because this one is drained"
	}
	return fmt.Sprintf("the host %s runs the channel", e.host)
}

// own makes the channel this host's, unless it is. The context ends when it must be given up. The error is an [*elsewhere] if another host
// has it.
func (i *instance) own(ctx context.Context) (context.Context, error) {
	if i.duty != nil && i.duty.Context().Err() != nil {
		i.yield()
	}
	if i.duty == nil {
		duty, host, err := i.options.Fleet.Take(ctx, "channel "+i.name)
		if err != nil {
			return nil, err
		}
		if duty == nil {
			return nil, &elsewhere{host}
		}
		i.duty = duty
	}
	return i.duty.Context(), nil
}

// yield gives the channel up, if it is this host's, with the addresses at which it listens.
func (i *instance) yield() {
	if i.duty != nil {
		i.sockets.close()
		i.duty.Yield()
		i.duty = nil
	}
}

// await makes the channel usable here while another host runs it. It returns when the channel is this host's, a restart is requested, or
// ctx ends.
func (i *instance) await(ctx context.Context, e *elsewhere) {
	changed, stop := i.options.Fleet.WatchDuties()
	defer stop()
	for {
		i.entry.Update(func(s *plugins.Status) {
			s.State, s.Detail, s.Doing, s.Failure, s.Connection = plugins.Elsewhere, e.Error(), "", nil, 0
		})
		i.log.Info("another host runs the channel", "host", e.host)
		next := i.borrow(ctx, e, changed)
		if next == nil {
			return
		}
		e = next
	}
}

// borrow makes the channel usable here while one host runs it, and returns the host that runs it next; nil: the channel is this host's, a
// restart is requested, or ctx has ended.
func (i *instance) borrow(ctx context.Context, e *elsewhere, changed <-chan struct{}) (next *elsewhere) {
	using, cancel := context.WithCancel(ctx)
	var borrowing sync.WaitGroup
	borrowing.Go(func() { i.use(using, e.host) })
	defer borrowing.Wait()
	defer cancel()
	for {
		_, err := i.own(ctx)
		other, isElsewhere := errors.AsType[*elsewhere](err)
		switch {
		case err == nil:
			i.entry.Update(func(s *plugins.Status) { s.State, s.Detail = plugins.Starting, "" })
			return nil
		case ctx.Err() != nil:
			return nil
		case isElsewhere && other.host != e.host:
			return other
		}
		select {
		case <-changed:
		case <-i.restart:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// use publishes the channel of a host until ctx ends.
func (i *instance) use(ctx context.Context, host string) {
	for ctx.Err() == nil {
		live, err := i.describe(ctx, host)
		if err == nil {
			i.entry.Update(func(s *plugins.Status) { s.Version, s.Kinds = live.Version, plugins.Kinds(live.Description) })
			i.entry.Publish(live)
			i.settle()
			<-ctx.Done()
			i.entry.Publish(nil)
			return
		}
		i.settle()
		if ctx.Err() == nil {
			i.log.Debug("the channel of another host does not answer; it is asked again", "host", host, "error", err)
		}
		select {
		case <-time.After(borrowAgain):
		case <-ctx.Done():
		}
	}
}

// describe asks the channel of a host what it is.
func (i *instance) describe(ctx context.Context, host string) (*plugins.Plugin, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	p := remote.New(relay.NewConn(i.options.Calls, i.name))
	description, err := p.Describe(ctx, i.options.HostVersion)
	if err != nil {
		return nil, err
	}
	return plugins.Open(ctx, i.name, host, p, description)
}

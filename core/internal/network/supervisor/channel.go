package supervisor

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
)

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

// yield gives the channel up, if it is this host's.
func (i *instance) yield() {
	if i.duty != nil {
		i.duty.Yield()
		i.duty = nil
	}
}

// await returns when the channel may be this host's, a restart is requested, or ctx ends.
func (i *instance) await(ctx context.Context, e *elsewhere) {
	changed, stop := i.options.Fleet.WatchDuties()
	defer stop()
	i.entry.Update(func(s *plugins.Status) { s.State, s.Detail, s.Doing, s.Failure = plugins.Elsewhere, e.Error(), "", nil })
	i.log.Info("another host runs the channel", "host", e.host)
	for {
		if _, err := i.own(ctx); err == nil || ctx.Err() != nil {
			i.entry.Update(func(s *plugins.Status) { s.State, s.Detail = plugins.Starting, "" })
			return
		}
		select {
		case <-changed:
		case <-i.restart:
			return
		case <-ctx.Done():
			return
		}
	}
}

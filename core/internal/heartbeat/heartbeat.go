// Package heartbeat runs regular turns in which the agent checks what it was asked to watch.
package heartbeat

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// Options are a heartbeat's settings.
type Options struct {
	Every time.Duration // more than zero
	// From and To are the active minutes after midnight; they may span midnight. If they are equal, always.
	From, To int
	Zone     *time.Location
}

// Task is what a heartbeat does.
type Task interface {
	// Idle reports why no beat is needed, such as an empty list of what to watch; "": one is.
	Idle(ctx context.Context) (why string, err error)
	// Beat queues a turn. The id is the same for the same beat.
	Beat(ctx context.Context, id domain.Key) error
}

// Heartbeat calls Beat at intervals.
type Heartbeat struct {
	options Options
	task    Task
	log     hclog.Logger
}

// New returns a heartbeat. Run starts it.
func New(options Options, task Task, log hclog.Logger) *Heartbeat {
	return &Heartbeat{options: options, task: task, log: log}
}

// Run beats until ctx ends, first after one interval.
func (h *Heartbeat) Run(ctx context.Context) {
	tick := time.NewTicker(h.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := h.beat(ctx, now); err != nil && ctx.Err() == nil {
				h.log.Error("a heartbeat failed", "error", err)
			}
		}
	}
}

func (h *Heartbeat) beat(ctx context.Context, now time.Time) error {
	if !h.active(now) {
		h.log.Debug("no heartbeat outside its hours")
		return nil
	}
	why, err := h.task.Idle(ctx)
	if err != nil {
		return err
	}
	if why != "" {
		h.log.Debug("no heartbeat", "reason", why)
		return nil
	}
	return h.task.Beat(ctx, domain.KeyHeartbeat.Of(now.UnixMilli()))
}

// active reports whether a time is within the active hours.
func (h *Heartbeat) active(now time.Time) bool {
	local := now.In(h.options.Zone)
	minute := local.Hour()*60 + local.Minute()
	from, to := h.options.From, h.options.To
	switch {
	case from == to:
		return true
	case from < to:
		return from <= minute && minute < to
	default:
		return minute >= from || minute < to
	}
}

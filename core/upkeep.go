package core

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/operate/retention"
)

// upkeepEvery is the interval at which expired rows and files are deleted.
const upkeepEvery = time.Hour

// upkeep deletes what has expired, at once and then every hour, until ctx ends.
func (h *Host) upkeep(ctx context.Context) {
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	for {
		c := h.current.Get()
		if err := retention.Enforce(ctx, c, h.store, time.Now()); err != nil && ctx.Err() == nil {
			h.log.Error("cannot delete what is no longer to be kept", "error", err)
		}
		duty, _, err := h.fleet.Take(ctx, "upkeep")
		if duty != nil { // one host does it for all
			err = h.store.Purge(duty.Context(), retention.Ages(c.Retention))
			duty.Yield()
		}
		if err != nil && ctx.Err() == nil {
			h.log.Error("cannot delete expired rows", "error", err)
		}
		h.questions.Expire(ctx)
		if err := h.media.Forget(ctx); err != nil && ctx.Err() == nil {
			h.log.Error("cannot delete expired files", "error", err)
		}
		h.worktrees.Sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

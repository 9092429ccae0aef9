package store

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
	"github.com/clawhost/clawhost/core/internal/store/queue"
)

// Reclaim is called once at the start, before any claim: it makes everything claimable again that the previous process
// had claimed, or a host that is gone. It returns the number of lost runs and of deliveries with an unknown outcome; these are
// marked Uncertain.
func (s *Store) Reclaim(ctx context.Context) (runs, deliveries int, err error) {
	taken, err := engine.Do(ctx, s.db, "reclaim", func(t *engine.Tx) (taken Taken, err error) {
		if s.self.Alone() {
			if err := hosts.Clear(t); err != nil {
				return taken, err
			}
		}
		if err := reclaim(t, &taken); err != nil || !s.self.Alone() {
			return taken, err
		}
		return taken, errors.Join(queue.Settle(t), setBackBefore(t))
	})
	return taken.Runs, taken.Deliveries, err
}

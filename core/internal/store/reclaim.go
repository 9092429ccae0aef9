package store

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/queue"
)

// Reclaim is called once at the start, before any claim: it makes everything claimable again that the previous process
// had claimed. It returns the number of lost runs and of deliveries with an unknown outcome; these are marked
// Uncertain.
func (s *Store) Reclaim(ctx context.Context) (runs, deliveries int, err error) {
	type result struct{ runs, deliveries int64 }
	r, err := engine.Do(ctx, s.db, "reclaim", func(t *engine.Tx) (r result, err error) {
		if r.runs, err = queue.Reclaim(t); err != nil {
			return r, err
		}
		if err := setBackBefore(t); err != nil {
			return r, err
		}
		r.deliveries, err = delivery.Reclaim(t)
		announceAll(t)
		return r, err
	})
	return int(r.runs), int(r.deliveries), err
}

package store

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
	"github.com/clawhost/clawhost/core/internal/store/queue"
)

// Taken is what a host has taken over from another one.
type Taken struct {
	Gone             bool // the other one was alive for the store until now, and had no lease
	Runs, Deliveries int
}

// Expel takes over what a host without a lease has in hand, as [Store.Reclaim] does. A host that has renewed its lease meanwhile, and one that
// another host has expelled, loses nothing.
func (s *Store) Expel(ctx context.Context, id string) (Taken, error) {
	return engine.Do(ctx, s.db, "expel", func(t *engine.Tx) (taken Taken, err error) {
		if taken.Gone, err = hosts.Expel(t, id); err != nil || !taken.Gone {
			return taken, err
		}
		return taken, reclaim(t, &taken)
	})
}

// Leave ends the membership of this process: what it has in hand is free for others.
func (s *Store) Leave(ctx context.Context) error {
	return engine.Change(ctx, s.db, "leave", func(t *engine.Tx) error {
		if err := s.self.Leave(t); err != nil {
			return err
		}
		return reclaim(t, &Taken{})
	})
}

// reclaim makes everything claimable again that hosts have in hand which are gone.
func reclaim(t *engine.Tx, taken *Taken) error {
	runs, err := queue.Reclaim(t)
	if err != nil {
		return err
	}
	deliveries, err := delivery.Reclaim(t)
	taken.Runs, taken.Deliveries = int(runs), int(deliveries)
	announceAll(t)
	return err
}

// MoveFrom lets other hosts claim some of the lanes that wait for a host that is gone. More reports whether some may be left.
func (s *Store) MoveFrom(ctx context.Context, gone domain.Member) (more bool, err error) {
	return s.move(ctx, "move lanes", func(t *engine.Tx) ([]domain.Lane, bool, error) { return s.self.Move(t, gone) })
}

// Adopt places some of the lanes that have work of a host that was alone with the database. More reports whether some may be left.
func (s *Store) Adopt(ctx context.Context) (more bool, err error) {
	return s.move(ctx, "adopt lanes", s.self.Adopt)
}

// HandOver lets other hosts claim some of the turns that wait for this process, which is drained. More reports whether some may be left.
func (s *Store) HandOver(ctx context.Context) (more bool, err error) {
	return s.move(ctx, "hand lanes over", s.self.HandOver)
}

func (s *Store) move(ctx context.Context, name string, step func(*engine.Tx) ([]domain.Lane, bool, error)) (more bool, err error) {
	return engine.Do(ctx, s.db, name, func(t *engine.Tx) (bool, error) {
		lanes, more, err := step(t)
		for _, lane := range lanes {
			t.Announce(queue.LaneReady(lane))
		}
		return more, err
	})
}

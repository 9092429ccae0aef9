package store

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// ClaimNow is [Store.Claim] without waiting, of all lanes where whose is not given. Nil: nothing is ready, and the first lane
// that could be claimed will be at next; zero: there is no such lane.
func (s *Store) ClaimNow(ctx context.Context, lane domain.Lane, whose ...domain.Whose) (run *domain.Run, next time.Time, err error) {
	var unreadable *unreadableError
	due, err := engine.Do(ctx, s.db, "claim", func(t *engine.Tx) (due int64, err error) {
		run, due, err = claim(t, lane, append(whose, domain.Anybodys)[0])
		if errors.As(err, &unreadable) {
			err = postpone(t, unreadable.session, lane, unreadable.seq, t.Now+setAside.Milliseconds())
		}
		return due, err
	})
	if err == nil && unreadable != nil {
		return nil, time.Time{}, unreadable
	}
	return run, engine.Moment(due), err
}

// ClaimDeliveriesNow is [Store.ClaimDeliveries] without waiting. Next is when the first destination that was left will be due.
func (s *Store) ClaimDeliveriesNow(ctx context.Context, channel string, limit int) (ds []domain.Delivery, next time.Time, err error) {
	due, err := engine.Do(ctx, s.db, "claim deliveries", func(t *engine.Tx) (due int64, err error) {
		ds, due, err = claimDeliveries(t, channel, limit)
		return due, err
	})
	for i := range ds {
		ds[i].Key = s.id + "-" + ds[i].Key
	}
	return ds, engine.Moment(due), err
}

// Pokes tell that something may have become claimable, or will at another time than before. One may stand for many.
type Pokes struct{ Turns, Controls, Deliveries <-chan struct{} }

// Pokes gets all that would wake claims.
func (s *Store) Pokes() Pokes {
	watch := func(topic engine.Topic) <-chan struct{} {
		pokes, _ := s.db.Watch(topic)
		return pokes
	}
	return Pokes{
		Turns:      watch(laneReady(domain.TurnLane)),
		Controls:   watch(laneReady(domain.ControlLane)),
		Deliveries: watch(deliveriesReady),
	}
}

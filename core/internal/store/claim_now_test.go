package store

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// ClaimNow is [Store.Claim] without waiting, of all lanes where whose is not given. Nil: nothing is ready, and the first lane
// that could be claimed will be at next; zero: there is no such lane.
func (s *Store) ClaimNow(ctx context.Context, lane domain.Lane, whose ...domain.Whose) (run *domain.Run, next time.Time, err error) {
	var unreadable *unreadableError
	due, err := step(ctx, s, "claim", func(t *tx) (due int64, err error) {
		run, due, err = t.claim(lane, append(whose, domain.Anybodys)[0])
		if errors.As(err, &unreadable) {
			err = t.postpone(unreadable.session, lane, unreadable.seq, t.now+setAside.Milliseconds())
		}
		return due, err
	})
	if err == nil && unreadable != nil {
		return nil, time.Time{}, unreadable
	}
	return run, moment(due), err
}

// ClaimDeliveriesNow is [Store.ClaimDeliveries] without waiting. Next is when the first destination that was left will be due.
func (s *Store) ClaimDeliveriesNow(ctx context.Context, channel string, limit int) (ds []domain.Delivery, next time.Time, err error) {
	due, err := step(ctx, s, "claim deliveries", func(t *tx) (due int64, err error) {
		ds, due, err = t.claimDeliveries(channel, limit)
		return due, err
	})
	for i := range ds {
		ds[i].Key = s.id + "-" + ds[i].Key
	}
	return ds, moment(due), err
}

// Pokes tell that something may have become claimable, or will at another time than before. One may stand for many.
type Pokes struct{ Turns, Controls, Deliveries <-chan struct{} }

// Pokes stands for claims, and gets all that would wake them.
func (s *Store) Pokes(ctx context.Context) Pokes {
	stand := func(wants func(effects) bool) <-chan struct{} {
		pokes, stands := make(chan struct{}, 1), make(chan struct{})
		first := true
		go func() {
			_ = await(ctx, s, "stand", wants, func(*tx) (nothing, bool, int64, error) {
				if first {
					first = false
					close(stands)
				} else {
					select {
					case pokes <- struct{}{}:
					default:
					}
				}
				return nothing{}, false, 0, nil
			}, func(nothing) {})
		}()
		<-stands
		return pokes
	}
	return Pokes{
		Turns:      stand(func(e effects) bool { return e.turns }),
		Controls:   stand(func(e effects) bool { return e.controls }),
		Deliveries: stand(func(e effects) bool { return e.deliveries }),
	}
}

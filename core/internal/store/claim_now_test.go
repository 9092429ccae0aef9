package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/queue"
)

// idleError is the error of a step that would wait.
type idleError struct{ due int64 }

func (idleError) Error() string { return "nothing to do" }

// atOnce is an engine that fails steps which would wait.
type atOnce struct{ engine.Engine }

func (a atOnce) Run(ctx context.Context, s engine.Step) error {
	if s.Waits == nil {
		return a.Engine.Run(ctx, s)
	}
	var idle bool
	var due int64
	err := a.Engine.Run(ctx, engine.Step{
		Run: func(t *engine.Tx) error {
			err := s.Run(t)
			idle, due = t.Idled()
			return err
		},
		Committed: func() {
			if !idle && s.Committed != nil {
				s.Committed()
			}
		},
	})
	if err == nil && idle {
		return idleError{due}
	}
	return err
}

// now are the parts of stores whose steps do not wait.
var now sync.Map // by *Store

type parts struct {
	lanes  *queue.Store
	outbox *delivery.Store
}

func (s *Store) now(ctx context.Context) (parts, error) {
	if known, ok := now.Load(s); ok {
		return known.(parts), nil
	}
	var id string
	if err := s.db.View(ctx).Row(`SELECT id FROM store`, nil, &id); err != nil {
		return parts{}, err
	}
	outbox, err := delivery.New(ctx, atOnce{s.db}, s.self, id)
	p := parts{queue.New(atOnce{s.db}, s.self), outbox}
	now.Store(s, p)
	return p, err
}

// ClaimNow is [Store.Claim] without waiting, of all lanes where whose is not given. Nil: nothing is ready, and the first lane
// that could be claimed will be at next; zero: there is no such lane.
func (s *Store) ClaimNow(ctx context.Context, lane domain.Lane, whose ...domain.Whose) (run *domain.Run, next time.Time, err error) {
	p, err := s.now(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	err = p.lanes.Claim(ctx, lane, append(whose, domain.Anybodys)[0], func(claimed *domain.Run) { run = claimed })
	if idle, ok := errors.AsType[idleError](err); ok {
		return nil, engine.Moment(idle.due), nil
	}
	return run, time.Time{}, err
}

// ClaimDeliveriesNow is [Store.ClaimDeliveries] without waiting. Without a delivery, next is when the first destination will be due.
func (s *Store) ClaimDeliveriesNow(ctx context.Context, channel string, limit int) (ds []domain.Delivery, next time.Time, err error) {
	p, err := s.now(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	ds, err = p.outbox.ClaimDeliveries(ctx, channel, limit)
	if idle, ok := errors.AsType[idleError](err); ok {
		return nil, engine.Moment(idle.due), nil
	}
	return ds, time.Time{}, err
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
		Turns:      watch(queue.LaneReady(domain.TurnLane)),
		Controls:   watch(queue.LaneReady(domain.ControlLane)),
		Deliveries: watch(delivery.DeliveriesReady),
	}
}

package queue

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Lift records that a budget is lifted for a day, and ends the wait of the messages that wait for it; see [domain.Hold].
func (s *Store) Lift(ctx context.Context, lift domain.Lift) error {
	return engine.Change(ctx, s.db, "lift", func(t *engine.Tx) error { return liftBudget(t, lift) })
}

func liftBudget(t *engine.Tx, lift domain.Lift) error {
	if _, err := t.Exec(`INSERT INTO lifts (budget, day, lifted_at) VALUES (?1, ?2, ?3) ON CONFLICT (budget, day) DO NOTHING`,
		lift.Budget, lift.Day, t.Now); err != nil {
		return err
	}
	type place struct {
		session string
		lane    domain.Lane
		seq     int64
	}
	var waiting []place
	err := t.Each(`SELECT session, lane, seq FROM inbox WHERE budget = ?1 AND held_until > ?2`, []any{lift.Budget, t.Now}, func(rows engine.Rows) error {
		var p place
		defer func() { waiting = append(waiting, p) }()
		return rows.Scan(&p.session, &p.lane, &p.seq)
	})
	if err != nil {
		return err
	}
	for _, p := range waiting {
		if _, err := t.Exec(`UPDATE inbox SET held_until = NULL WHERE session = ?1 AND lane = ?2 AND seq = ?3`, p.session, p.lane, p.seq); err != nil {
			return err
		}
		if err := postpone(t, p.session, p.lane, p.seq, t.Now); err != nil {
			return err
		}
		t.Announce(LaneReady(p.lane))
	}
	return nil
}

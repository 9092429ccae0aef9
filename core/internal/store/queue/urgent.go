package queue

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Next moves a message that waits in a session's turn lane, and the rest of its burst, before all other waiting
// messages, including those moved earlier; it no longer waits for quiet. What runs, or waits for another try, comes
// first. The message is named by the Seq of its acceptance, and keeps that name. If another conversation has begun
// since it was written, it is still answered in its own; otherwise in the one that is current by then. The error is
// [domain.ErrNotFound] for a message that does not wait, and [domain.ErrHeld] for one that waits for another try.
func (s *Store) Next(ctx context.Context, session string, seq int64) error {
	return engine.Change(ctx, s.db, "next", func(t *engine.Tx) error { return next(t, session, seq) })
}

func next(t *engine.Tx, session string, ticket int64) error {
	var burst int64
	var held bool
	err := t.Row(`SELECT burst, batch IS NOT NULL FROM inbox WHERE session = ?1 AND lane = 'turn' AND COALESCE(ticket, seq) = ?2
			AND `+unclaimed, []any{session, ticket}, &burst, &held)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return domain.ErrNotFound
	case err != nil:
		return err
	case held:
		return domain.ErrHeld
	}
	var urgent int64
	var running bool
	if err := t.Row(`UPDATE lanes SET urgent = urgent + 1 WHERE session = ?1 AND lane = 'turn' RETURNING urgent, run_id IS NOT NULL`,
		[]any{session}, &urgent, &running); err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE inbox SET urgent = ?3, ready_at = ?4, burst_by = '', mode = CASE mode WHEN ?5 THEN ?6 ELSE mode END
		WHERE session = ?1 AND lane = 'turn' AND burst = ?2 AND batch IS NULL AND joined_run IS NULL`,
		session, burst, urgent, t.Now, domain.Collect, domain.Queue); err != nil || running {
		return err
	}
	var first int64
	var again bool
	if err := t.Row(`SELECT seq, batch IS NOT NULL FROM inbox WHERE session = ?1 AND lane = 'turn' ORDER BY seq LIMIT 1`,
		[]any{session}, &first, &again); err != nil || again {
		return err
	}
	if _, err := advanceUrgent(t, session, domain.TurnLane, first); err != nil {
		return err
	}
	t.Announce(LaneReady(domain.TurnLane))
	return rearm(t, session, domain.TurnLane)
}

// advanceUrgent moves the urgent messages of a lane in which nothing is claimed to seqs before first, which precedes
// all of its messages. It returns the new first seq.
func advanceUrgent(t *engine.Tx, session string, lane domain.Lane, first int64) (int64, error) {
	type waiting struct{ seq, urgent int64 }
	var list []waiting
	err := t.Each(`SELECT seq, urgent FROM inbox WHERE session = ?1 AND lane = ?2 AND urgent > 0 ORDER BY seq`,
		[]any{session, lane}, func(rows engine.Rows) error {
			var w waiting
			defer func() { list = append(list, w) }()
			return rows.Scan(&w.seq, &w.urgent)
		})
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		_, err := t.Exec(`UPDATE lanes SET urgent = 0 WHERE session = ?1 AND lane = ?2`, session, lane)
		return first, err
	}
	slices.SortStableFunc(list, func(a, b waiting) int { return cmp.Compare(b.urgent, a.urgent) })
	first = placesBefore(first, int64(len(list)))
	for i, w := range list {
		if _, err := t.Exec(`UPDATE inbox SET seq = ?4, ticket = COALESCE(ticket, seq) WHERE session = ?1 AND lane = ?2 AND seq = ?3`,
			session, lane, w.seq, first+int64(i)); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// placesBefore is the first of n seqs before another one. 0 is not used.
func placesBefore(seq, n int64) int64 {
	if seq > 0 && seq <= n {
		return -n
	}
	return seq - n
}

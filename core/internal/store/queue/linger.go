package queue

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Linger has the messages of a burst wait for another one until a new time, earlier or later than before: those by an author of a
// session, as in [domain.Burst.By], that still wait for more and for nothing else. It does nothing if there are none.
func (s *Store) Linger(ctx context.Context, session, by string, until time.Time) error {
	return engine.Change(ctx, s.db, "linger", func(t *engine.Tx) error {
		var burst int64
		err := t.Row(`SELECT i.burst FROM inbox i JOIN lanes l ON l.session = i.session AND l.lane = i.lane
			WHERE i.session = ?1 AND i.lane = 'turn' AND i.burst_by = ?2 AND i.batch IS NULL AND i.joined_run IS NULL AND i.ready_at > ?3
				AND l.run_id IS NULL ORDER BY i.seq DESC LIMIT 1`, []any{session, by, t.Now}, &burst)
		if errors.Is(err, sql.ErrNoRows) || by == "" {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE inbox SET ready_at = ?3 WHERE session = ?1 AND lane = 'turn' AND burst = ?2 AND batch IS NULL AND joined_run IS NULL`,
			session, burst, max(t.Now, engine.Millis(until))); err != nil {
			return err
		}
		t.Announce(LaneReady(domain.TurnLane))
		return rearm(t, session, domain.TurnLane)
	})
}

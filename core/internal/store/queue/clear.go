package queue

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// cleared is the reason of messages that were dropped on request.
const cleared = "dropped before it ran"

// Clear drops the messages that wait in a lane and came before a command received at the given time; it returns their
// number. Each counts as an event whose run was cancelled. Messages that were joined to the running turn stay with it
// until it ends: those that it has covered then leave with it, the rest are dropped. The messages that the turn was
// claimed for are not affected.
func (s *Store) Clear(ctx context.Context, session string, lane domain.Lane, before time.Time) (int, error) {
	return engine.Do(ctx, s.db, "clear", func(t *engine.Tx) (int, error) { return clearLane(t, session, lane, engine.Millis(before)) })
}

func clearLane(t *engine.Tx, session string, lane domain.Lane, before int64) (int, error) {
	var batch int64 // 0 precedes every message
	err := t.Row(`SELECT COALESCE((SELECT seq FROM runs WHERE id = lanes.run_id), 0) FROM lanes WHERE session = ?1 AND lane = ?2`,
		[]any{session, lane}, &batch)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	dropped, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND (batch IS NULL OR batch != ?3) AND joined_run IS NULL
			AND (received_at < ?4 OR received_at > ?5)
		RETURNING `+columns, session, lane, batch, before, t.Now+domain.MaxSkew.Milliseconds())
	if err != nil {
		return 0, err
	}
	steered, err := t.Exec(`UPDATE inbox SET withdrawn = 1 WHERE session = ?1 AND lane = ?2 AND joined_run IS NOT NULL AND withdrawn = 0
			AND (received_at < ?3 OR received_at > ?4)`, session, lane, before, t.Now+domain.MaxSkew.Milliseconds())
	if err != nil || len(dropped) == 0 {
		return int(steered), err
	}
	if err := drop(t, session, lane, dropped, cleared); err != nil {
		return 0, err
	}
	t.Announce(LaneReady(lane))
	return len(dropped) + int(steered), rearm(t, session, lane)
}

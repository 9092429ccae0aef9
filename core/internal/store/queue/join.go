package queue

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Join gives a running run the messages that can be steered into it, in order, and returns them: those whose mode
// steers ([domain.Queueing.Steers]), with its authority, address and settings, up to the first that may not be steered.
// An open burst does not delay them: claude itself combines what it gets while it works. A run in a replaced claude
// session gets none that were written since: they belong to the new one. The messages are the run's until it ends;
// those that it does not name as covered wait again, unless they were cleared. The error is [domain.ErrFenced] for a
// run that has lost its lane.
func (s *Store) Join(ctx context.Context, runID int64) ([]domain.Queued, error) {
	return engine.Do(ctx, s.db, "join", func(t *engine.Tx) ([]domain.Queued, error) { return join(t, runID) })
}

func join(t *engine.Tx, runID int64) ([]domain.Queued, error) {
	const most = 20
	h, err := fence(t, runID)
	if err != nil || h.queued == h.held {
		return nil, err
	}
	var share, overrides, claude, current string
	err = t.Row(`SELECT i.share, i.overrides, i.claude_session, s.claude_session FROM inbox i JOIN sessions s ON s.key = i.session
		WHERE i.session = ?1 AND i.lane = ?2 AND i.seq = ?3`, []any{h.session, h.lane, h.seq}, &share, &overrides, &claude, &current)
	if err != nil {
		return nil, err
	}
	var found []claimed
	err = t.Each(`SELECT `+columns+` FROM inbox WHERE session = ?1 AND lane = ?2 AND batch IS NULL AND joined_run IS NULL ORDER BY seq LIMIT ?3 + 0`,
		[]any{h.session, h.lane, most}, func(rows engine.Rows) error {
			var m claimed
			err := rows.Scan(m.dest()...)
			if err != nil {
				return err
			}
			of := current
			if m.claude.Valid {
				of = m.claude.String
			}
			if !m.steers || m.fresh || m.origin != "" || of != claude || m.share != share || m.overrides != overrides {
				return engine.ErrEnough
			}
			if m.Queued, err = m.queued(); err != nil {
				return engine.ErrEnough
			}
			found = append(found, m)
			return nil
		})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	list := make([]domain.Queued, len(found))
	for i, m := range found {
		list[i] = m.Queued
		if err := delivery.Retract(t, m.receipt); err != nil {
			return nil, err
		}
		if _, err := t.Exec(`UPDATE inbox SET joined_run = ?4, receipt = 0 WHERE session = ?1 AND lane = ?2 AND seq = ?3`,
			h.session, h.lane, m.seq, runID); err != nil {
			return nil, err
		}
		if err := show(t, m.event, m.reacts, domain.StageRunning); err != nil {
			return nil, err
		}
	}
	_, err = t.Exec(`UPDATE lanes SET held = held + ?3 WHERE session = ?1 AND lane = ?2`, h.session, h.lane, len(list))
	return list, err
}

// part makes the messages that were joined to a run wait again, except those that were cleared meanwhile.
func part(t *engine.Tx, h held, runID int64) error {
	gone, err := remove(t, `DELETE FROM inbox WHERE joined_run = ?1 AND withdrawn = 1 RETURNING `+columns, runID)
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		if err := drop(t, h.session, h.lane, gone, cleared); err != nil {
			return err
		}
	}
	var waiting []event
	err = t.Each(`UPDATE inbox SET joined_run = NULL WHERE joined_run = ?1 RETURNING channel, event_id, reacts`, []any{runID}, func(rows engine.Rows) error {
		var e event
		var reacts bool
		err := rows.Scan(&e.channel, &e.id, &reacts)
		if reacts {
			waiting = append(waiting, e)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range waiting {
		if err := show(t, e, true, domain.StageWaiting); err != nil {
			return err
		}
	}
	return nil
}

// partOrphans separates joined messages from the runs of the previous process.
func partOrphans(t *engine.Tx) error {
	type joined struct {
		held
		run int64
	}
	var list []joined
	err := t.Each(`SELECT session, lane, run_id FROM lanes WHERE `+orphans, nil, func(rows engine.Rows) error {
		var j joined
		defer func() { list = append(list, j) }()
		return rows.Scan(&j.session, &j.lane, &j.run)
	})
	if err != nil {
		return err
	}
	for _, j := range list {
		if j.lane == domain.TurnLane {
			t.Announce(turnChanged(j.session))
		}
		if err := part(t, j.held, j.run); err != nil {
			return err
		}
	}
	return nil
}

package queue

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Early sends a part of a running run: the items and the preview enter the outbox, and what was said is recorded with
// them, so that the run's next attempt finds both in [domain.Run]. It returns the run's new preview; zero: none. Items
// of its completion follow all of this. The error is [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) Early(ctx context.Context, runID int64, e domain.Early) (preview int64, err error) {
	if err := checkEarly(e); err != nil {
		return 0, fmt.Errorf("early: %w", err)
	}
	return engine.Do(ctx, s.db, "early", func(t *engine.Tx) (int64, error) { return early(t, runID, e) })
}

func checkEarly(e domain.Early) error {
	if e.Preview != nil {
		if err := delivery.Check([]domain.OutboxItem{*e.Preview}); err != nil {
			return err
		}
	}
	return delivery.Check(e.Items)
}

func early(t *engine.Tx, runID int64, e domain.Early) (preview int64, err error) {
	h, err := fence(t, runID)
	if err != nil {
		return 0, err
	}
	if _, err := delivery.Post(t, runID, e.Items); err != nil {
		return 0, err
	}
	if e.Sent != nil {
		if err := recordSent(t, h, *e.Sent, e.Files); err != nil {
			return 0, err
		}
	}
	var posted int64
	if e.Preview != nil {
		p := *e.Preview
		p.Kept = true
		if posted, err = delivery.Post(t, runID, []domain.OutboxItem{p}); err != nil {
			return 0, err
		}
	}
	err = t.Row(`UPDATE inbox SET said = ?4, preview = CASE WHEN ?5 != 0 THEN ?5 WHEN ?6 THEN 0 ELSE preview END
		WHERE session = ?1 AND lane = ?2 AND seq = ?3 RETURNING preview`,
		[]any{h.session, h.lane, h.seq, e.Said, posted, e.Unpreview}, &preview)
	return preview, err
}

// disown removes what a run has sent early: the rest of that text will not follow.
func disown(t *engine.Tx, h held) error {
	var preview int64
	err := t.Row(`SELECT preview FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3`, []any{h.session, h.lane, h.seq}, &preview)
	if err != nil {
		return err
	}
	if err := delivery.Retract(t, preview); err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE inbox SET said = '', preview = 0 WHERE session = ?1 AND lane = ?2 AND seq = ?3`, h.session, h.lane, h.seq)
	return err
}

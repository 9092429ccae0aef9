package store

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Early sends a part of a running run: the items and the preview enter the outbox, and what was said is recorded with
// them, so that the run's next attempt finds both in [domain.Run]. It returns the run's new preview; zero: none. Items
// of its completion follow all of this. The error is [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) Early(ctx context.Context, runID int64, e domain.Early) (preview int64, err error) {
	if err := checkEarly(e); err != nil {
		return 0, fmt.Errorf("early: %w", err)
	}
	return step(ctx, s, "early", func(t *tx) (int64, error) { return t.early(runID, e) })
}

func checkEarly(e domain.Early) error {
	if e.Preview != nil {
		if err := checkItems([]domain.OutboxItem{*e.Preview}); err != nil {
			return err
		}
	}
	return checkItems(e.Items)
}

func (t *tx) early(runID int64, e domain.Early) (preview int64, err error) {
	h, err := fence(t, runID)
	if err != nil {
		return 0, err
	}
	if _, err := t.post(runID, e.Items); err != nil {
		return 0, err
	}
	if e.Sent != nil {
		if err := t.recordSent(h, *e.Sent, e.Files); err != nil {
			return 0, err
		}
	}
	var posted int64
	if e.Preview != nil {
		p := *e.Preview
		p.Kept = true
		if posted, err = t.post(runID, []domain.OutboxItem{p}); err != nil {
			return 0, err
		}
	}
	err = t.row(`UPDATE inbox SET said = ?4, preview = CASE WHEN ?5 != 0 THEN ?5 WHEN ?6 THEN 0 ELSE preview END
		WHERE session = ?1 AND lane = ?2 AND seq = ?3 RETURNING preview`,
		[]any{h.session, h.lane, h.seq, e.Said, posted, e.Unpreview}, &preview)
	return preview, err
}

// disown removes what a run has sent early: the rest of that text will not follow.
func (t *tx) disown(h held) error {
	var preview int64
	err := t.row(`SELECT preview FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3`, []any{h.session, h.lane, h.seq}, &preview)
	if err != nil {
		return err
	}
	if err := t.retract(preview); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE inbox SET said = '', preview = 0 WHERE session = ?1 AND lane = ?2 AND seq = ?3`, h.session, h.lane, h.seq)
	return err
}

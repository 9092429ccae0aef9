package store

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// NotePast gives a run more notes, as if they had been there when it was claimed. The error is [domain.ErrFenced] for a run that
// has lost its lane.
func (s *Store) NotePast(ctx context.Context, runID int64, notes []domain.Note) error {
	_, err := step(ctx, s, "note what was said before", func(t *tx) (nothing, error) {
		h, err := fence(t, runID)
		if err != nil {
			return nothing{}, err
		}
		for _, n := range notes {
			_, err := t.exec(`INSERT INTO notes (session, kind, at, sender, text, count, message_id, batch) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)`,
				h.session, n.Kind, millis(n.At), n.Sender, cutText(n.Text), n.MessageID, h.seq)
			if err != nil {
				return nothing{}, err
			}
		}
		return nothing{}, nil
	})
	return err
}

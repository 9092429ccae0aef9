package queue

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// NotePast gives a run more notes, as if they had been there when it was claimed. The error is [domain.ErrFenced] for a run that
// has lost its lane.
func (s *Store) NotePast(ctx context.Context, runID int64, notes []domain.Note) error {
	return engine.Change(ctx, s.db, "note what was said before", func(t *engine.Tx) error {
		h, err := fence(t, runID)
		if err != nil {
			return err
		}
		for _, n := range notes {
			_, err := t.Exec(`INSERT INTO notes (session, kind, at, sender, text, count, message_id, batch) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)`,
				h.session, n.Kind, engine.Millis(n.At), n.Sender, sessions.CutText(n.Text), n.MessageID, h.seq)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

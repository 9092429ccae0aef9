package queue

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// RecordPassive records an event that starts no turn, unless it was recorded or accepted before.
func (s *Store) RecordPassive(ctx context.Context, o domain.Passive) (duplicate bool, err error) {
	if err := dedupe.CheckEvent(o.EventID, o.Channel, o.Session); err != nil {
		return false, fmt.Errorf("record passive message: %w", err)
	}
	return engine.Do(ctx, s.db, "record passive", func(t *engine.Tx) (bool, error) {
		fresh, err := dedupe.RecordEvent(t, o.Channel, o.EventID)
		if err != nil || !fresh {
			return !fresh, err
		}
		if err := sessions.KeepStarter(t, o.Session, o.Starter); err != nil {
			return false, err
		}
		if o.Note != nil && o.Limit > 0 {
			if err := sessions.Remember(t, o.Session, *o.Note, o.Limit); err != nil {
				return false, err
			}
		}
		return false, sessions.AppendTranscript(t, o.Session, nil, o.Transcript)
	})
}

// NotifyDropped posts the notice about dropped messages to the chat of a run, and records that it was given: see
// [domain.Run]. The error is [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) NotifyDropped(ctx context.Context, runID int64, items ...domain.OutboxItem) error {
	if err := delivery.Check(items); err != nil {
		return fmt.Errorf("tell of dropped messages: %w", err)
	}
	return engine.Change(ctx, s.db, "tell of dropped messages", func(t *engine.Tx) error {
		h, err := fence(t, runID)
		if err != nil {
			return err
		}
		if _, err := delivery.Post(t, 0, items); err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE notes SET told = count WHERE session = ?1 AND kind = ?2 AND batch = ?3`, h.session,
			domain.NoteOverflow, h.seq)
		return err
	})
}

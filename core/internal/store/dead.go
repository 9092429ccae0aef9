package store

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/questions"
)

// DeadLetter gives up a claimed delivery: the item becomes a dead letter with its cause, and its destination continues.
// Its session can get a notice of it, unless it is a kept item, which only shows progress, or belongs to no run: see
// [domain.Completion]. If the item was the message of an open question, the question ends, and its notice to the
// session replaces the item's. The error is [domain.ErrNotFound] for an item that is not claimed.
func (s *Store) DeadLetter(ctx context.Context, id int64, cause string) error {
	return engine.Change(ctx, s.db, "dead letter", func(t *engine.Tx) error {
		unseen, err := questions.MarkUndeliverable(t, id)
		if err != nil {
			return err
		}
		return delivery.GiveUp(t, id, cause, unseen)
	})
}

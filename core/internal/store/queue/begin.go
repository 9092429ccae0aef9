package queue

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// BeginAs gives a run's claude session, in which nothing was said yet, another id: that of a process which waits for a conversation. The
// error is [domain.ErrFenced] for a run that has lost its lane. A power failure may undo it, as [Store.Consumed].
func (s *Store) BeginAs(ctx context.Context, runID int64, claude string) error {
	return engine.ChangeSoftly(ctx, s.db, "begin as", func(t *engine.Tx) error {
		h, err := fence(t, runID)
		if err != nil {
			return err
		}
		var old string
		err = t.Row(`UPDATE claude_sessions SET id = ?4 WHERE started_at IS NULL AND id =
				(SELECT claude_session FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3)
			RETURNING (SELECT claude_session FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3)`,
			[]any{h.session, h.lane, h.seq, claude}, &old)
		if err != nil {
			return fmt.Errorf("session %s: %w", h.session, err)
		}
		if _, err := t.Exec(`UPDATE sessions SET claude_session = ?3 WHERE key = ?1 AND claude_session = ?2`, h.session, old, claude); err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE inbox SET claude_session = ?4 WHERE session = ?1 AND lane = ?2 AND claude_session = ?3`, h.session, h.lane, old, claude)
		return err
	})
}

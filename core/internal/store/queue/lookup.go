package queue

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// EventOfRun returns the event whose message a run answers, or has answered: that of its head.
func (s *Store) EventOfRun(ctx context.Context, run int64) (channel string, id chat.EventID, err error) {
	err = s.db.View(ctx).Row(`SELECT channel, event_id FROM runs WHERE id = ?1`, []any{run}, &channel, &id)
	if err = engine.NoRows(err); err != nil {
		return "", "", fmt.Errorf("event of a run: %w", err)
	}
	return channel, id, nil
}

// Unfinished reports whether a message in a session's turn lane was claimed for a claude session, and is not answered
// yet.
func (s *Store) Unfinished(ctx context.Context, session, claudeSession string) (unfinished bool, err error) {
	err = s.db.View(ctx).Row(`SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ?1 AND lane = 'turn' AND batch IS NOT NULL AND claude_session = ?2)`, []any{session, claudeSession}, &unfinished)
	if err != nil {
		return false, fmt.Errorf("unfinished: %w", err)
	}
	return unfinished, nil
}

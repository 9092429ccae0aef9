package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// endedPage is how many conversations [Store.Ended] returns at most.
const endedPage = 1000

// Ended returns the ids of conversations of Claude that ended at a time or before, in order, after a given id. A message that waits for
// one, and a conversation that is to begin as a copy of one, keep it.
func (s *Store) Ended(ctx context.Context, by time.Time, after string) (ids []string, err error) {
	err = s.db.View(ctx).Each(`SELECT id FROM claude_sessions WHERE replaced_at <= ?1 AND id > ?2
			AND id NOT IN (SELECT claude_session FROM inbox WHERE claude_session IS NOT NULL)
			AND id NOT IN (SELECT copy_of FROM claude_sessions WHERE started_at IS NULL)
		ORDER BY id LIMIT ?3 + 0`, []any{engine.Millis(by), after, endedPage}, func(r engine.Rows) error {
		var id string
		if err := r.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list ended conversations: %w", err)
	}
	return ids, nil
}

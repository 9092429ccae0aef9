package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Recent returns the sessions whose turns began last, the latest first: at most limit of those since a time. It looks at the last
// thousand runs only.
func (s *Store) Recent(ctx context.Context, since time.Time, limit int) ([]domain.Session, error) {
	var keys []string
	err := s.db.View(ctx).Each(`SELECT session, lane = 'turn', started_at FROM runs ORDER BY id DESC LIMIT 1000`, nil, func(rows engine.Rows) error {
		var key string
		var turn bool
		var at int64
		if err := rows.Scan(&key, &turn, &at); err != nil {
			return err
		}
		if at < engine.Millis(since) || len(keys) >= limit {
			return engine.ErrEnough
		}
		if turn && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recent sessions: %w", err)
	}
	var list []domain.Session
	for _, key := range keys {
		session, err := s.Session(ctx, key)
		if errors.Is(err, domain.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, session)
	}
	return list, nil
}

package sessions

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Overrides returns a session's settings; none for an unknown session.
func (s *Store) Overrides(ctx context.Context, key string) (domain.Overrides, error) {
	var encoded string
	err := engine.NoRows(s.db.View(ctx).Row(`SELECT overrides FROM sessions WHERE key = ?1`, []any{key}, &encoded))
	if err != nil {
		return domain.Overrides{}, fmt.Errorf("overrides: %w", err)
	}
	return decodeOverrides(encoded), nil
}

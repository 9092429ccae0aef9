package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// maxChosen bounds the sessions whose settings are cached.
const maxChosen = 1000

// choice is a session's settings.
type choice struct {
	session   string
	overrides domain.Overrides
}

// choices caches the settings of recently used sessions, to save each message a query. Only the writer updates it, in
// the order of commits, so it always equals the committed state.
type choices struct {
	mu sync.Mutex
	of map[string]domain.Overrides
}

func (c *choices) keep(made choice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.of[made.session]; c.of == nil || !known && len(c.of) == maxChosen {
		c.of = make(map[string]domain.Overrides)
	}
	c.of[made.session] = made.overrides
}

func (c *choices) get(session string) (domain.Overrides, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	overrides, known := c.of[session]
	return overrides, known
}

// Overrides returns a session's settings; none for an unknown session.
func (s *Store) Overrides(ctx context.Context, key string) (domain.Overrides, error) {
	if overrides, known := s.notify.chosen.get(key); known {
		return overrides, nil
	}
	var encoded string
	err := noRows(s.view(ctx).row(`SELECT overrides FROM sessions WHERE key = ?1`, []any{key}, &encoded))
	if err != nil {
		return domain.Overrides{}, fmt.Errorf("overrides: %w", err)
	}
	return decodeOverrides(encoded), nil
}

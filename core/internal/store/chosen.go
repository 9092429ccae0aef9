package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// maxChosen is of how many sessions the choices are kept at hand.
const maxChosen = 1000

// choice is what people have chosen for a session.
type choice struct {
	session   string
	overrides domain.Overrides
}

// choices are those of the sessions that were used lately, so that a message need not read them from the database. Only the
// writer keeps them, in the order in which it commits: they are what is committed.
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

// Overrides returns what people have chosen for a session; nothing for one that is not there.
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

package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// ErrTooManyOverrides is returned if there are [config.MaxOverrides] already.
var ErrTooManyOverrides = errors.New("too many values are set")

// overridesChanged is the topic of values of the config that were set, or are set no longer.
const overridesChanged engine.Topic = "config overrides"

// WatchConfigOverrides returns a channel that receives a value when values of the config may have been set or unset, by any host. The func
// ends the watch and may be called more than once.
func (s *Store) WatchConfigOverrides() (<-chan struct{}, func()) { return s.db.Watch(overridesChanged) }

// ConfigOverrides returns the values of the config that were set while hosts ran, in the order of their names.
func (s *Store) ConfigOverrides(ctx context.Context) ([]config.Override, error) {
	var list []config.Override
	err := s.db.View(ctx).Each(`SELECT name, value, set_by, set_at FROM overrides ORDER BY name LIMIT ?1 + 0`, []any{config.MaxOverrides}, func(rows engine.Rows) error {
		var o config.Override
		var at int64
		if err := rows.Scan(&o.Name, &o.Value, &o.By, &at); err != nil {
			return err
		}
		o.At = engine.Moment(at)
		list = append(list, o)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("config overrides: %w", err)
	}
	return list, nil
}

// SetConfigOverride stores a value of the config. The error may be [ErrTooManyOverrides].
func (s *Store) SetConfigOverride(ctx context.Context, o config.Override) error {
	return engine.Change(ctx, s.db, "set config override", func(t *engine.Tx) error {
		var others int
		if err := t.Row(`SELECT COUNT(*) FROM overrides WHERE name <> ?1`, []any{o.Name}, &others); err != nil {
			return err
		}
		if others >= config.MaxOverrides {
			return ErrTooManyOverrides
		}
		t.Announce(overridesChanged)
		_, err := t.Exec(`INSERT INTO overrides (name, value, set_by, set_at) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_by = excluded.set_by, set_at = excluded.set_at`,
			o.Name, o.Value, o.By, engine.Millis(o.At))
		return err
	})
}

// UnsetConfigOverride deletes a value of the config. The error is [domain.ErrNotFound] if none was set.
func (s *Store) UnsetConfigOverride(ctx context.Context, name string) error {
	return engine.Change(ctx, s.db, "unset config override", func(t *engine.Tx) error {
		n, err := t.Exec(`DELETE FROM overrides WHERE name = ?1`, name)
		if err == nil && n == 0 {
			err = domain.ErrNotFound
		}
		t.Announce(overridesChanged)
		return err
	})
}

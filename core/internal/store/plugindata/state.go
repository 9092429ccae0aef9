package plugindata

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Bounds of an instance's state.
const (
	maxStateKeys  = 10_000
	maxStateBytes = 64 << 20 // of values
)

// GetState returns a value of an instance's state with its revision, or [domain.ErrNotFound].
func (s *Store) GetState(ctx context.Context, instance, key string) (value []byte, revision uint64, err error) {
	err = s.db.View(ctx).Row(`SELECT value, revision FROM state WHERE instance = ?1 AND key = ?2`, []any{instance, key}, &value, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("get state: %w", err)
	}
	return value, revision, nil
}

// PutState writes a value and returns its revision. A revision is unique among all values of the key, including deleted
// ones. ifRevision is the revision that the key must have, 0 for a key that must be absent, nil for any; if it differs,
// nothing is written and PutState returns the current one with [domain.ErrConflict]. Exceeding the bounds of an
// instance is [domain.ErrStateFull].
func (s *Store) PutState(ctx context.Context, instance, key string, value []byte, ifRevision *uint64) (revision uint64, err error) {
	if value == nil {
		value = []byte{}
	}
	return engine.Do(ctx, s.db, "put state", func(t *engine.Tx) (revision uint64, err error) {
		var before int64
		err = t.Row(`SELECT revision, LENGTH(value) FROM state WHERE instance = ?1 AND key = ?2`, []any{instance, key}, &revision, &before)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		more := int64(0)
		if err != nil {
			more = 1
		}
		if ifRevision != nil && *ifRevision != revision {
			return revision, domain.ErrConflict
		}
		if err := useState(t, instance, more, int64(len(value))-before); err != nil {
			return 0, err
		}
		if err := t.Row(`UPDATE store SET state_revision = state_revision + 1 RETURNING state_revision`, nil, &revision); err != nil {
			return 0, err
		}
		_, err = t.Exec(`INSERT INTO state (instance, key, value, revision) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (instance, key) DO UPDATE SET value = excluded.value, revision = excluded.revision`,
			instance, key, value, revision)
		return revision, err
	})
}

// DeleteState deletes a value; a missing one is not an error.
func (s *Store) DeleteState(ctx context.Context, instance, key string) error {
	return engine.Change(ctx, s.db, "delete state", func(t *engine.Tx) error {
		var before int64
		err := t.Row(`DELETE FROM state WHERE instance = ?1 AND key = ?2 RETURNING LENGTH(value)`, []any{instance, key}, &before)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return useState(t, instance, -1, -before)
	})
}

// useState counts an instance's new usage. Exceeding a bound is [domain.ErrStateFull], except when the usage shrinks.
func useState(t *engine.Tx, instance string, moreKeys, moreBytes int64) error {
	var keys, bytes int64
	err := t.Row(`INSERT INTO state_use (instance, keys, bytes) VALUES (?1, ?2, ?3)
		ON CONFLICT (instance) DO UPDATE SET keys = state_use.keys + excluded.keys, bytes = state_use.bytes + excluded.bytes
		RETURNING keys, bytes`, []any{instance, moreKeys, moreBytes}, &keys, &bytes)
	if err != nil {
		return err
	}
	if moreKeys > 0 && keys > maxStateKeys || moreBytes > 0 && bytes > maxStateBytes {
		return domain.ErrStateFull
	}
	return nil
}

// ListState returns the keys of an instance that begin with prefix and sort, bytewise, after another key. limit is 1 to
// 1000; another value means 1000.
func (s *Store) ListState(ctx context.Context, instance, prefix, after string, limit int) ([]string, error) {
	var keys []string
	past := false // keys with the prefix are adjacent
	err := s.db.View(ctx).Each(`SELECT key FROM state WHERE instance = ?1 AND key >= ?2 AND key > ?3 ORDER BY key LIMIT ?4 + 0`,
		[]any{instance, prefix, after, engine.Bounded(limit)}, func(rows engine.Rows) error {
			var key string
			if err := rows.Scan(&key); err != nil {
				return err
			}
			if past = past || !strings.HasPrefix(key, prefix); !past {
				keys = append(keys, key)
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("list state: %w", err)
	}
	return keys, nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// GetState returns a value of an instance's state with its revision, or [ErrNotFound].
func (s *Store) GetState(ctx context.Context, instance, key string) (value []byte, revision uint64, err error) {
	err = s.view(ctx).row(`SELECT value, revision FROM state WHERE instance = ?1 AND key = ?2`, []any{instance, key}, &value, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("get state: %w", err)
	}
	return value, revision, nil
}

// PutState writes a value and returns its revision. A revision is never that of another value of the key, not even of
// one that was deleted. ifRevision is the revision that the key must have, 0 for a key that must be absent, nil for any;
// when it is another one, nothing is written and PutState returns the present one with [ErrConflict].
func (s *Store) PutState(ctx context.Context, instance, key string, value []byte, ifRevision *uint64) (revision uint64, err error) {
	if value == nil {
		value = []byte{}
	}
	return step(ctx, s, "put state", func(t *tx) (revision uint64, err error) {
		err = t.row(`SELECT revision FROM state WHERE instance = ?1 AND key = ?2`, []any{instance, key}, &revision)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		if ifRevision != nil && *ifRevision != revision {
			return revision, ErrConflict
		}
		if err := t.row(`UPDATE store SET state_revision = state_revision + 1 RETURNING state_revision`, nil, &revision); err != nil {
			return 0, err
		}
		_, err = t.exec(`INSERT INTO state (instance, key, value, revision) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (instance, key) DO UPDATE SET value = excluded.value, revision = excluded.revision`,
			instance, key, value, revision)
		return revision, err
	})
}

// DeleteState removes a value; one that is not there is no error.
func (s *Store) DeleteState(ctx context.Context, instance, key string) error {
	_, err := step(ctx, s, "delete state", func(t *tx) (nothing, error) {
		_, err := t.exec(`DELETE FROM state WHERE instance = ?1 AND key = ?2`, instance, key)
		return nothing{}, err
	})
	return err
}

// ListState returns the keys of an instance that begin with prefix and sort, bytewise, after another key. limit is 1 to
// 1000; another value means 1000.
func (s *Store) ListState(ctx context.Context, instance, prefix, after string, limit int) ([]string, error) {
	var keys []string
	past := false // the keys with the prefix: they stand together
	err := s.view(ctx).each(`SELECT key FROM state WHERE instance = ?1 AND key >= ?2 AND key > ?3 ORDER BY key LIMIT ?4 + 0`,
		[]any{instance, prefix, after, bounded(limit, 1000)}, func(rows *sql.Rows) error {
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

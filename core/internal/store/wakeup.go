package store

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// maxWakeUps bounds the wake-ups of an instance.
const maxWakeUps = 10_000

// WakeAt sets an instance's wake-up for a time, or sets it to another time. The error is [domain.ErrStateFull] beyond 10,000.
func (s *Store) WakeAt(ctx context.Context, instance, key string, at time.Time) error {
	_, err := step(ctx, s, "set wake-up", func(t *tx) (nothing, error) {
		t.after.wakeUps = true
		var revision int64
		if err := t.row(`UPDATE store SET state_revision = state_revision + 1 RETURNING state_revision`, nil, &revision); err != nil {
			return nothing{}, err
		}
		n, err := t.exec(`UPDATE wake_ups SET at = ?3, next_at = ?3, attempts = 0, revision = ?4 WHERE instance = ?1 AND key = ?2`,
			instance, key, millis(at), revision)
		if err != nil || n > 0 {
			return nothing{}, err
		}
		if _, err := t.exec(`INSERT INTO wake_ups (instance, key, at, next_at, revision) VALUES (?1, ?2, ?3, ?3, ?4)`,
			instance, key, millis(at), revision); err != nil {
			return nothing{}, err
		}
		return nothing{}, t.useWakeUps(instance, 1)
	})
	return err
}

// CancelWakeUp deletes a wake-up; a missing one is not an error.
func (s *Store) CancelWakeUp(ctx context.Context, instance, key string) error {
	return s.deleteWakeUp(ctx, "cancel wake-up", instance, `instance = ?1 AND key = ?2`, instance, key)
}

// WokenUp deletes a wake-up that is done, unless it was set again since it was read.
func (s *Store) WokenUp(ctx context.Context, w domain.WakeUp) error {
	return s.deleteWakeUp(ctx, "end wake-up", w.Instance, `instance = ?1 AND key = ?2 AND revision = ?3`, w.Instance, w.Key, w.Revision)
}

func (s *Store) deleteWakeUp(ctx context.Context, doing, instance, which string, args ...any) error {
	_, err := step(ctx, s, doing, func(t *tx) (nothing, error) {
		n, err := t.exec(`DELETE FROM wake_ups WHERE `+which, args...)
		if err != nil || n == 0 {
			return nothing{}, err
		}
		return nothing{}, t.useWakeUps(instance, -1)
	})
	return err
}

// PutOffWakeUp records that an attempt has failed, and when the next one is due, unless the wake-up was set again since it was read.
func (s *Store) PutOffWakeUp(ctx context.Context, w domain.WakeUp, next time.Time) error {
	_, err := step(ctx, s, "put off wake-up", func(t *tx) (nothing, error) {
		_, err := t.exec(`UPDATE wake_ups SET attempts = attempts + 1, next_at = ?4 WHERE instance = ?1 AND key = ?2 AND revision = ?3`,
			w.Instance, w.Key, w.Revision, millis(next))
		return nothing{}, err
	})
	return err
}

// DueWakeUp waits until a wake-up of an instance is due and returns it. It stays until [Store.WokenUp]. An error means that ctx has
// ended before.
func (s *Store) DueWakeUp(ctx context.Context, instance string) (due domain.WakeUp, err error) {
	err = await(ctx, s, "wait for wake-up", func(e effects) bool { return e.wakeUps }, func(t *tx) (w domain.WakeUp, found bool, next int64, err error) {
		w.Instance = instance
		var at int64
		err = noRows(t.row(`SELECT key, at, next_at, attempts, revision FROM wake_ups WHERE instance = ?1 ORDER BY next_at, key LIMIT 1`,
			[]any{instance}, &w.Key, &at, &next, &w.Attempts, &w.Revision))
		w.At = moment(at)
		return w, w.Key != "" && next <= t.now, next, err
	}, func(w domain.WakeUp) { due = w })
	return due, err
}

// useWakeUps counts an instance's wake-ups. More than the bound is [domain.ErrStateFull].
func (t *tx) useWakeUps(instance string, more int64) error {
	var n int64
	err := t.row(`INSERT INTO state_use (instance, keys, bytes, wake_ups) VALUES (?1, 0, 0, ?2)
		ON CONFLICT (instance) DO UPDATE SET wake_ups = state_use.wake_ups + excluded.wake_ups RETURNING wake_ups`, []any{instance, more}, &n)
	if err == nil && more > 0 && n > maxWakeUps {
		err = domain.ErrStateFull
	}
	return err
}

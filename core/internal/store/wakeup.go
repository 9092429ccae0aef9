package store

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

const (
	// maxWakeUps bounds the wake-ups of an instance.
	maxWakeUps = 10_000
	// againAfter is the least time before a wake-up is due that was there already and is set to a time that has passed, so that a
	// plugin which does so each time that it is woken does not keep the host busy.
	againAfter = time.Second
)

// WakeAt sets an instance's wake-up for a time, rounded up to a millisecond, or sets it to another time. The same time again changes
// nothing. The error is [domain.ErrStateFull] beyond 10,000.
func (s *Store) WakeAt(ctx context.Context, instance, key string, at time.Time) error {
	due := millis(at.Add(time.Millisecond - time.Nanosecond))
	_, err := step(ctx, s, "set wake-up", func(t *tx) (nothing, error) {
		var before, revision int64
		err := t.row(`SELECT at FROM wake_ups WHERE instance = ?1 AND key = ?2`, []any{instance, key}, &before)
		known := err == nil
		if noRows(err) != nil || known && before == due {
			return nothing{}, noRows(err)
		}
		t.after.wakeUps = true
		if err := t.row(`UPDATE store SET state_revision = state_revision + 1 RETURNING state_revision`, nil, &revision); err != nil {
			return nothing{}, err
		}
		if known {
			next := due
			if due <= t.now {
				next = t.now + againAfter.Milliseconds()
			}
			_, err = t.exec(`UPDATE wake_ups SET at = ?3, next_at = ?4, revision = ?5 WHERE instance = ?1 AND key = ?2`, instance, key, due, next, revision)
			return nothing{}, err
		}
		if _, err := t.exec(`INSERT INTO wake_ups (instance, key, at, next_at, revision) VALUES (?1, ?2, ?3, ?3, ?4)`,
			instance, key, due, revision); err != nil {
			return nothing{}, err
		}
		return nothing{}, t.useWakeUps(instance, 1)
	})
	return err
}

// CancelWakeUp deletes a wake-up; a missing one is not an error.
func (s *Store) CancelWakeUp(ctx context.Context, instance, key string) error {
	_, err := step(ctx, s, "cancel wake-up", func(t *tx) (nothing, error) {
		n, err := t.exec(`DELETE FROM wake_ups WHERE instance = ?1 AND key = ?2`, instance, key)
		if err != nil || n == 0 {
			return nothing{}, err
		}
		return nothing{}, t.useWakeUps(instance, -1)
	})
	return err
}

// WokenUp deletes a wake-up that is done, unless it was set to another time since it was read.
func (s *Store) WokenUp(ctx context.Context, w domain.WakeUp) error {
	_, err := step(ctx, s, "end wake-up", func(t *tx) (nothing, error) {
		n, err := t.exec(`DELETE FROM wake_ups WHERE instance = ?1 AND key = ?2 AND revision = ?3`, w.Instance, w.Key, w.Revision)
		if err != nil {
			return nothing{}, err
		}
		if n > 0 {
			return nothing{}, t.useWakeUps(w.Instance, -1)
		}
		_, err = t.exec(`UPDATE wake_ups SET attempts = 0 WHERE instance = ?1 AND key = ?2`, w.Instance, w.Key)
		return nothing{}, err
	})
	return err
}

// PutOffWakeUp records that an attempt has failed, and the earliest time of the next one, also if the wake-up was set to another time
// meanwhile.
func (s *Store) PutOffWakeUp(ctx context.Context, w domain.WakeUp, next time.Time) error {
	_, err := step(ctx, s, "put off wake-up", func(t *tx) (nothing, error) {
		_, err := t.exec(`UPDATE wake_ups SET attempts = attempts + 1, next_at = MAX(next_at, ?3) WHERE instance = ?1 AND key = ?2`,
			w.Instance, w.Key, millis(next))
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

package plugindata

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// WakeUpsSet is the topic of wake-ups of plugins that were set, or may have a new time.
const WakeUpsSet engine.Topic = "wake-ups"

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
	due := engine.Millis(at.Add(time.Millisecond - time.Nanosecond))
	return engine.Change(ctx, s.db, "set wake-up", func(t *engine.Tx) error {
		var before, revision int64
		err := t.Row(`SELECT at FROM wake_ups WHERE instance = ?1 AND key = ?2`, []any{instance, key}, &before)
		known := err == nil
		if engine.NoRows(err) != nil || known && before == due {
			return engine.NoRows(err)
		}
		t.Announce(WakeUpsSet)
		if err := t.Row(`UPDATE store SET state_revision = state_revision + 1 RETURNING state_revision`, nil, &revision); err != nil {
			return err
		}
		if known {
			next := due
			if due <= t.Now {
				next = t.Now + againAfter.Milliseconds()
			}
			_, err = t.Exec(`UPDATE wake_ups SET at = ?3, next_at = ?4, revision = ?5 WHERE instance = ?1 AND key = ?2`, instance, key, due, next, revision)
			return err
		}
		if _, err := t.Exec(`INSERT INTO wake_ups (instance, key, at, next_at, revision) VALUES (?1, ?2, ?3, ?3, ?4)`,
			instance, key, due, revision); err != nil {
			return err
		}
		return useWakeUps(t, instance, 1)
	})
}

// CancelWakeUp deletes a wake-up; a missing one is not an error.
func (s *Store) CancelWakeUp(ctx context.Context, instance, key string) error {
	return engine.Change(ctx, s.db, "cancel wake-up", func(t *engine.Tx) error {
		n, err := t.Exec(`DELETE FROM wake_ups WHERE instance = ?1 AND key = ?2`, instance, key)
		if err != nil || n == 0 {
			return err
		}
		return useWakeUps(t, instance, -1)
	})
}

// WokenUp deletes a wake-up that is done, unless it was set to another time since it was read.
func (s *Store) WokenUp(ctx context.Context, w domain.WakeUp) error {
	return engine.Change(ctx, s.db, "end wake-up", func(t *engine.Tx) error {
		n, err := t.Exec(`DELETE FROM wake_ups WHERE instance = ?1 AND key = ?2 AND revision = ?3`, w.Instance, w.Key, w.Revision)
		if err != nil {
			return err
		}
		if n > 0 {
			return useWakeUps(t, w.Instance, -1)
		}
		_, err = t.Exec(`UPDATE wake_ups SET attempts = 0 WHERE instance = ?1 AND key = ?2`, w.Instance, w.Key)
		return err
	})
}

// PutOffWakeUp records that an attempt has failed, and the earliest time of the next one, also if the wake-up was set to another time
// meanwhile.
func (s *Store) PutOffWakeUp(ctx context.Context, w domain.WakeUp, next time.Time) error {
	return engine.Change(ctx, s.db, "put off wake-up", func(t *engine.Tx) error {
		_, err := t.Exec(`UPDATE wake_ups SET attempts = attempts + 1, next_at = CASE WHEN next_at > ?3 THEN next_at ELSE ?3 END WHERE instance = ?1 AND key = ?2`,
			w.Instance, w.Key, engine.Millis(next))
		return err
	})
}

// DueWakeUp waits until a wake-up of an instance is due and returns it. It stays until [Store.WokenUp]. An error means that ctx has
// ended before.
func (s *Store) DueWakeUp(ctx context.Context, instance string) (due domain.WakeUp, err error) {
	err = s.db.Run(ctx, engine.Step{Waits: []engine.Topic{WakeUpsSet}, Run: func(t *engine.Tx) error {
		due = domain.WakeUp{Instance: instance}
		var at, next int64
		err := engine.NoRows(t.Row(`SELECT key, at, next_at, attempts, revision FROM wake_ups WHERE instance = ?1 ORDER BY next_at, key LIMIT 1`,
			[]any{instance}, &due.Key, &at, &next, &due.Attempts, &due.Revision))
		due.At = engine.Moment(at)
		if err == nil && (due.Key == "" || next > t.Now) {
			t.Idle(next)
		}
		return err
	}})
	if err != nil {
		return domain.WakeUp{}, fmt.Errorf("wait for wake-up: %w", err)
	}
	return due, nil
}

// useWakeUps counts an instance's wake-ups. More than the bound is [domain.ErrStateFull].
func useWakeUps(t *engine.Tx, instance string, more int64) error {
	var n int64
	err := t.Row(`INSERT INTO state_use (instance, keys, bytes, wake_ups) VALUES (?1, 0, 0, ?2)
		ON CONFLICT (instance) DO UPDATE SET wake_ups = state_use.wake_ups + excluded.wake_ups RETURNING wake_ups`, []any{instance, more}, &n)
	if err == nil && more > 0 && n > maxWakeUps {
		err = domain.ErrStateFull
	}
	return err
}

package hosts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// callWaits is the topic of calls of a plugin that wait for its host, and callChanged that of what a call returns.
func callWaits(plugin string) engine.Topic { return engine.Topic("calls " + strconv.Quote(plugin)) }

func callChanged(id int64) engine.Topic { return engine.Topic("call " + strconv.FormatInt(id, 10)) }

// Call puts a call of a plugin that another host runs into the database, and returns its id. It waits there until it expires.
func (s *Store) Call(ctx context.Context, c domain.PluginCall, expires time.Duration) (id int64, err error) {
	return engine.Do(ctx, s.db, "call a plugin", func(t *engine.Tx) (id int64, err error) {
		t.Announce(callWaits(c.Plugin))
		return id, t.Row(`INSERT INTO calls (plugin, method, request, expires_at) VALUES (?1, ?2, ?3, ?4) RETURNING id`,
			[]any{c.Plugin, c.Method, notNil(c.Request), t.Now + expires.Milliseconds()}, &id)
	})
}

// notNil returns bytes for a column that is not NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// WatchCall returns a channel that receives a value when a call has returned something. The func ends the watch.
func (s *Store) WatchCall(id int64) (<-chan struct{}, func()) { return s.db.Watch(callChanged(id)) }

// TakeCall takes the first call of a plugin that this host runs. If there is none it waits for one; an error means that ctx has ended before.
func (s *Store) TakeCall(ctx context.Context, plugin string) (c domain.PluginCall, err error) {
	err = s.db.Run(ctx, engine.Step{Waits: []engine.Topic{callWaits(plugin)}, Run: func(t *engine.Tx) error {
		c = domain.PluginCall{Plugin: plugin}
		var expires int64
		err := t.Row(`UPDATE calls SET host = ?2 WHERE id = (SELECT MIN(id) FROM calls WHERE plugin = ?1 AND host = '')
			RETURNING id, method, request, expires_at`, []any{plugin, s.self.ID}, &c.ID, &c.Method, &c.Request, &expires)
		if errors.Is(err, sql.ErrNoRows) {
			t.Idle(0)
			return nil
		}
		c.Expires = time.Duration(expires-t.Now) * time.Millisecond
		return err
	}})
	if err != nil {
		return domain.PluginCall{}, fmt.Errorf("take a call: %w", err)
	}
	return c, nil
}

// Return stores the next part of what a call returns, and returns how many were not read yet. The error is [domain.ErrNotFound] if nobody
// waits for it any more.
func (s *Store) Return(ctx context.Context, id, number int64, part []byte) (unread int, err error) {
	return engine.Do(ctx, s.db, "return of a call", func(t *engine.Tx) (unread int, err error) {
		if err := t.Row(`SELECT 1 FROM calls WHERE id = ?1 AND host = ?2`, []any{id, s.self.ID}, new(int)); err != nil {
			return 0, notFound(err)
		}
		if _, err := t.Exec(`INSERT INTO call_parts (call_id, number, part) VALUES (?1, ?2, ?3)`, id, number, notNil(part)); err != nil {
			return 0, err
		}
		t.Announce(callChanged(id))
		return unread, t.Row(`SELECT COUNT(*) FROM call_parts WHERE call_id = ?1`, []any{id}, &unread)
	})
}

// Unread returns how many parts of what a call returns were not read yet. The error is [domain.ErrNotFound] if nobody waits for it any more.
func (s *Store) Unread(ctx context.Context, id int64) (unread int, err error) {
	err = s.db.View(ctx).Row(`SELECT (SELECT COUNT(*) FROM call_parts WHERE call_id = c.id) FROM calls c WHERE c.id = ?1`, []any{id}, &unread)
	return unread, notFound(err)
}

// EndCall stores how a call has ended, after its last part. The error is [domain.ErrNotFound] if nobody waits for it any more.
func (s *Store) EndCall(ctx context.Context, id int64, end domain.CallEnd) error {
	return engine.Change(ctx, s.db, "end a call", func(t *engine.Tx) error {
		n, err := t.Exec(`UPDATE calls SET ended = 1, code = ?3, message = ?4 WHERE id = ?1 AND host = ?2`, id, s.self.ID, end.Code, end.Message)
		if err == nil && n == 0 {
			err = domain.ErrNotFound
		}
		t.Announce(callChanged(id))
		return err
	})
}

// Returned takes what a call has returned since the last time, in order, and how it has ended; nil: it has not. Nothing is known of it after
// its end. The error is [domain.ErrNotFound] for a call that is gone, because its host is.
func (s *Store) Returned(ctx context.Context, id int64) (parts [][]byte, end *domain.CallEnd, err error) {
	err = engine.Change(ctx, s.db, "what a call returns", func(t *engine.Tx) error {
		var ended bool
		var e domain.CallEnd
		parts, end = nil, nil
		if err := t.Row(`SELECT ended, code, message FROM calls WHERE id = ?1`, []any{id}, &ended, &e.Code, &e.Message); err != nil {
			return notFound(err)
		}
		err := t.Each(`SELECT part FROM call_parts WHERE call_id = ?1 ORDER BY number`, []any{id}, func(rows engine.Rows) error {
			var part []byte
			defer func() { parts = append(parts, part) }()
			return rows.Scan(&part)
		})
		if err != nil {
			return err
		}
		if len(parts) > 0 {
			if _, err := t.Exec(`DELETE FROM call_parts WHERE call_id = ?1`, id); err != nil {
				return err
			}
			t.Announce(callChanged(id)) // the next parts may come
		}
		if !ended {
			return nil
		}
		end = &e
		_, err = t.Exec(`DELETE FROM calls WHERE id = ?1`, id)
		return err
	})
	return parts, end, err
}

// DropCall removes a call for whose end nobody waits.
func (s *Store) DropCall(ctx context.Context, id int64) error {
	return engine.Change(ctx, s.db, "drop a call", func(t *engine.Tx) error {
		t.Announce(callChanged(id))
		return dropCalls(t, `id = ?1`, id)
	})
}

// dropCalls removes some of the calls that a condition selects.
func dropCalls(t *engine.Tx, where string, arg any) error {
	var ids []int64
	err := t.Each(`SELECT id FROM calls WHERE `+where+` LIMIT 1000`, []any{arg}, func(rows engine.Rows) error {
		var id int64
		defer func() { ids = append(ids, id) }()
		return rows.Scan(&id)
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		for _, query := range []string{`DELETE FROM call_parts WHERE call_id = ?1`, `DELETE FROM calls WHERE id = ?1`} {
			if _, err := t.Exec(query, id); err != nil {
				return err
			}
		}
		t.Announce(callChanged(id))
	}
	return nil
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return domain.ErrNotFound
	}
	return err
}

package hosts

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Take makes a duty this process's own, unless it is another host's. It returns the name of the host that has it; own reports whether that is
// this one. A process that is alone has each.
func (s *Store) Take(ctx context.Context, duty string) (host string, own bool, err error) {
	if s.self.Alone() {
		return "", true, nil
	}
	host, err = engine.Do(ctx, s.db, "take a duty", func(t *engine.Tx) (string, error) {
		n, err := t.Exec(`INSERT INTO duties (name, host, changed_at) SELECT ?1, ?2, ?3 FROM hosts WHERE id = ?2 AND draining = 0
			ON CONFLICT (name) DO NOTHING`, duty, s.self.ID, t.Now)
		if err != nil {
			return "", err
		}
		if n > 0 {
			t.Announce(DutiesChanged)
		}
		var id string
		err = engine.NoRows(t.Row(`SELECT d.host, h.name FROM duties d JOIN hosts h ON h.id = d.host WHERE d.name = ?1`, []any{duty}, &id, &host))
		own = id == s.self.ID
		return host, err
	})
	return host, own, err
}

// Yield gives up a duty of this process, if it has it.
func (s *Store) Yield(ctx context.Context, duty string) error {
	if s.self.Alone() {
		return nil
	}
	return engine.Change(ctx, s.db, "yield a duty", func(t *engine.Tx) error {
		n, err := t.Exec(`DELETE FROM duties WHERE name = ?1 AND host = ?2`, duty, s.self.ID)
		if n > 0 {
			t.Announce(DutiesChanged)
		}
		return err
	})
}

// Duties returns which host has which duty, by its name.
func (s *Store) Duties(ctx context.Context) (list []domain.Duty, err error) {
	err = s.db.View(ctx).Each(`SELECT d.name, h.name, d.changed_at FROM duties d JOIN hosts h ON h.id = d.host ORDER BY d.name`, nil, func(rows engine.Rows) error {
		var d domain.Duty
		var since int64
		if err := rows.Scan(&d.Name, &d.Host, &since); err != nil {
			return err
		}
		d.Since = engine.Moment(since)
		list = append(list, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the duties: %w", err)
	}
	return list, nil
}

package hosts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Registration is what a process says of itself when it becomes one of the hosts of a database.
type Registration struct {
	Version string
	Labels  []string
	Agents  []string // that it runs
	Lease   time.Duration
}

// goneAge is for how long a host is listed that is gone.
const goneAge = 7 * 24 * time.Hour

// TakenError is the error for a name that another host has, which is alive.
type TakenError struct {
	Name  string
	Until time.Time // when its lease ends, unless it is renewed
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("another host has the name %q and is alive: give this one a name of its own, or stop that one", e.Name)
}

// Register makes this process one of the hosts, in place of an earlier one of the same name. The error is a [*TakenError] if that may be alive: it
// has a lease, and another state folder.
func (s *Store) Register(ctx context.Context, r Registration) error {
	labels, err := json.Marshal(r.Labels)
	if err != nil {
		return fmt.Errorf("register this host: %w", err)
	}
	err = s.db.Run(ctx, engine.Step{Unfenced: true, Run: func(t *engine.Tx) error {
		var before, folder string
		var until int64
		err := t.Row(`SELECT id, folder, lease_until FROM hosts WHERE name = ?1`, []any{s.self.Name}, &before, &folder, &until)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case folder != s.self.Folder && until > t.Now:
			return &TakenError{Name: s.self.Name, Until: engine.Moment(until)}
		default:
			if err := remove(t, before); err != nil {
				return err
			}
		}
		_, err = t.Exec(`INSERT INTO hosts (id, name, folder, version, labels, started_at, lease_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
			s.self.ID, s.self.Name, s.self.Folder, r.Version, string(labels), t.Now, t.Now+r.Lease.Milliseconds())
		if err != nil {
			return err
		}
		// What a host had on its machine that was alone with the database is assumed to be on this one.
		for _, query := range []string{
			`UPDATE jobs SET host = ?1 WHERE host = '' AND state = 'running'`, `UPDATE worktrees SET host = ?1 WHERE host = ''`, `UPDATE processes SET host = ?1 WHERE host = ''`,
		} {
			if _, err := t.Exec(query, s.self.Name); err != nil {
				return err
			}
		}
		t.Announce(Changed)
		return s.self.serve(t, r.Agents)
	}})
	if err != nil {
		return fmt.Errorf("register this host: %w", err)
	}
	return nil
}

// remove deletes a host, and frees what only it did. The caller reclaims the rest.
func remove(t *engine.Tx, id string) error {
	if _, err := t.Exec(`DELETE FROM hosts WHERE id = ?1`, id); err != nil {
		return err
	}
	return release(t, id)
}

// release frees what only one host did. The calls that it was making are gone.
func release(t *engine.Tx, id string) error {
	for _, query := range []string{`DELETE FROM placements WHERE host = ?1`, `DELETE FROM duties WHERE host = ?1`} {
		if _, err := t.Exec(query, id); err != nil {
			return err
		}
	}
	t.Announce(Changed, DutiesChanged)
	return dropCalls(t, `host = ?1 AND host != ''`, id)
}

// Serve says which agents this process runs from now on. A host that is drained runs none.
func (s *Store) Serve(ctx context.Context, agents []string) error {
	return engine.Change(ctx, s.db, "serve agents", func(t *engine.Tx) error {
		var draining bool
		if err := t.Row(`SELECT draining FROM hosts WHERE id = ?1`, []any{s.self.ID}, &draining); err != nil || draining {
			return err
		}
		t.Announce(Changed, DutiesChanged) // it takes duties again, if it was drained
		return s.self.serve(t, agents)
	})
}

// Renew makes this process's lease last for this long from now on, and returns the hosts whose own has ended and that have something left
// to others. The error is [engine.ErrLapsed] if another host has taken over what this one had.
func (s *Store) Renew(ctx context.Context, lease time.Duration) (lapsed []domain.Member, err error) {
	err = s.db.Run(ctx, engine.Step{Unfenced: true, Run: func(t *engine.Tx) error {
		n, err := t.Exec(`UPDATE hosts SET lease_until = ?2 WHERE id = ?1 AND gone_at IS NULL`, s.self.ID, t.Now+lease.Milliseconds())
		if err != nil {
			return err
		}
		if n == 0 {
			return engine.ErrLapsed
		}
		if err := dropCalls(t, `expires_at < ?1`, t.Now); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM hosts WHERE moved != 0 AND gone_at < ?1`, t.Now-goneAge.Milliseconds()); err != nil {
			return err
		}
		lapsed, err = members(t, `WHERE gone_at IS NULL AND lease_until <= ?1 OR gone_at IS NOT NULL AND moved = 0`, t.Now)
		return err
	}})
	if err != nil {
		return nil, fmt.Errorf("renew the lease: %w", err)
	}
	return lapsed, nil
}

// Expel marks a host as gone whose lease has ended, and frees its duties. False: it is alive, or was gone before. The caller reclaims the rest.
func Expel(t *engine.Tx, id string) (gone bool, err error) {
	n, err := t.Exec(`UPDATE hosts SET gone_at = ?2 WHERE id = ?1 AND gone_at IS NULL AND lease_until <= ?2`, id, t.Now)
	if err != nil || n == 0 {
		return false, err
	}
	return true, release(t, id)
}

// Clear deletes what is known of hosts, for a process that is alone: the database was copied from hosts that shared it.
func Clear(t *engine.Tx) error {
	for _, query := range []string{
		`DELETE FROM hosts`, `DELETE FROM placements`, `DELETE FROM duties`, `DELETE FROM call_parts`, `DELETE FROM calls`, `DELETE FROM processes WHERE host != ''`,
		`UPDATE jobs SET host = '' WHERE host != '' AND state = 'running'`,
		`UPDATE worktrees SET host = '' WHERE host = (SELECT MIN(host) FROM worktrees) AND NOT EXISTS (SELECT 1 FROM worktrees WHERE host = '')`,
	} {
		if _, err := t.Exec(query); err != nil {
			return err
		}
	}
	return nil
}

// Leave removes this process from the hosts and frees its duties. The caller reclaims the rest.
func (s Self) Leave(t *engine.Tx) error { return remove(t, s.ID) }

// Move gives some lanes that wait for a host that is gone another placement, and returns the kinds of those. More reports whether some may
// be left.
func (s Self) Move(t *engine.Tx, gone domain.Member) (lanes []domain.Lane, more bool, err error) {
	lanes, more, err = s.move(t, atHost(gone.Name), kinds...)
	if err == nil && !more {
		_, err = t.Exec(`UPDATE hosts SET moved = 1 WHERE id = ?1 AND gone_at IS NOT NULL`, gone.ID)
	}
	return lanes, more, err
}

// Adopt gives some lanes a placement that have none, because a host that was alone with the database has accepted their messages.
func (s Self) Adopt(t *engine.Tx) (lanes []domain.Lane, more bool, err error) {
	return s.move(t, "", kinds...)
}

// HandOver gives some turn lanes that wait for this process, which is drained, another placement.
func (s Self) HandOver(t *engine.Tx) (lanes []domain.Lane, more bool, err error) {
	return s.move(t, atHost(s.Name), domain.TurnLane)
}

// Drain makes a host take no more turns, or take them again. The host itself then gives up its duties. The error is [domain.ErrNotFound] if no host
// of that name is alive.
func (s *Store) Drain(ctx context.Context, name string, drain bool) error {
	return engine.Change(ctx, s.db, "drain", func(t *engine.Tx) error {
		var id string
		err := t.Row(`UPDATE hosts SET draining = ?2 WHERE name = ?1 AND gone_at IS NULL RETURNING id`, []any{name, drain}, &id)
		if errors.Is(err, sql.ErrNoRows) {
			return domain.ErrNotFound
		}
		if err != nil {
			return err
		}
		t.Announce(Changed)
		if !drain {
			return nil // it says itself what it runs
		}
		_, err = t.Exec(`DELETE FROM placements WHERE host = ?1 AND (lane = 'turn' OR placement != ?2)`, id, atHost(name))
		return err
	})
}

// Hosts returns the hosts, by name: those that are alive, and those that went in the last seven days.
func (s *Store) Hosts(ctx context.Context) ([]domain.Member, error) {
	list, err := members(s.db.View(ctx), ``)
	if err != nil {
		return nil, fmt.Errorf("list the hosts: %w", err)
	}
	now := s.db.Now()
	for i := range list {
		list[i].Silent = list[i].GoneAt.IsZero() && now.After(list[i].LeaseUntil)
	}
	return list, nil
}

func members(q engine.Querier, where string, args ...any) (list []domain.Member, err error) {
	err = q.Each(`SELECT id, name, version, labels, started_at, lease_until, draining, COALESCE(gone_at, 0),
			(SELECT COUNT(*) FROM lanes l WHERE l.run_id IS NOT NULL AND l.host = hosts.id)
		FROM hosts `+where+` ORDER BY name`, args, func(rows engine.Rows) error {
		var m domain.Member
		var labels string
		var started, until, gone int64
		if err := rows.Scan(&m.ID, &m.Name, &m.Version, &labels, &started, &until, &m.Draining, &gone, &m.Runs); err != nil {
			return err
		}
		m.StartedAt, m.LeaseUntil, m.GoneAt = engine.Moment(started), engine.Moment(until), engine.Moment(gone)
		if err := json.Unmarshal([]byte(labels), &m.Labels); err != nil {
			return fmt.Errorf("the labels of host %s: %w", m.Name, err)
		}
		list = append(list, m)
		return nil
	})
	return list, err
}

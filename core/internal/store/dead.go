package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// DeadLetter gives a claimed delivery up: the item goes to the dead ones with its cause, and its destination goes on. Unless it
// is a kept one, which only shows how something goes, or no run's, its session can be told of it: see [domain.Completion]. A question
// whose message it was is over: what its session is told of that, as of an item, takes the item's place. The error is [domain.ErrNotFound] for an item that is not claimed.
func (s *Store) DeadLetter(ctx context.Context, id int64, cause string) error {
	_, err := step(ctx, s, "bury", func(t *tx) (nothing, error) {
		to, err := t.sending(id)
		if err != nil {
			return nothing{}, err
		}
		unseen, err := t.unaskable(id)
		if err != nil {
			return nothing{}, err
		}
		_, err = t.exec(`INSERT INTO dead_pieces (id, channel, chat, thread, text, created_at, died_at, attempts, error,
				reply_to, run_id, uncertain, rest, kept, edits, key_id, session, told)
			SELECT id, channel, chat, thread, COALESCE(NULLIF(?4, ''), text), created_at, ?2, attempts, ?3,
				reply_to, run_id, uncertain, CASE ?4 WHEN '' THEN rest ELSE '' END, kept, edits, COALESCE(NULLIF(key_id, 0), id),
				COALESCE((SELECT session FROM runs WHERE runs.id = outbox.run_id), ''), run_id = 0 OR kept != 0 AND ?4 = ''
			FROM outbox WHERE id = ?1`, id, t.now, cause, unseen)
		if err != nil {
			return nothing{}, err
		}
		if _, err := t.exec(`DELETE FROM outbox WHERE id = ?1`, id); err != nil {
			return nothing{}, err
		}
		return nothing{}, t.advance(to)
	})
	return err
}

// deadColumns are what scanDead scans.
const deadColumns = `id, channel, chat, thread, text, created_at, died_at, attempts, error, run_id, session, rest`

func scanDead(rows *sql.Rows) (domain.DeadLetter, error) {
	var d domain.DeadLetter
	var createdAt, diedAt int64
	var rest string
	err := rows.Scan(&d.ID, &d.To.Channel, &d.To.Chat, &d.To.Thread, &d.Text, &createdAt, &diedAt, &d.Attempts, &d.Error,
		&d.RunID, &d.Session, &rest)
	var p domain.OutboxItem
	decodeRest(&p, rest)
	d.Media = p.Media
	d.CreatedAt, d.DiedAt = moment(createdAt), moment(diedAt)
	return d, err
}

// DeadLetters returns the items that were given up, the newest first. limit is 1 to 1000; another value means 1000.
func (s *Store) DeadLetters(ctx context.Context, limit int) ([]domain.DeadLetter, error) {
	var items []domain.DeadLetter
	err := s.view(ctx).each(`SELECT `+deadColumns+` FROM dead_pieces ORDER BY died_at DESC, id DESC LIMIT ?1 + 0`,
		[]any{bounded(limit)}, func(rows *sql.Rows) error {
			d, err := scanDead(rows)
			items = append(items, d)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("dead pieces: %w", err)
	}
	return items, nil
}

// deadTogether is how many dead letters one step takes up, so that others get their turn.
const deadTogether = 100

// Requeue puts a dead letter behind what waits for its destination, as a new one under its old idempotency key. The error is
// [domain.ErrNotFound] for one that is not there.
func (s *Store) Requeue(ctx context.Context, id int64) error {
	_, err := step(ctx, s, "revive", func(t *tx) (nothing, error) { return nothing{}, t.revive(id) })
	return err
}

// RequeueAll revives the dead letters, in the order in which they were posted, and returns how many they were.
func (s *Store) RequeueAll(ctx context.Context) (int, error) {
	return s.eachDead(ctx, "revive", (*tx).revive)
}

func (t *tx) revive(id int64) error {
	var revived int64
	var p domain.OutboxItem
	err := t.row(`INSERT INTO outbox (channel, chat, thread, text, created_at, reply_to, run_id, uncertain, rest, kept, edits, key_id)
		SELECT channel, chat, thread, text, ?2, reply_to, run_id, uncertain, rest, kept, edits, key_id FROM dead_pieces WHERE id = ?1
		RETURNING id, channel, chat, thread`, []any{id, t.now}, &revived, &p.To.Channel, &p.To.Chat, &p.To.Thread)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.ErrNotFound
	}
	if err != nil {
		return err
	}
	if err := t.expect(p.To); err != nil {
		return err
	}
	return t.forget(id)
}

// Discard removes a dead letter. The error is [domain.ErrNotFound] for one that is not there.
func (s *Store) Discard(ctx context.Context, id int64) error {
	_, err := step(ctx, s, "forget", func(t *tx) (nothing, error) { return nothing{}, t.forget(id) })
	return err
}

// DiscardAll removes the dead letters and returns how many they were.
func (s *Store) DiscardAll(ctx context.Context) (int, error) {
	return s.eachDead(ctx, "forget", (*tx).forget)
}

func (t *tx) forget(id int64) error {
	n, err := t.exec(`DELETE FROM dead_pieces WHERE id = ?1`, id)
	if err == nil && n == 0 {
		err = domain.ErrNotFound
	}
	return err
}

// outdate removes an item, if it is dead, that another one has taken the place of: nobody is to put it back.
func (t *tx) outdate(id int64) error {
	_, err := t.exec(`DELETE FROM dead_pieces WHERE id = ?1`, id)
	return err
}

// eachDead does something to each dead letter that there is now, after which it is not dead any more.
func (s *Store) eachDead(ctx context.Context, name string, do func(*tx, int64) error) (int, error) {
	var last int64
	if err := s.view(ctx).row(`SELECT COALESCE(MAX(id), 0) FROM dead_pieces`, nil, &last); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	for all := 0; ; {
		n, err := step(ctx, s, name, func(t *tx) (int, error) {
			var ids []int64
			err := t.each(`SELECT id FROM dead_pieces WHERE id <= ?1 ORDER BY id LIMIT ?2 + 0`, []any{last, deadTogether}, func(rows *sql.Rows) error {
				var id int64
				defer func() { ids = append(ids, id) }()
				return rows.Scan(&id)
			})
			for _, id := range ids {
				if err == nil {
					err = do(t, id)
				}
			}
			return len(ids), err
		})
		if all += n; err != nil || n < deadTogether {
			return all, err
		}
	}
}

// maxTold is how many dead letters a session is told of at once, the last ones; of the others it is not told.
const maxTold = 100

// undelivered makes the items that tell of a session's dead ones, if they are of any, and notes that it is told.
func (t *tx) undelivered(session string, tell func([]domain.DeadLetter) []domain.OutboxItem) ([]domain.OutboxItem, error) {
	var dead []domain.DeadLetter
	err := t.each(`SELECT `+deadColumns+` FROM dead_pieces WHERE session = ?1 AND told = 0 ORDER BY id DESC LIMIT ?2 + 0`,
		[]any{session, maxTold}, func(rows *sql.Rows) error {
			d, err := scanDead(rows)
			dead = append(dead, d)
			return err
		})
	if err != nil || len(dead) == 0 {
		return nil, err
	}
	slices.Reverse(dead)
	items := tell(dead)
	if len(items) == 0 {
		return nil, nil
	}
	if err := checkPieces(items); err != nil {
		return nil, err
	}
	_, err = t.exec(`UPDATE dead_pieces SET told = 1 WHERE session = ?1 AND told = 0`, session)
	return items, err
}

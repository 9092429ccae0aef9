package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// GiveUp makes a claimed item a dead letter with its cause, and with another text, if that is not empty.
func GiveUp(t *engine.Tx, id int64, cause, text string) error {
	to, err := sending(t, id)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO dead_pieces (id, channel, chat, thread, text, created_at, died_at, attempts, error,
				reply_to, run_id, uncertain, rest, kept, edits, key_id, session, told)
			SELECT id, channel, chat, thread, COALESCE(NULLIF(?4, ''), text), created_at, ?2, attempts, ?3,
				reply_to, run_id, uncertain, CASE ?4 WHEN '' THEN rest ELSE '' END, kept, edits, COALESCE(NULLIF(key_id, 0), id),
				COALESCE((SELECT session FROM runs WHERE runs.id = outbox.run_id), ''), CASE WHEN run_id = 0 OR kept != 0 AND ?4 = '' THEN 1 ELSE 0 END
			FROM outbox WHERE id = ?1`, id, t.Now, cause, text)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM outbox WHERE id = ?1`, id); err != nil {
		return err
	}
	return advance(t, to)
}

// deadColumns are what scanDead scans.
const deadColumns = `id, channel, chat, thread, text, created_at, died_at, attempts, error, run_id, session, rest`

func scanDead(rows engine.Rows) (domain.DeadLetter, error) {
	var d domain.DeadLetter
	var createdAt, diedAt int64
	var rest string
	err := rows.Scan(&d.ID, &d.To.Channel, &d.To.Chat, &d.To.Thread, &d.Text, &createdAt, &diedAt, &d.Attempts, &d.Error,
		&d.RunID, &d.Session, &rest)
	var p domain.OutboxItem
	DecodeRest(&p, rest)
	d.Media = p.Media
	d.CreatedAt, d.DiedAt = engine.Moment(createdAt), engine.Moment(diedAt)
	return d, err
}

// DeadLetters returns the dead letters, newest first. limit is 1 to 1000; another value means 1000.
func (s *Store) DeadLetters(ctx context.Context, limit int) ([]domain.DeadLetter, error) {
	var items []domain.DeadLetter
	err := s.db.View(ctx).Each(`SELECT `+deadColumns+` FROM dead_pieces ORDER BY died_at DESC, id DESC LIMIT ?1 + 0`,
		[]any{engine.Bounded(limit)}, func(rows engine.Rows) error {
			d, err := scanDead(rows)
			items = append(items, d)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return items, nil
}

// CountDead returns the number of dead letters, at most 1000.
func (s *Store) CountDead(ctx context.Context) (dead int, err error) {
	if err := s.db.View(ctx).Row(`SELECT COUNT(*) FROM (SELECT 1 FROM dead_pieces LIMIT ?1 + 0) AS dead`, []any{engine.MaxRows}, &dead); err != nil {
		return 0, fmt.Errorf("count dead letters: %w", err)
	}
	return dead, nil
}

// deadTogether bounds the dead letters of one step, so that other steps get their turn.
const deadTogether = 100

// Requeue puts a dead letter at the end of its destination's queue, as a new item with its old idempotency key. The
// error is [domain.ErrNotFound] for an unknown one.
func (s *Store) Requeue(ctx context.Context, id int64) error {
	return engine.Change(ctx, s.db, "requeue", func(t *engine.Tx) error { return requeue(t, id) })
}

// RequeueAll requeues the dead letters in the order in which they were posted, and returns their number.
func (s *Store) RequeueAll(ctx context.Context) (int, error) {
	return s.eachDead(ctx, "requeue", requeue)
}

func requeue(t *engine.Tx, id int64) error {
	var requeued int64
	var p domain.OutboxItem
	err := t.Row(`INSERT INTO outbox (channel, chat, thread, text, created_at, reply_to, run_id, uncertain, rest, kept, edits, key_id)
		SELECT channel, chat, thread, text, ?2, reply_to, run_id, uncertain, rest, kept, edits, key_id FROM dead_pieces WHERE id = ?1
		RETURNING id, channel, chat, thread`, []any{id, t.Now}, &requeued, &p.To.Channel, &p.To.Chat, &p.To.Thread)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.ErrNotFound
	}
	if err != nil {
		return err
	}
	if err := expect(t, p.To); err != nil {
		return err
	}
	return forget(t, id)
}

// Discard deletes a dead letter. The error is [domain.ErrNotFound] for an unknown one.
func (s *Store) Discard(ctx context.Context, id int64) error {
	return engine.Change(ctx, s.db, "forget", func(t *engine.Tx) error { return forget(t, id) })
}

// DiscardAll deletes the dead letters and returns their number.
func (s *Store) DiscardAll(ctx context.Context) (int, error) {
	return s.eachDead(ctx, "forget", forget)
}

func forget(t *engine.Tx, id int64) error {
	n, err := t.Exec(`DELETE FROM dead_pieces WHERE id = ?1`, id)
	if err == nil && n == 0 {
		err = domain.ErrNotFound
	}
	return err
}

// outdate deletes an item's dead letter, if there is one, because another item has replaced it: it must not be
// requeued.
func outdate(t *engine.Tx, id int64) error {
	_, err := t.Exec(`DELETE FROM dead_pieces WHERE id = ?1`, id)
	return err
}

// eachDead applies do, which removes a dead letter, to each current one.
func (s *Store) eachDead(ctx context.Context, name string, do func(*engine.Tx, int64) error) (int, error) {
	var last int64
	if err := s.db.View(ctx).Row(`SELECT COALESCE(MAX(id), 0) FROM dead_pieces`, nil, &last); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	for all := 0; ; {
		n, err := engine.Do(ctx, s.db, name, func(t *engine.Tx) (int, error) {
			var ids []int64
			err := t.Each(`SELECT id FROM dead_pieces WHERE id <= ?1 ORDER BY id LIMIT ?2 + 0`, []any{last, deadTogether}, func(rows engine.Rows) error {
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

// maxReported bounds the dead letters in one notice to a session: the last ones; the others are not mentioned.
const maxReported = 100

// Unreported returns the newest dead letters of a session's answers that it has no notice of, in order; at most 100.
func (s *Store) Unreported(ctx context.Context, session string) (dead []domain.DeadLetter, err error) {
	err = s.db.View(ctx).Each(`SELECT `+deadColumns+` FROM dead_pieces WHERE session = ?1 AND told = 0 ORDER BY id DESC LIMIT ?2 + 0`,
		[]any{session, maxReported}, func(rows engine.Rows) error {
			d, err := scanDead(rows)
			dead = append(dead, d)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("unreported dead letters: %w", err)
	}
	slices.Reverse(dead)
	return dead, nil
}

// MarkReported records that a session has a notice of these dead letters. Where they are as many as one notice has, those before them are
// not mentioned, and count as reported.
func MarkReported(t *engine.Tx, session string, ids []int64) error {
	for _, id := range ids {
		if _, err := t.Exec(`UPDATE dead_pieces SET told = 1 WHERE session = ?1 AND id = ?2`, session, id); err != nil {
			return err
		}
	}
	if len(ids) < maxReported {
		return nil
	}
	_, err := t.Exec(`UPDATE dead_pieces SET told = 1 WHERE session = ?1 AND told = 0 AND id < ?2`, session, slices.Min(ids))
	return err
}

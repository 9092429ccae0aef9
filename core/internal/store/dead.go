package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// DeadLetter gives up a claimed delivery: the item becomes a dead letter with its cause, and its destination continues.
// Its session can get a notice of it, unless it is a kept item, which only shows progress, or belongs to no run: see
// [domain.Completion]. If the item was the message of an open question, the question ends, and its notice to the
// session replaces the item's. The error is [domain.ErrNotFound] for an item that is not claimed.
func (s *Store) DeadLetter(ctx context.Context, id int64, cause string) error {
	_, err := step(ctx, s, "dead letter", func(t *tx) (nothing, error) {
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

func scanDead(rows rows) (domain.DeadLetter, error) {
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

// DeadLetters returns the dead letters, newest first. limit is 1 to 1000; another value means 1000.
func (s *Store) DeadLetters(ctx context.Context, limit int) ([]domain.DeadLetter, error) {
	var items []domain.DeadLetter
	err := s.view(ctx).each(`SELECT `+deadColumns+` FROM dead_pieces ORDER BY died_at DESC, id DESC LIMIT ?1 + 0`,
		[]any{bounded(limit)}, func(rows rows) error {
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
	if err := s.view(ctx).row(`SELECT COUNT(*) FROM (SELECT 1 FROM dead_pieces LIMIT ?1 + 0) AS dead`, []any{overviewRows}, &dead); err != nil {
		return 0, fmt.Errorf("count dead letters: %w", err)
	}
	return dead, nil
}

// deadTogether bounds the dead letters of one step, so that other steps get their turn.
const deadTogether = 100

// Requeue puts a dead letter at the end of its destination's queue, as a new item with its old idempotency key. The
// error is [domain.ErrNotFound] for an unknown one.
func (s *Store) Requeue(ctx context.Context, id int64) error {
	_, err := step(ctx, s, "requeue", func(t *tx) (nothing, error) { return nothing{}, t.requeue(id) })
	return err
}

// RequeueAll requeues the dead letters in the order in which they were posted, and returns their number.
func (s *Store) RequeueAll(ctx context.Context) (int, error) {
	return s.eachDead(ctx, "requeue", (*tx).requeue)
}

func (t *tx) requeue(id int64) error {
	var requeued int64
	var p domain.OutboxItem
	err := t.row(`INSERT INTO outbox (channel, chat, thread, text, created_at, reply_to, run_id, uncertain, rest, kept, edits, key_id)
		SELECT channel, chat, thread, text, ?2, reply_to, run_id, uncertain, rest, kept, edits, key_id FROM dead_pieces WHERE id = ?1
		RETURNING id, channel, chat, thread`, []any{id, t.now}, &requeued, &p.To.Channel, &p.To.Chat, &p.To.Thread)
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

// Discard deletes a dead letter. The error is [domain.ErrNotFound] for an unknown one.
func (s *Store) Discard(ctx context.Context, id int64) error {
	_, err := step(ctx, s, "forget", func(t *tx) (nothing, error) { return nothing{}, t.forget(id) })
	return err
}

// DiscardAll deletes the dead letters and returns their number.
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

// outdate deletes an item's dead letter, if there is one, because another item has replaced it: it must not be
// requeued.
func (t *tx) outdate(id int64) error {
	_, err := t.exec(`DELETE FROM dead_pieces WHERE id = ?1`, id)
	return err
}

// eachDead applies do, which removes a dead letter, to each current one.
func (s *Store) eachDead(ctx context.Context, name string, do func(*tx, int64) error) (int, error) {
	var last int64
	if err := s.view(ctx).row(`SELECT COALESCE(MAX(id), 0) FROM dead_pieces`, nil, &last); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	for all := 0; ; {
		n, err := step(ctx, s, name, func(t *tx) (int, error) {
			var ids []int64
			err := t.each(`SELECT id FROM dead_pieces WHERE id <= ?1 ORDER BY id LIMIT ?2 + 0`, []any{last, deadTogether}, func(rows rows) error {
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

// maxTold bounds the dead letters in one notice to a session: the last ones; the others are not mentioned.
const maxTold = 100

// undelivered makes the items of a notice about a session's dead letters, if there are any, and records that it was
// given.
func (t *tx) undelivered(session string, tell func([]domain.DeadLetter) []domain.OutboxItem) ([]domain.OutboxItem, error) {
	var dead []domain.DeadLetter
	err := t.each(`SELECT `+deadColumns+` FROM dead_pieces WHERE session = ?1 AND told = 0 ORDER BY id DESC LIMIT ?2 + 0`,
		[]any{session, maxTold}, func(rows rows) error {
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
	if err := checkItems(items); err != nil {
		return nil, err
	}
	_, err = t.exec(`UPDATE dead_pieces SET told = 1 WHERE session = ?1 AND told = 0`, session)
	return items, err
}

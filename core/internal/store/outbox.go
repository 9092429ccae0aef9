package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Post puts pieces into the outbox, in order, and returns the first one's id. The same key again posts nothing and
// returns the first id of the first time; the empty key is never the same. Keys are one namespace, apart from the events'.
func (s *Store) Post(ctx context.Context, key string, pieces ...Piece) (firstID int64, err error) {
	if len(pieces) == 0 {
		return 0, errors.New("post: there is no piece")
	}
	if err := checkPieces(pieces); err != nil {
		return 0, fmt.Errorf("post: %w", err)
	}
	return step(ctx, s, "post", func(t *tx) (int64, error) {
		if key == "" {
			return t.post(0, pieces)
		}
		var posted int64
		err := t.row(`SELECT ref FROM dedupe WHERE kind = 'post' AND channel = '' AND id = ?1`, []any{key}, &posted)
		if !errors.Is(err, sql.ErrNoRows) {
			return posted, err
		}
		if posted, err = t.post(0, pieces); err != nil {
			return 0, err
		}
		_, err = t.exec(`INSERT INTO dedupe (kind, channel, id, seen_at, ref) VALUES ('post', '', ?1, ?2, ?3)`, key, t.now, posted)
		return posted, err
	})
}

// checkPieces refuses pieces that no outbox would ever ask for.
func checkPieces(pieces []Piece) error {
	for _, p := range pieces {
		if p.To.Channel == "" {
			return errors.New("a piece has no channel")
		}
	}
	return nil
}

// post returns the first piece's id, or 0 when there is none.
func (t *tx) post(runID int64, pieces []Piece) (firstID int64, err error) {
	for _, p := range pieces {
		var id int64
		err := t.row(`INSERT INTO outbox (channel, chat, thread, text, reply_to, run_id, created_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id`,
			[]any{p.To.Channel, p.To.Chat, p.To.Thread, p.Text, p.ReplyTo, runID, t.now}, &id)
		if err != nil {
			return 0, err
		}
		if firstID == 0 {
			firstID = id
		}
		// A destination that is sending is due when that piece is done with.
		_, err = t.exec(`INSERT INTO out_lanes (channel, chat, thread, pending, next_at) VALUES (?1, ?2, ?3, 1, ?4)
			ON CONFLICT (channel, chat, thread) DO UPDATE SET pending = out_lanes.pending + 1,
				next_at = CASE WHEN out_lanes.sending IS NULL THEN COALESCE(out_lanes.next_at, excluded.next_at) END`,
			p.To.Channel, p.To.Chat, p.To.Thread, t.now)
		if err != nil {
			return 0, err
		}
		t.after.deliveries = true
	}
	return firstID, nil
}

// DeadPieces returns the pieces that were given up, the newest first. limit is 1 to 1000; another value means 1000.
func (s *Store) DeadPieces(ctx context.Context, limit int) ([]DeadPiece, error) {
	var pieces []DeadPiece
	err := s.view(ctx).each(`SELECT id, channel, chat, thread, text, created_at, died_at, attempts, error FROM dead_pieces
		ORDER BY died_at DESC, id DESC LIMIT ?1 + 0`, []any{bounded(limit, 1000)}, func(rows *sql.Rows) error {
		var p DeadPiece
		var createdAt, diedAt int64
		if err := rows.Scan(&p.ID, &p.To.Channel, &p.To.Chat, &p.To.Thread, &p.Text, &createdAt, &diedAt, &p.Attempts, &p.Error); err != nil {
			return err
		}
		p.CreatedAt, p.DiedAt = moment(createdAt), moment(diedAt)
		pieces = append(pieces, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dead pieces: %w", err)
	}
	return pieces, nil
}

// Uncertain returns how many pieces there ever were whose send had an unknown outcome, so that they had to be sent again.
func (s *Store) Uncertain(ctx context.Context) (count int64, err error) {
	if err := s.view(ctx).row(`SELECT uncertain FROM store`, nil, &count); err != nil {
		return 0, fmt.Errorf("uncertain: %w", err)
	}
	return count, nil
}

// SentBy returns the run that a message of ours answers for, 0 for a message that was no run's, or [ErrNotFound].
func (s *Store) SentBy(ctx context.Context, channel string, in chat.ID, id chat.MessageID) (runID int64, err error) {
	err = s.view(ctx).row(`SELECT run_id FROM sent WHERE channel = ?1 AND chat = ?2 AND message_id = ?3`, []any{channel, in, id}, &runID)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("sent by: %w", err)
	}
	return runID, nil
}

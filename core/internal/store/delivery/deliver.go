package delivery

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// SentBySession reports whether a message is an answer of the agent to a session, of the last 30 days.
func (s *Store) SentBySession(ctx context.Context, session, channel string, in chat.ID, id chat.MessageID) (own bool, err error) {
	err = s.db.View(ctx).Row(`SELECT EXISTS (SELECT 1 FROM sent s JOIN runs r ON r.id = s.run_id
		WHERE s.channel = ?1 AND s.chat = ?2 AND s.message_id = ?3 AND r.session = ?4 AND r.lane = ?5)`,
		[]any{channel, in, id, session, domain.TurnLane}, &own)
	if err != nil {
		return false, fmt.Errorf("whose message it is: %w", err)
	}
	return own, nil
}

// ClaimDeliveries claims the first item of each of a channel's due destinations, of at most limit of them, longest due
// first. A destination is a chat and thread; it is not due while one of its items is claimed. If none is due it waits
// for one; an error means that ctx has ended before.
func (s *Store) ClaimDeliveries(ctx context.Context, channel string, limit int) (ds []domain.Delivery, err error) {
	err = s.db.Run(ctx, engine.Step{Waits: []engine.Topic{DeliveriesReady}, Run: func(t *engine.Tx) error {
		var next int64
		var err error
		ds, next, err = s.claimDeliveries(t, channel, limit)
		if err == nil && len(ds) == 0 {
			t.Idle(next)
		}
		return err
	}})
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	for i := range ds {
		ds[i].Key = s.id + "-" + ds[i].Key
	}
	return ds, nil
}

// DeliveriesDue reports whether an item of the channel is due.
func (s *Store) DeliveriesDue(ctx context.Context, channel string) (due bool, err error) {
	err = s.db.View(ctx).Row(`SELECT EXISTS (SELECT 1 FROM out_lanes WHERE channel = ?1 AND next_at <= ?2)`,
		[]any{channel, engine.Millis(s.db.Now())}, &due)
	if err != nil {
		return false, fmt.Errorf("deliveries due: %w", err)
	}
	return due, nil
}

func (s *Store) claimDeliveries(t *engine.Tx, channel string, limit int) (ds []domain.Delivery, next int64, err error) {
	var due []chat.Address
	err = t.Each(`SELECT chat, thread, next_at FROM out_lanes WHERE channel = ?1 AND next_at IS NOT NULL ORDER BY next_at LIMIT ?2 + 0`,
		[]any{channel, limit + 1}, func(rows engine.Rows) error {
			if next != 0 {
				return nil
			}
			to := chat.Address{Channel: channel}
			var at int64
			if err := rows.Scan(&to.Chat, &to.Thread, &at); err != nil {
				return err
			}
			if at > t.Now || len(due) == limit {
				next = at
				return nil
			}
			due = append(due, to)
			return nil
		})
	if err != nil {
		return nil, 0, err
	}
	for _, to := range due {
		d, err := s.claimHead(t, to)
		if err != nil {
			return nil, 0, fmt.Errorf("the head of %s/%s/%s: %w", to.Channel, to.Chat, to.Thread, err)
		}
		ds = append(ds, d)
	}
	return ds, next, nil
}

func (s *Store) claimHead(t *engine.Tx, to chat.Address) (domain.Delivery, error) {
	d := domain.Delivery{Item: domain.OutboxItem{To: to}}
	var createdAt int64
	var rest string
	err := t.Row(`UPDATE outbox SET attempts = attempts + 1
		WHERE id = (SELECT MIN(id) FROM outbox WHERE channel = ?1 AND chat = ?2 AND thread = ?3)
		RETURNING id, text, reply_to, run_id, created_at, attempts - 1, uncertain, rest, kept, edits, COALESCE(NULLIF(key_id, 0), id)`,
		[]any{to.Channel, to.Chat, to.Thread},
		&d.ID, &d.Item.Text, &d.Item.ReplyTo, &d.RunID, &createdAt, &d.Attempts, &d.Uncertain, &rest, &d.Item.Kept, &d.Item.Edits, &d.Key)
	if err != nil {
		return d, err
	}
	d.CreatedAt = engine.Moment(createdAt)
	DecodeRest(&d.Item, rest)
	if d.Item.Changes() {
		if err := target(t, &d); err != nil {
			return d, err
		}
	}
	_, err = t.Exec(`UPDATE out_lanes SET next_at = NULL, sending = ?4, host = ?5 WHERE channel = ?1 AND chat = ?2 AND thread = ?3`,
		to.Channel, to.Chat, to.Thread, d.ID, s.self.ID)
	return d, err
}

// target finds the message that an item changes.
func target(t *engine.Tx, d *domain.Delivery) error {
	query, args := `SELECT message_id, sent_at, more, repeated FROM kept_pieces WHERE piece = ?1`, []any{d.Item.Edits}
	if d.Item.Target != "" {
		d.Target = d.Item.Target
		query, args = `SELECT message_id, sent_at, '', 0 FROM sent WHERE channel = ?1 AND chat = ?2 AND message_id = ?3`, []any{d.Item.To.Channel, d.Item.To.Chat, d.Target}
	}
	var sentAt int64
	var more string
	err := t.Row(query, args, &d.Target, &sentAt, &more, &d.TargetRepeated)
	if err != nil {
		return engine.NoRows(err)
	}
	d.TargetSentAt = engine.Moment(sentAt)
	if more == "" {
		return nil
	}
	return json.Unmarshal([]byte(more), &d.More)
}

// Delivered completes a claimed delivery: ids are the network's, kept for 90 days, of an edit those of the edited
// message. A kept item has become the first of them. The error is [domain.ErrNotFound] for an item that is not claimed.
func (s *Store) Delivered(ctx context.Context, id int64, ids []chat.MessageID) error {
	return engine.Change(ctx, s.db, "delivered", func(t *engine.Tx) error {
		to, err := sending(t, id)
		if err != nil {
			return err
		}
		var runID, item, edited int64
		var kept, uncertain bool
		if err := t.Row(`DELETE FROM outbox WHERE id = ?1 RETURNING run_id, kept, COALESCE(NULLIF(key_id, 0), id), edits, uncertain`,
			[]any{id}, &runID, &kept, &item, &edited, &uncertain); err != nil {
			return err
		}
		if kept && len(ids) > 0 {
			if err := keep(t, item, edited, to, ids, uncertain); err != nil {
				return err
			}
		}
		for _, message := range ids {
			_, err := t.Exec(`INSERT INTO sent (channel, chat, message_id, run_id, sent_at) VALUES (?1, ?2, ?3, ?4, ?5)
				ON CONFLICT (channel, chat, message_id) DO UPDATE SET run_id = excluded.run_id, sent_at = excluded.sent_at`,
				to.Channel, to.Chat, message, runID, t.Now)
			if err != nil {
				return err
			}
		}
		return advance(t, to)
	})
}

// Retry ends a claimed delivery that must be tried again. The error is [domain.ErrNotFound] for an item that is not
// claimed.
func (s *Store) Retry(ctx context.Context, id int64, again domain.Retry) error {
	return engine.Change(ctx, s.db, "retry", func(t *engine.Tx) error {
		to, err := sending(t, id)
		if err != nil {
			return err
		}
		if again.Uncertain {
			if err := doubt(t, id); err != nil {
				return err
			}
		}
		if again.Excused {
			if _, err := t.Exec(`UPDATE outbox SET attempts = attempts - 1 WHERE id = ?1`, id); err != nil {
				return err
			}
		}
		_, err = t.Exec(`UPDATE out_lanes SET sending = NULL, next_at = ?4, last_error = ?5 WHERE channel = ?1 AND chat = ?2 AND thread = ?3`,
			to.Channel, to.Chat, to.Thread, engine.Millis(again.At), again.Cause)
		t.Announce(DeliveriesReady)
		return err
	})
}

// sending finds the destination of a claimed item.
func sending(t *engine.Tx, id int64) (chat.Address, error) {
	var to chat.Address
	err := t.Row(`SELECT channel, chat, thread FROM out_lanes WHERE sending = ?1`, []any{id}, &to.Channel, &to.Chat, &to.Thread)
	if errors.Is(err, sql.ErrNoRows) {
		return to, domain.ErrNotFound
	}
	return to, err
}

// advance makes a destination continue with its next item after its claimed one is gone. A destination without items is
// deleted.
func advance(t *engine.Tx, to chat.Address) error {
	n, err := t.Exec(`DELETE FROM out_lanes WHERE channel = ?1 AND chat = ?2 AND thread = ?3 AND pending = 1`, to.Channel,
		to.Chat, to.Thread)
	if err != nil || n > 0 {
		return err
	}
	t.Announce(DeliveriesReady)
	_, err = t.Exec(`UPDATE out_lanes SET sending = NULL, pending = pending - 1, next_at = ?4, last_error = ''
		WHERE channel = ?1 AND chat = ?2 AND thread = ?3`, to.Channel, to.Chat, to.Thread, t.Now)
	return err
}

// orphans are the destinations whose sends have lost their host: it has no row, or is gone.
const orphans = `sending IS NOT NULL AND NOT EXISTS (SELECT 1 FROM hosts h WHERE h.id = out_lanes.host AND h.gone_at IS NULL)`

// Reclaim makes the items due that were being sent by hosts that are gone, or by the previous process of one that is alone.
func Reclaim(t *engine.Tx) (int64, error) {
	var ids []int64
	err := t.Each(`SELECT sending FROM out_lanes WHERE `+orphans, nil, func(rows engine.Rows) error {
		var id int64
		defer func() { ids = append(ids, id) }()
		return rows.Scan(&id)
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := doubt(t, id); err != nil {
			return 0, err
		}
	}
	return t.Exec(`UPDATE out_lanes SET sending = NULL, next_at = ?1, last_error = 'the host ended while it was sent'
		WHERE `+orphans, t.Now)
}

// doubt marks an item whose send has an unknown outcome, and counts it once.
func doubt(t *engine.Tx, id int64) error {
	n, err := t.Exec(`UPDATE outbox SET uncertain = 1 WHERE id = ?1 AND uncertain = 0`, id)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.Exec(`UPDATE store SET uncertain = uncertain + 1`)
	return err
}

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ClaimDeliveries claims the first item of each of a channel's due destinations, of at most limit of them, longest due
// first. A destination is a chat and thread; it is not due while one of its items is claimed. If none is due it waits
// for one; an error means that ctx has ended before.
func (s *Store) ClaimDeliveries(ctx context.Context, channel string, limit int) (ds []domain.Delivery, err error) {
	err = await(ctx, s, "claim deliveries", func(e effects) bool { return e.deliveries }, func(t *tx) (ds []domain.Delivery, found bool, next int64, err error) {
		ds, next, err = t.claimDeliveries(channel, limit)
		return ds, len(ds) > 0, next, err
	}, func(claimed []domain.Delivery) { ds = claimed })
	for i := range ds {
		ds[i].Key = s.id + "-" + ds[i].Key
	}
	return ds, err
}

// DeliveriesDue reports whether an item of the channel is due.
func (s *Store) DeliveriesDue(ctx context.Context, channel string) (due bool, err error) {
	err = s.view(ctx).row(`SELECT EXISTS (SELECT 1 FROM out_lanes WHERE channel = ?1 AND next_at <= ?2)`,
		[]any{channel, millis(s.now())}, &due)
	if err != nil {
		return false, fmt.Errorf("deliveries due: %w", err)
	}
	return due, nil
}

func (t *tx) claimDeliveries(channel string, limit int) (ds []domain.Delivery, next int64, err error) {
	var due []chat.Address
	err = t.each(`SELECT chat, thread, next_at FROM out_lanes WHERE channel = ?1 AND next_at IS NOT NULL ORDER BY next_at LIMIT ?2 + 0`,
		[]any{channel, limit + 1}, func(rows rows) error {
			if next != 0 {
				return nil
			}
			to := chat.Address{Channel: channel}
			var at int64
			if err := rows.Scan(&to.Chat, &to.Thread, &at); err != nil {
				return err
			}
			if at > t.now || len(due) == limit {
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
		d, err := t.claimHead(to)
		if err != nil {
			return nil, 0, fmt.Errorf("the head of %s/%s/%s: %w", to.Channel, to.Chat, to.Thread, err)
		}
		ds = append(ds, d)
	}
	return ds, next, nil
}

func (t *tx) claimHead(to chat.Address) (domain.Delivery, error) {
	d := domain.Delivery{Item: domain.OutboxItem{To: to}}
	var createdAt int64
	var rest string
	err := t.row(`UPDATE outbox SET attempts = attempts + 1
		WHERE id = (SELECT MIN(id) FROM outbox WHERE channel = ?1 AND chat = ?2 AND thread = ?3)
		RETURNING id, text, reply_to, run_id, created_at, attempts - 1, uncertain, rest, kept, edits, COALESCE(NULLIF(key_id, 0), id)`,
		[]any{to.Channel, to.Chat, to.Thread},
		&d.ID, &d.Item.Text, &d.Item.ReplyTo, &d.RunID, &createdAt, &d.Attempts, &d.Uncertain, &rest, &d.Item.Kept, &d.Item.Edits, &d.Key)
	if err != nil {
		return d, err
	}
	d.CreatedAt = moment(createdAt)
	decodeRest(&d.Item, rest)
	if d.Item.Changes() {
		if err := t.target(&d); err != nil {
			return d, err
		}
	}
	_, err = t.exec(`UPDATE out_lanes SET next_at = NULL, sending = ?4 WHERE channel = ?1 AND chat = ?2 AND thread = ?3`,
		to.Channel, to.Chat, to.Thread, d.ID)
	return d, err
}

// target finds the message that an item changes.
func (t *tx) target(d *domain.Delivery) error {
	query, args := `SELECT message_id, sent_at, more, repeated FROM kept_pieces WHERE piece = ?1`, []any{d.Item.Edits}
	if d.Item.Target != "" {
		d.Target = d.Item.Target
		query, args = `SELECT message_id, sent_at, '', 0 FROM sent WHERE channel = ?1 AND chat = ?2 AND message_id = ?3`, []any{d.Item.To.Channel, d.Item.To.Chat, d.Target}
	}
	var sentAt int64
	var more string
	err := t.row(query, args, &d.Target, &sentAt, &more, &d.TargetRepeated)
	if err != nil {
		return noRows(err)
	}
	d.TargetSentAt = moment(sentAt)
	if more == "" {
		return nil
	}
	return json.Unmarshal([]byte(more), &d.More)
}

// Delivered completes a claimed delivery: ids are the network's, kept for 90 days, of an edit those of the edited
// message. A kept item has become the first of them. The error is [domain.ErrNotFound] for an item that is not claimed.
func (s *Store) Delivered(ctx context.Context, id int64, ids []chat.MessageID) error {
	_, err := step(ctx, s, "delivered", func(t *tx) (nothing, error) {
		to, err := t.sending(id)
		if err != nil {
			return nothing{}, err
		}
		var runID, item, edited int64
		var kept, uncertain bool
		if err := t.row(`DELETE FROM outbox WHERE id = ?1 RETURNING run_id, kept, COALESCE(NULLIF(key_id, 0), id), edits, uncertain`,
			[]any{id}, &runID, &kept, &item, &edited, &uncertain); err != nil {
			return nothing{}, err
		}
		if kept && len(ids) > 0 {
			if err := t.keep(item, edited, to, ids, uncertain); err != nil {
				return nothing{}, err
			}
		}
		for _, message := range ids {
			_, err := t.exec(`INSERT INTO sent (channel, chat, message_id, run_id, sent_at) VALUES (?1, ?2, ?3, ?4, ?5)
				ON CONFLICT (channel, chat, message_id) DO UPDATE SET run_id = excluded.run_id, sent_at = excluded.sent_at`,
				to.Channel, to.Chat, message, runID, t.now)
			if err != nil {
				return nothing{}, err
			}
		}
		return nothing{}, t.advance(to)
	})
	return err
}

// Retry ends a claimed delivery that must be tried again. The error is [domain.ErrNotFound] for an item that is not
// claimed.
func (s *Store) Retry(ctx context.Context, id int64, again domain.Retry) error {
	_, err := step(ctx, s, "retry", func(t *tx) (nothing, error) {
		to, err := t.sending(id)
		if err != nil {
			return nothing{}, err
		}
		if again.Uncertain {
			if err := t.doubt(id); err != nil {
				return nothing{}, err
			}
		}
		if again.Excused {
			if _, err := t.exec(`UPDATE outbox SET attempts = attempts - 1 WHERE id = ?1`, id); err != nil {
				return nothing{}, err
			}
		}
		_, err = t.exec(`UPDATE out_lanes SET sending = NULL, next_at = ?4, last_error = ?5 WHERE channel = ?1 AND chat = ?2 AND thread = ?3`,
			to.Channel, to.Chat, to.Thread, millis(again.At), again.Cause)
		t.after.deliveries = true
		return nothing{}, err
	})
	return err
}

// sending finds the destination of a claimed item.
func (t *tx) sending(id int64) (chat.Address, error) {
	var to chat.Address
	err := t.row(`SELECT channel, chat, thread FROM out_lanes WHERE sending = ?1`, []any{id}, &to.Channel, &to.Chat, &to.Thread)
	if errors.Is(err, sql.ErrNoRows) {
		return to, domain.ErrNotFound
	}
	return to, err
}

// advance makes a destination continue with its next item after its claimed one is gone. A destination without items is
// deleted.
func (t *tx) advance(to chat.Address) error {
	n, err := t.exec(`DELETE FROM out_lanes WHERE channel = ?1 AND chat = ?2 AND thread = ?3 AND pending = 1`, to.Channel,
		to.Chat, to.Thread)
	if err != nil || n > 0 {
		return err
	}
	t.after.deliveries = true
	_, err = t.exec(`UPDATE out_lanes SET sending = NULL, pending = pending - 1, next_at = ?4, last_error = ''
		WHERE channel = ?1 AND chat = ?2 AND thread = ?3`, to.Channel, to.Chat, to.Thread, t.now)
	return err
}

// reclaimDeliveries makes the items due that were being sent when the host ended.
func (t *tx) reclaimDeliveries() (int64, error) {
	var ids []int64
	err := t.each(`SELECT sending FROM out_lanes WHERE sending IS NOT NULL`, nil, func(rows rows) error {
		var id int64
		defer func() { ids = append(ids, id) }()
		return rows.Scan(&id)
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.doubt(id); err != nil {
			return 0, err
		}
	}
	return t.exec(`UPDATE out_lanes SET sending = NULL, next_at = ?1, last_error = 'the host ended while it was sent'
		WHERE sending IS NOT NULL`, t.now)
}

// doubt marks an item whose send has an unknown outcome, and counts it once.
func (t *tx) doubt(id int64) error {
	n, err := t.exec(`UPDATE outbox SET uncertain = 1 WHERE id = ?1 AND uncertain = 0`, id)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.exec(`UPDATE store SET uncertain = uncertain + 1`)
	return err
}

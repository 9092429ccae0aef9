package delivery

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// rest is the JSON part of an item's row.
type rest struct {
	Media   []chat.Media    `json:"media,omitempty"`
	Buttons [][]chat.Button `json:"buttons,omitempty"`
	Silent  bool            `json:"silent,omitempty"`
	OrSend  bool            `json:"or_send,omitempty"`
	Target  chat.MessageID  `json:"target,omitempty"`
	React   *string         `json:"react,omitempty"`
	Poll    *chat.Poll      `json:"poll,omitempty"`
	Agent   string          `json:"agent,omitempty"`
	Pin     *bool           `json:"pin,omitempty"`
}

func encodeRest(p domain.OutboxItem) (string, error) {
	if len(p.Media) == 0 && len(p.Buttons) == 0 && !p.Silent && !p.OrSend && p.Target == "" && p.React == nil && p.Poll == nil && p.Agent == "" && p.Pin == nil {
		return "", nil
	}
	encoded, err := json.Marshal(rest{p.Media, p.Buttons, p.Silent, p.OrSend, p.Target, p.React, p.Poll, p.Agent, p.Pin})
	return string(encoded), err
}

// DecodeRest ignores what this version cannot read: the text is still worth sending.
func DecodeRest(p *domain.OutboxItem, encoded string) {
	var r rest
	if encoded == "" || json.Unmarshal([]byte(encoded), &r) != nil {
		return
	}
	p.Media, p.Buttons, p.Silent, p.OrSend, p.Target, p.React, p.Poll = r.Media, r.Buttons, r.Silent, r.OrSend, r.Target, r.React, r.Poll
	p.Agent, p.Pin = r.Agent, r.Pin
}

// settle checks the target of an edit. It is gone if it was given up, is unknown, or waits and was certainly not sent:
// then it will not be sent. A target of another destination is an error, because the order across destinations is
// undefined.
func settle(t *engine.Tx, p domain.OutboxItem) (gone bool, err error) {
	to, waits, err := Locate(t, p.Edits)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return true, outdate(t, p.Edits)
	case err != nil:
		return false, err
	}
	switch now, err := current(t, to); {
	case err != nil:
		return false, err
	case now != p.To:
		return false, fmt.Errorf("an item for %s/%s/%s edits one of %s/%s/%s",
			p.To.Channel, p.To.Chat, p.To.Thread, to.Channel, to.Chat, to.Thread)
	case !waits:
		return false, nil
	}
	return TakeBack(t, p.Edits, to)
}

// Locate returns where a kept item was sent, or where a waiting one goes, and whether it waits.
func Locate(t *engine.Tx, item int64) (to chat.Address, waits bool, err error) {
	err = t.Row(`SELECT channel, chat, thread, 1 FROM outbox WHERE id = ?1
		UNION ALL SELECT channel, chat, thread, 0 FROM kept_pieces WHERE piece = ?1`,
		[]any{item}, &to.Channel, &to.Chat, &to.Thread, &waits)
	return to, waits, err
}

// TakeBack removes a waiting item from the outbox, unless it is being sent or may have arrived.
func TakeBack(t *engine.Tx, item int64, to chat.Address) (bool, error) {
	n, err := t.Exec(`DELETE FROM outbox WHERE id = ?1 AND uncertain = 0 AND id NOT IN (SELECT sending FROM out_lanes WHERE sending = ?1)`, item)
	if err != nil || n == 0 {
		return false, err
	}
	// A pause of the destination also applies to its next item.
	n, err = t.Exec(`DELETE FROM out_lanes WHERE channel = ?1 AND chat = ?2 AND thread = ?3 AND pending = 1`, to.Channel,
		to.Chat, to.Thread)
	if err != nil || n > 0 {
		return true, err
	}
	_, err = t.Exec(`UPDATE out_lanes SET pending = pending - 1 WHERE channel = ?1 AND chat = ?2 AND thread = ?3`,
		to.Channel, to.Chat, to.Thread)
	return true, err
}

// Retract removes a kept item, or has its message deleted if there is or will be one; zero: no item.
func Retract(t *engine.Tx, item int64) error {
	if item == 0 {
		return nil
	}
	to, _, err := Locate(t, item)
	if errors.Is(err, sql.ErrNoRows) {
		return outdate(t, item)
	}
	if err != nil {
		return err
	}
	_, err = Post(t, 0, []domain.OutboxItem{{To: to, Edits: item}})
	return err
}

// keep records what a kept item has become, and whether its send was repeated in doubt. The message keeps its age when it is
// edited, and whether it was repeated: an edit that is repeated shows nothing twice.
func keep(t *engine.Tx, item, edited int64, to chat.Address, ids []chat.MessageID, uncertain bool) error {
	more := ""
	if len(ids) > 1 {
		raw, err := json.Marshal(ids[1:])
		if err != nil {
			return err
		}
		more = string(raw)
	}
	_, err := t.Exec(`INSERT INTO kept_pieces (piece, channel, chat, thread, message_id, sent_at, more, repeated)
		VALUES (?1, ?2, ?3, ?4, ?5, COALESCE((SELECT sent_at FROM kept_pieces WHERE piece = ?7 AND message_id = ?5), ?6), ?8,
			COALESCE((SELECT repeated FROM kept_pieces WHERE piece = ?7 AND message_id = ?5), ?9))
		ON CONFLICT (piece) DO UPDATE SET message_id = excluded.message_id, sent_at = excluded.sent_at, more = excluded.more,
			repeated = excluded.repeated`,
		item, to.Channel, to.Chat, to.Thread, ids[0], t.Now, edited, more, uncertain)
	return err
}

// SentItem returns the message that a kept item has become, for 90 days, and when that was sent: the first one if there
// were several. The error is [domain.ErrNotFound] if it was not sent, or not yet, or if the network returns no ids.
func (s *Store) SentItem(ctx context.Context, item int64) (id chat.MessageID, at time.Time, err error) {
	var sentAt int64
	err = s.db.View(ctx).Row(`SELECT message_id, sent_at FROM kept_pieces WHERE piece = ?1`, []any{item}, &id, &sentAt)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sent item: %w", err)
	}
	return id, engine.Moment(sentAt), nil
}

// OldestUndelivered returns when the oldest undelivered item of a destination was posted; zero: none.
func (s *Store) OldestUndelivered(ctx context.Context, to chat.Address) (oldest time.Time, err error) {
	var at int64
	err = s.db.View(ctx).Row(`SELECT created_at FROM outbox WHERE channel = ?1 AND chat = ?2 AND thread = ?3 ORDER BY id LIMIT 1`,
		[]any{to.Channel, to.Chat, to.Thread}, &at)
	if err = engine.NoRows(err); err != nil {
		return time.Time{}, fmt.Errorf("behind: %w", err)
	}
	return engine.Moment(at), nil
}

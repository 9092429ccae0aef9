package queue

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Bounds of one run.
const (
	maxTogether      = 50        // messages
	maxTogetherBytes = 256 << 10 // of their texts
)

// inboxRow is a message as claiming reads it.
type inboxRow struct {
	domain.Queued
	id         event
	bound      sql.NullString
	previousAt int64

	message          string // JSON
	batch            sql.NullInt64
	mode             domain.Mode
	share, overrides string
	size             int64

	said, sent       string
	preview, receipt int64
	reacts           bool
}

func (r *inboxRow) scan(rows engine.Rows) error {
	var receivedAt, consumedAt int64
	err := rows.Scan(&r.Seq, &r.Number, &r.Burst, &r.id.channel, &r.id.id, &r.message, &receivedAt, &r.previousAt, &r.Attempts, &r.bound,
		&consumedAt, &r.batch, &r.mode, &r.share, &r.overrides, &r.size, &r.said, &r.sent, &r.preview, &r.receipt, &r.reacts)
	r.ReceivedAt, r.ConsumedAt = engine.Moment(receivedAt), engine.Moment(consumedAt)
	return err
}

func (r *inboxRow) decode() error {
	err := json.Unmarshal([]byte(r.message), &r.Message)
	r.EventID, r.UUID = r.id.id, uuidOf(r.Message.Edition, r.id)
	return err
}

// batch reads the messages of the lane's next run: those of an earlier attempt; or else the head with the rest of its
// burst and, in collect mode, the following messages that are also to be collected and may share its turn.
func batch(t *engine.Tx, session string, lane domain.Lane) ([]inboxRow, error) {
	g := gathering{session: session}
	err := t.Each(`SELECT seq, COALESCE(ticket, seq), burst, channel, event_id, message, received_at, COALESCE(previous_at, 0), attempts, claude_session,
			COALESCE(consumed_at, 0), batch, mode, share, overrides, size, said, told, preview, receipt, reacts
		FROM inbox WHERE session = ?1 AND lane = ?2 ORDER BY seq LIMIT ?3 + 0`,
		[]any{session, lane, maxTogether}, g.add)
	if err == nil && len(g.rows) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, fmt.Errorf("the head of session %s: %w", session, err)
	}
	return g.rows, nil
}

// gathering builds a batch from a lane's messages, added in order.
type gathering struct {
	session string
	rows    []inboxRow
	size    int64
	passed  bool // a message outside the head's burst was skipped: those after it are not collected
}

// add returns engine.ErrEnough when no further message can join the batch.
func (g *gathering) add(rows engine.Rows) error {
	var m inboxRow
	if err := m.scan(rows); err != nil {
		return err
	}
	if len(g.rows) == 0 {
		if err := m.decode(); err != nil {
			return &unreadableError{session: g.session, seq: m.Seq, err: err}
		}
		g.rows, g.size = append(g.rows, m), m.size
		if !m.batch.Valid && m.Message.Origin != "" {
			return engine.ErrEnough // it has a run of its own
		}
		return nil
	}
	head := &g.rows[0]
	switch {
	case head.batch.Valid:
		if m.batch != head.batch {
			return nil
		}
	case m.bound != head.bound: // It belongs to another conversation.
		return engine.ErrEnough
	case m.Burst == head.Burst && m.overrides != head.overrides: // It was edited after it was accepted.
		return engine.ErrEnough
	case m.Burst == head.Burst:
	case head.mode == domain.Collect && m.mode == domain.Collect && m.share == head.share && m.overrides == head.overrides && !g.passed:
	default:
		g.passed = true
		return nil
	}
	// Later messages of a burst are not answered before one that does not fit.
	if !head.batch.Valid && (m.batch.Valid || g.size+m.size > maxTogetherBytes) {
		return engine.ErrEnough
	}
	if m.decode() != nil || !head.batch.Valid && (m.Message.Fresh || m.Message.Origin != "") {
		return engine.ErrEnough
	}
	g.rows, g.size = append(g.rows, m), g.size+m.size
	return nil
}

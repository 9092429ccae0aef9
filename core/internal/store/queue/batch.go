package queue

import (
	"database/sql"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Bounds of one run.
const (
	maxTogether      = 50        // messages
	maxTogetherBytes = 256 << 10 // of their texts
)

// claimed is a message of a run.
type claimed struct {
	row
	domain.Queued
}

// batch reads the messages of the lane's next run: those of an earlier attempt; or else the head with the rest of its
// burst and, in collect mode, the following messages that are also to be collected and may share its turn.
func batch(t *engine.Tx, session string, lane domain.Lane) ([]claimed, error) {
	g := gathering{session: session}
	err := t.Each(`SELECT `+columns+` FROM inbox WHERE session = ?1 AND lane = ?2 ORDER BY seq LIMIT ?3 + 0`, []any{session, lane, maxTogether}, g.add)
	if err == nil && len(g.messages) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, fmt.Errorf("the head of session %s: %w", session, err)
	}
	return g.messages, nil
}

// gathering builds a batch from a lane's messages, added in order.
type gathering struct {
	session  string
	messages []claimed
	size     int64
	passed   bool // a message outside the head's burst was skipped: those after it are not collected
}

// add returns [engine.ErrEnough] when no further message can join the batch.
func (g *gathering) add(rows engine.Rows) error {
	var m claimed
	if err := rows.Scan(m.dest()...); err != nil {
		return err
	}
	if len(g.messages) > 0 {
		if joins, err := g.joins(&m.row); err != nil || !joins {
			return err
		}
	}
	var err error
	if m.Queued, err = m.queued(); err != nil && len(g.messages) == 0 {
		return &unreadableError{session: g.session, seq: m.seq, err: err}
	} else if err != nil {
		return engine.ErrEnough
	}
	g.messages, g.size = append(g.messages, m), g.size+m.size
	if len(g.messages) == 1 && !m.batch.Valid && m.origin != "" {
		return engine.ErrEnough // it has a run of its own
	}
	return nil
}

// joins reports whether a message joins the batch. The error is [engine.ErrEnough] if neither it nor a later one can.
func (g *gathering) joins(m *row) (bool, error) {
	head := &g.messages[0].row
	if head.batch.Valid {
		return m.batch == head.batch, nil
	}
	switch {
	case m.claude != head.claude: // It belongs to another conversation.
		return false, engine.ErrEnough
	case m.burst == head.burst && m.overrides != head.overrides: // It was edited after it was accepted.
		return false, engine.ErrEnough
	case m.burst == head.burst:
	case head.mode == domain.Collect && m.mode == domain.Collect && m.share == head.share && m.overrides == head.overrides && !g.passed:
	default:
		g.passed = true
		return false, nil
	}
	// Later messages of a burst are not answered before one that does not fit.
	if m.batch.Valid || m.fresh || m.origin != "" || g.size+m.size > maxTogetherBytes {
		return false, engine.ErrEnough
	}
	return true, nil
}

package queue

import (
	"cmp"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// remove runs a DELETE that returns the removed messages, in order. It also removes their receipts.
func remove(t *engine.Tx, query string, args ...any) ([]row, error) {
	var list []row
	err := t.Each(query, args, func(rows engine.Rows) error {
		var r row
		defer func() { list = append(list, r) }()
		return rows.Scan(r.dest()...)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b row) int { return cmp.Compare(a.seq, b.seq) })
	for _, r := range list {
		if err := delivery.Retract(t, r.receipt); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// begins reports whether a conversation was to begin with the message, and has not begun yet.
func (r row) begins() bool { return r.fresh && !r.claude.Valid }

// cancel ends messages without a run of their own, and wakes those that wait for their end. If a conversation was to
// begin with one of them, it begins even so: later messages are not meant for the old one.
func cancel(t *engine.Tx, session string, lane domain.Lane, list []row, why string) error {
	for _, r := range list {
		if !r.begins() {
			continue
		}
		if err := bindWaiting(t, session, r.seq); err != nil {
			return err
		}
		if _, _, err := sessions.BeginClaude(t, session); err != nil {
			return err
		}
	}
	for _, r := range list {
		if r.consumedAt.Valid && lane == domain.TurnLane {
			if err := sessions.AddNotes(t, session, []domain.Note{{Kind: domain.NoteHint, At: engine.Moment(t.Now), Text: domain.HintWithdrawn}}); err != nil {
				return err
			}
		}
		_, err := t.Exec(`INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at, ended_at, error)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)`,
			session, lane, r.seq, r.channel, r.id, domain.RunCancelled, t.Now, why)
		if err != nil {
			return err
		}
		if err := delivery.Retract(t, r.preview); err != nil {
			return err
		}
		if err := show(t, r.event, r.reacts, domain.StageDropped); err != nil {
			return err
		}
		t.Announce(runEnded(r.channel, r.id))
	}
	return nil
}

// drop cancels messages that were removed from a lane, and updates the lane's counters.
func drop(t *engine.Tx, session string, lane domain.Lane, list []row, why string) error {
	if err := cancel(t, session, lane, list, why); err != nil {
		return err
	}
	joined := 0
	for _, r := range list {
		if r.joinedRun.Valid {
			joined++
		}
	}
	_, err := t.Exec(`UPDATE lanes SET queued = queued - ?3, held = held - ?4 WHERE session = ?1 AND lane = ?2`,
		session, lane, len(list), joined)
	return err
}

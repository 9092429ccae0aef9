package queue

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// removed is a message that has left the inbox.
type removed struct {
	event
	seq        int64
	joined     bool
	batch      int64  // 0: none
	claude     string // the claude session that it was claimed for; "": none
	consumed   bool   // claude has read it
	fresh      bool   // a claude session was to begin with it
	origin     domain.Origin
	message    string // JSON
	receivedAt int64
	preview    int64 // of its answer; 0: none
	receipt    int64 // the message that shows that it waits; 0: none
	reacts     bool  // reactions show the state of its answer
}

// removedColumns are what remove scans.
const removedColumns = `channel, event_id, seq, joined_run IS NOT NULL, COALESCE(batch, 0), COALESCE(claude_session, ''), consumed_at IS NOT NULL, fresh, origin, message, received_at, preview, receipt, reacts`

// decode returns the message, unless it is unreadable.
func (r removed) decode() (m domain.Message, ok bool) {
	return m, json.Unmarshal([]byte(r.message), &m) == nil
}

// remove runs a DELETE that returns the removed messages, in order. It also removes their receipts.
func remove(t *engine.Tx, query string, args ...any) ([]removed, error) {
	var list []removed
	err := t.Each(query, args, func(rows engine.Rows) error {
		var r removed
		defer func() { list = append(list, r) }()
		return rows.Scan(&r.channel, &r.id, &r.seq, &r.joined, &r.batch, &r.claude, &r.consumed, &r.fresh, &r.origin,
			&r.message, &r.receivedAt, &r.preview, &r.receipt, &r.reacts)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b removed) int { return cmp.Compare(a.seq, b.seq) })
	for _, r := range list {
		if err := delivery.Retract(t, r.receipt); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// begins reports whether a conversation was to begin with the message, and has not begun yet.
func (r removed) begins() bool { return r.fresh && r.claude == "" }

// cancel ends messages without a run of their own, and wakes those that wait for their end. If a conversation was to
// begin with one of them, it begins even so: later messages are not meant for the old one.
func cancel(t *engine.Tx, session string, lane domain.Lane, list []removed, why string) error {
	for _, r := range list {
		if !r.begins() {
			continue
		}
		if err := bindWaiting(t, session, r.seq); err != nil {
			return err
		}
		if _, _, err := sessions.Begin(t, session); err != nil {
			return err
		}
	}
	for _, r := range list {
		if r.consumed && lane == domain.TurnLane {
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
func drop(t *engine.Tx, session string, lane domain.Lane, list []removed, why string) error {
	if err := cancel(t, session, lane, list, why); err != nil {
		return err
	}
	joined := 0
	for _, r := range list {
		if r.joined {
			joined++
		}
	}
	_, err := t.Exec(`UPDATE lanes SET queued = queued - ?3, held = held - ?4 WHERE session = ?1 AND lane = ?2`,
		session, lane, len(list), joined)
	return err
}

package queue

import (
	"database/sql"
	"errors"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// interrupted is the reason of runs and messages that a later message ended.
const interrupted = "interrupted by a later message"

// mayInterrupt reports whether a message ends the running turn and drops the waiting messages: if its mode says so, and
// none of them has a higher authority.
func mayInterrupt(t *engine.Tx, in domain.Inbound, p place) (bool, error) {
	if in.Queue.Mode != domain.Interrupt || p.queued == 1 {
		return false, nil
	}
	var higher bool
	err := t.Row(`SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ?1 AND lane = 'turn' AND authority > ?2)`,
		[]any{in.Session, in.Message.Authority}, &higher)
	return !higher, err
}

// interrupt takes the lane from the running turn and drops the waiting messages, except the burst that the new message
// joins. The new message is not in the inbox yet.
func interrupt(t *engine.Tx, in domain.Inbound, p *place, keep burst) error {
	var superseded, head int64 // the run that loses its lane
	var consumed bool
	err := t.Row(`SELECT r.id, r.seq, i.consumed_at IS NOT NULL FROM lanes l JOIN runs r ON r.id = l.run_id
		JOIN inbox i ON i.session = l.session AND i.lane = l.lane AND i.seq = r.seq
		WHERE l.session = ?1 AND l.lane = 'turn'`, []any{in.Session}, &superseded, &head, &consumed)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	gone, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = 'turn'
			AND (burst != ?2 OR batch IS NOT NULL OR joined_run IS NOT NULL)
		RETURNING `+columns, in.Session, keep.id)
	if err != nil {
		return err
	}
	if superseded != 0 {
		t.Announce(turnChanged(in.Session))
		if err := endInterrupted(t, in, superseded, head, gone); err != nil {
			return err
		}
		if err := sessions.SettleNotes(t, in.Session, head, consumed); err != nil {
			return err
		}
		if in.Hint != nil {
			if err := sessions.AddNotes(t, in.Session, []domain.Note{*in.Hint}); err != nil {
				return err
			}
		}
	}
	waited := slices.DeleteFunc(slices.Clone(gone), func(r row) bool { return superseded != 0 && r.seq == head })
	if err := cancel(t, in.Session, in.Lane, waited, interrupted); err != nil {
		return err
	}
	p.queued, p.held, p.moved = p.queued-int64(len(gone)), 0, true
	_, err = t.Exec(`UPDATE lanes SET run_id = NULL, held = 0, queued = queued - ?2 WHERE session = ?1 AND lane = 'turn'`,
		in.Session, len(gone))
	return err
}

// endInterrupted ends a run that has lost its lane to a later message. Its messages go to the transcript. The preview
// of its answer, which nothing would complete, is deleted.
func endInterrupted(t *engine.Tx, in domain.Inbound, run, head int64, gone []row) error {
	if _, err := t.Exec(`UPDATE runs SET state = ?2, ended_at = ?3, error = ?4 WHERE id = ?1`,
		run, domain.RunCancelled, t.Now, interrupted); err != nil {
		return err
	}
	var steered []row
	for _, r := range gone {
		if r.seq == head {
			if err := delivery.Retract(t, r.preview); err != nil {
				return err
			}
			if err := show(t, r.event, r.reacts, domain.StageDropped); err != nil {
				return err
			}
			t.Announce(runEnded(r.channel, r.id))
		}
		if r.batch.Int64 == head || r.joinedRun.Valid {
			steered = append(steered, r)
		}
	}
	entry := chat.TranscriptEntry{Role: chat.System, Text: interrupted, At: engine.Moment(t.Now)}
	entries, ids := said(steered)
	return sessions.AppendTranscript(t, in.Session, nil, append(entries, entry), ids...)
}

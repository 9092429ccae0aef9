package store

import (
	"database/sql"
	"encoding/json"

	"github.com/clawhost/clawhost/sdk/chat"
)

// patience is how many times the window, or the quiet, that what waits for quiet waits at most.
const patience = 5

// admit finds the place of a message among those that wait for the session's turn. A message that is dropped at once has
// no place: accepted.Seq is 0 then.
func (t *tx) admit(in Inbound, e encoded, p place, accepted *Acceptance) (place, error) {
	if in.Queue.Mode == Interrupt && p.queued > 1 {
		superseded, err := t.interrupt(in.Session, in.Hint)
		if err != nil {
			return p, err
		}
		accepted.Superseded, accepted.Waiting = superseded, 0
		p.queued, p.held, p.running, p.moved = 1, 0, false, true
	}
	if in.Queue.Cap > 0 && p.waiting() > int64(in.Queue.Cap) {
		if in.Queue.Drop == DropNew {
			accepted.Seq = 0
			return p, t.drop(in.Session, in.Lane, []removed{{event: event{in.Message.Channel, in.EventID}, seq: p.seq}},
				RunCancelled, "dropped: too many messages wait")
		}
		if err := t.overflow(in, p.waiting()-int64(in.Queue.Cap)); err != nil {
			return p, err
		}
	}
	return t.pace(in, e, p)
}

// pace decides when the message may be claimed: as a part of a burst when that is over; behind others when it has been
// quiet for a while.
func (t *tx) pace(in Inbound, e encoded, p place) (place, error) {
	if in.Burst.Window > 0 {
		joined, err := t.joinBurst(in, e, &p)
		if err != nil {
			return p, err
		}
		if !joined && !in.Burst.Now {
			p.readyAt = max(p.readyAt, t.now+in.Burst.Window.Milliseconds())
		}
	}
	if in.Queue.Quiet <= 0 || p.queued == 1 || in.Queue.Mode == Queue || in.Queue.Mode == Steer || in.Queue.Mode == SteerBacklog {
		return p, nil
	}
	quiet := t.now + in.Queue.Quiet.Milliseconds()
	p.readyAt = max(p.readyAt, quiet)
	if in.Queue.Mode != Collect {
		return p, nil
	}
	// What is collected waits for what comes after it.
	p.moved = true
	_, err := t.exec(`UPDATE inbox SET ready_at = MAX(ready_at, MIN(?3, received_at + ?4))
		WHERE session = ?1 AND lane = 'turn' AND mode = ?2 AND batch IS NULL AND joined_run IS NULL`,
		in.Session, Collect, quiet, patience*in.Queue.Quiet.Milliseconds())
	return p, err
}

// joinBurst makes the message a part of its sender's burst, if that is still open.
func (t *tx) joinBurst(in Inbound, e encoded, p *place) (bool, error) {
	var burst, readyAt int64
	var share, overrides string
	err := t.row(`SELECT burst, ready_at, share, overrides FROM inbox
		WHERE session = ?1 AND lane = 'turn' AND burst_by = ?2 AND batch IS NULL AND joined_run IS NULL ORDER BY seq DESC LIMIT 1`,
		[]any{in.Session, in.Burst.By}, &burst, &readyAt, &share, &overrides)
	if err != nil || readyAt <= t.now || share != e.share || overrides != e.overrides {
		return false, noRows(err)
	}
	var messages, bytes, first int64
	err = t.row(`SELECT COUNT(*), SUM(size), MIN(received_at) FROM inbox WHERE session = ?1 AND lane = 'turn' AND seq >= ?2 AND burst = ?2`,
		[]any{in.Session, burst}, &messages, &bytes, &first)
	if err != nil {
		return false, err
	}
	b := in.Burst
	if b.Messages > 0 && messages >= int64(b.Messages) || b.Bytes > 0 && bytes+int64(len(in.Message.Text)) > int64(b.Bytes) {
		return false, nil
	}
	p.burst, p.readyAt, p.moved = burst, t.now, true
	if !b.Now {
		p.readyAt = t.now + b.Window.Milliseconds()
		if b.Wait > 0 {
			p.readyAt = min(p.readyAt, first+b.Wait.Milliseconds())
		}
	}
	_, err = t.exec(`UPDATE inbox SET ready_at = ?3 WHERE session = ?1 AND lane = 'turn' AND seq >= ?2 AND burst = ?2`,
		in.Session, burst, p.readyAt)
	return true, err
}

// interrupt takes the lane from the running turn and drops what waits in it. The new message is not in the inbox yet.
func (t *tx) interrupt(session string, hint *Note) (superseded int64, err error) {
	var run sql.NullInt64
	var head string
	err = t.row(`SELECT l.run_id, i.message FROM lanes l JOIN inbox i ON i.session = l.session AND i.lane = l.lane
		WHERE l.session = ?1 AND l.lane = 'turn' ORDER BY i.seq LIMIT 1`, []any{session}, &run, &head)
	if err != nil {
		return 0, err
	}
	if run.Valid {
		if err := t.endInterrupted(session, run.Int64, head); err != nil {
			return 0, err
		}
		if hint != nil {
			if err := t.note(session, []Note{*hint}); err != nil {
				return 0, err
			}
		}
	}
	dropped, err := t.remove(`DELETE FROM inbox WHERE session = ?1 AND lane = ?2
		RETURNING channel, event_id, seq, joined_run IS NOT NULL, message, received_at`, session, TurnLane)
	if err != nil {
		return 0, err
	}
	return run.Int64, t.drop(session, TurnLane, dropped, RunCancelled, "interrupted by a later message")
}

// endInterrupted ends a run that a later message has taken the lane from.
func (t *tx) endInterrupted(session string, run int64, head string) error {
	if _, err := t.exec(`UPDATE runs SET state = ?2, ended_at = ?3, error = 'interrupted by a later message' WHERE id = ?1`,
		run, RunCancelled, t.now); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE lanes SET run_id = NULL, held = 0 WHERE session = ?1 AND lane = 'turn'`, session); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM notes WHERE session = ?1 AND batch IS NOT NULL`, session); err != nil {
		return err
	}
	var m Message
	if err := json.Unmarshal([]byte(head), &m); err != nil {
		return nil // what cannot be read is not told
	}
	at := moment(t.now)
	return t.appendTranscript(session, []chat.TranscriptEntry{
		{Role: chat.User, Text: m.Written(), At: at}, {Role: chat.System, Text: "interrupted by a later message", At: at},
	})
}

// overflow drops the n messages that have waited for the longest.
func (t *tx) overflow(in Inbound, n int64) error {
	type message struct {
		at           int64
		sender, text string
	}
	var told []message
	if in.Queue.Drop != DropOld {
		err := t.each(`SELECT received_at, message FROM inbox WHERE session = ?1 AND lane = 'turn' AND batch IS NULL AND joined_run IS NULL
			ORDER BY seq LIMIT ?2`, []any{in.Session, n}, func(rows *sql.Rows) error {
			var at int64
			var encoded string
			if err := rows.Scan(&at, &encoded); err != nil {
				return err
			}
			var m Message
			if json.Unmarshal([]byte(encoded), &m) == nil {
				told = append(told, message{at, m.Sender.Name(), m.Text})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	dropped, err := t.remove(`DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND seq IN
			(SELECT seq FROM inbox WHERE session = ?1 AND lane = ?2 AND batch IS NULL AND joined_run IS NULL ORDER BY seq LIMIT ?3)
		RETURNING channel, event_id, seq, joined_run IS NOT NULL, message, received_at`, in.Session, in.Lane, n)
	if err != nil {
		return err
	}
	for _, m := range told {
		note := Note{Kind: NoteOverflow, At: moment(m.at), Sender: m.sender, Text: m.text}
		if err := t.noteAmong(in.Session, note, in.Queue.Cap); err != nil {
			return err
		}
	}
	return t.drop(in.Session, in.Lane, dropped, RunCancelled, "dropped: too many messages wait")
}

// removed is a message that has left the inbox.
type removed struct {
	event
	seq        int64
	joined     bool
	message    string // JSON
	receivedAt int64
}

// remove runs a DELETE that returns what it removed.
func (t *tx) remove(query string, args ...any) ([]removed, error) {
	var list []removed
	err := t.each(query, args, func(rows *sql.Rows) error {
		var r removed
		defer func() { list = append(list, r) }()
		return rows.Scan(&r.channel, &r.id, &r.seq, &r.joined, &r.message, &r.receivedAt)
	})
	return list, err
}

// drop ends what was removed from a lane: its counters, its readiness, and who waits for the messages' runs.
func (t *tx) drop(session string, lane Lane, list []removed, state RunState, why string) error {
	joined := 0
	for _, r := range list {
		if r.joined {
			joined++
		}
		_, err := t.exec(`INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at, ended_at, error)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)`,
			session, lane, r.seq, r.channel, r.id, state, t.now, why)
		if err != nil {
			return err
		}
		t.after.ended = append(t.after.ended, r.event)
	}
	if _, err := t.exec(`UPDATE lanes SET queued = queued - ?3, held = MAX(held - ?4, 0) WHERE session = ?1 AND lane = ?2`,
		session, lane, len(list), joined); err != nil {
		return err
	}
	t.after.ready(lane)
	return t.rearm(session, lane)
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Complete ends a run: its messages leave the inbox for the transcript, its answer enters the outbox and the transcript,
// the session's figures are written and the lane is free for its next message, all of it or nothing. State is how the run ended and is
// not [RunLost]. The error is [ErrFenced] for a run that has lost its lane: its result must be dropped.
func (s *Store) Complete(ctx context.Context, runID int64, c Completion) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	_, err := step(ctx, s, "complete", func(t *tx) (nothing, error) { return nothing{}, t.complete(runID, c) })
	return err
}

func (c Completion) check() error {
	switch c.State {
	case RunDone, RunFailed, RunCancelled:
	default:
		return fmt.Errorf("a run cannot end as %q", c.State)
	}
	if c.Then != nil {
		if err := c.Then.check(); err != nil {
			return err
		}
	}
	return checkPieces(c.Pieces)
}

func (t *tx) complete(runID int64, c Completion) error {
	h, err := fence(t, runID)
	if err != nil {
		return err
	}
	var claude string
	err = t.row(`SELECT claude_session FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3`, []any{h.session, h.lane, h.seq}, &claude)
	if err != nil {
		return err
	}
	gone, err := t.leave(h, runID, c)
	if err != nil {
		return err
	}
	if h.lane == TurnLane {
		c.Transcript = append(said(gone), c.Transcript...)
	}
	if c.Then != nil {
		if err := t.putFirst(h, *c.Then); err != nil {
			return err
		}
	}
	if err := t.free(h, len(gone)); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE runs SET state = ?2, ended_at = ?3, error = ?4, answer = ?5 WHERE id = ?1`,
		runID, c.State, t.now, c.Error, c.Answer)
	if err != nil {
		return err
	}
	if _, err := t.post(runID, c.Pieces); err != nil {
		return err
	}
	if err := t.appendTranscript(h.session, c.Transcript); err != nil {
		return err
	}
	if h.lane == TurnLane {
		if _, err := t.exec(`DELETE FROM notes WHERE session = ?1 AND batch IS NOT NULL`, h.session); err != nil {
			return err
		}
	}
	if err := t.note(h.session, c.Notes); err != nil {
		return err
	}
	if c.Turn != nil {
		return t.addFigures(h.session, claude, *c.Turn)
	}
	return nil
}

// leave takes a run's messages out of the inbox: what it was claimed for, and what it has covered. What was joined to it
// besides waits again. It returns what has left, in order.
func (t *tx) leave(h held, runID int64, c Completion) ([]removed, error) {
	done, err := t.remove(`DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND batch = ?3
		RETURNING channel, event_id, seq, joined_run IS NOT NULL, message, received_at`, h.session, h.lane, h.seq)
	if err != nil {
		return nil, err
	}
	if len(c.Covered) > 0 {
		covered, err := t.covered(h, c.Covered)
		if err != nil {
			return nil, err
		}
		done = append(done, covered...)
	}
	for _, r := range done {
		t.after.ended = append(t.after.ended, r.event)
		if r.seq == h.seq {
			continue
		}
		_, err := t.exec(`INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at, ended_at, error, answer)
			SELECT session, lane, ?2, ?3, ?4, ?5, started_at, ?6, ?7, ?8 FROM runs WHERE id = ?1`,
			runID, r.seq, r.channel, r.id, c.State, t.now, c.Error, c.Answer)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(done, func(a, b removed) int { return cmp.Compare(a.seq, b.seq) })
	return done, t.part(runID)
}

// said is what people, and plugins, wrote of what has left the inbox.
func said(done []removed) []chat.TranscriptEntry {
	var entries []chat.TranscriptEntry
	for _, r := range done {
		var m Message
		if json.Unmarshal([]byte(r.message), &m) != nil || m.Origin != "" && m.Origin != OriginPlugin {
			continue
		}
		entries = append(entries, chat.TranscriptEntry{Role: chat.User, Text: m.Written(), At: moment(r.receivedAt)})
	}
	return entries
}

// covered takes the messages with these uuids out of the inbox.
func (t *tx) covered(h held, uuids []string) ([]removed, error) {
	var waiting, gone []removed
	err := t.each(`SELECT channel, event_id, seq, joined_run IS NOT NULL, message, received_at FROM inbox
		WHERE session = ?1 AND lane = ?2 ORDER BY seq`, []any{h.session, h.lane}, func(rows *sql.Rows) error {
		var r removed
		defer func() { waiting = append(waiting, r) }()
		return rows.Scan(&r.channel, &r.id, &r.seq, &r.joined, &r.message, &r.receivedAt)
	})
	if err != nil {
		return nil, err
	}
	for _, r := range waiting {
		if !slices.Contains(uuids, messageUUID(r.channel, r.id)) {
			continue
		}
		if _, err := t.exec(`DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3`, h.session, h.lane, r.seq); err != nil {
			return nil, err
		}
		gone = append(gone, r)
	}
	return gone, nil
}

// putFirst puts a message before all that waits: in the place of the one that the run was claimed for.
func (t *tx) putFirst(h held, in Inbound) error {
	e, err := encode(in)
	if err != nil {
		return err
	}
	fresh, err := t.unseen(in.Message.Channel, in.EventID)
	if err != nil || !fresh {
		return err
	}
	if _, err := t.exec(`INSERT INTO inbox (session, lane, seq, channel, event_id, message, received_at, ready_at, share, size, burst)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9, ?3)`,
		h.session, h.lane, h.seq, in.Message.Channel, in.EventID, e.message, t.now, e.share, len(in.Message.Text)); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE lanes SET queued = queued + 1 WHERE session = ?1 AND lane = ?2`, h.session, h.lane)
	return err
}

// free ends a run's hold on its lane, from which messages are gone. The lane's own counter decides whether it is ready
// again; behind the lanes that have waited longer, and not before its new head is.
func (t *tx) free(h held, gone int) error {
	var head int64
	err := t.row(`SELECT ready_at FROM inbox WHERE session = ?1 AND lane = ?2 ORDER BY seq LIMIT 1`, []any{h.session, h.lane}, &head)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var queued int64
	err = t.row(`UPDATE lanes SET run_id = NULL, held = 0, queued = queued - ?4, ready_at = CASE WHEN queued > ?4 THEN ?3 END
		WHERE session = ?1 AND lane = ?2 RETURNING queued`,
		[]any{h.session, h.lane, max(head, t.now), gone}, &queued)
	if err != nil {
		return err
	}
	if queued > 0 {
		t.after.ready(h.lane)
	}
	return nil
}

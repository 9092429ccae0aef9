package queue

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Complete ends a run in one transaction: its messages leave the inbox for the transcript, its answer enters the outbox
// and the transcript, the session's figures are written, and the lane is free for its next message. State is how the
// run ended and is not [domain.RunLost]. The error is [domain.ErrFenced] for a run that has lost its lane: its result
// must be dropped.
func (s *Store) Complete(ctx context.Context, runID int64, c domain.Completion) error {
	if err := checkCompletion(c); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return engine.Change(ctx, s.db, "complete", func(t *engine.Tx) error { return complete(t, runID, c) })
}

func checkCompletion(c domain.Completion) error {
	switch c.State {
	case domain.RunDone, domain.RunFailed, domain.RunCancelled:
	default:
		return fmt.Errorf("a run cannot end as %q", c.State)
	}
	if c.Then != nil {
		if err := checkInbound(*c.Then); err != nil {
			return err
		}
	}
	return delivery.Check(c.Items)
}

func complete(t *engine.Tx, runID int64, c domain.Completion) error {
	h, err := fence(t, runID)
	if err != nil {
		return err
	}
	gone, err := leave(t, h, runID, c)
	if err != nil {
		return err
	}
	head := gone[0]
	claude := head.claude.String
	var ids []chat.MessageID
	if h.lane == domain.TurnLane {
		var entries []chat.TranscriptEntry
		entries, ids = said(gone)
		c.Transcript = append(entries, c.Transcript...)
	}
	first := h.seq + 1
	if h.urgent {
		if first, err = advanceUrgent(t, h.session, h.lane, first); err != nil {
			return err
		}
	}
	if c.Then != nil {
		if err := putFirst(t, h, placesBefore(first, 1), claude, *c.Then); err != nil {
			return err
		}
	}
	if err := free(t, h, len(gone)); err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE runs SET state = ?2, ended_at = ?3, error = ?4, answer = ?5 WHERE id = ?1`,
		runID, c.State, t.Now, c.Error, c.Answer)
	if err != nil {
		return err
	}
	if err := delivery.MarkReported(t, h.session, c.Reported); err != nil {
		return err
	}
	if _, err := delivery.Post(t, runID, c.Items); err != nil {
		return err
	}
	if err := delivery.RecordFiles(t, c.Files); err != nil {
		return err
	}
	if err := sessions.AppendTranscript(t, h.session, c.Turn.Made(), c.Transcript, ids...); err != nil {
		return err
	}
	if h.lane == domain.TurnLane && h.noted {
		if err := sessions.SettleNotes(t, h.session, h.seq, c.State == domain.RunDone || head.consumedAt.Valid); err != nil {
			return err
		}
	}
	if err := sessions.AddNotes(t, h.session, c.Notes); err != nil {
		return err
	}
	if err := delivery.Mirror(t, c.From, chat.Address{}); err != nil {
		return err
	}
	if c.Turn == nil {
		return nil
	}
	if c.State == domain.RunDone && head.origin == "" { // a person has waited
		if err := sessions.AddLatency(t, head.receivedAt, c.Turn.FirstWord); err != nil {
			return err
		}
	}
	return sessions.AddFigures(t, h.session, claude, *c.Turn)
}

// leave removes a run's messages from the inbox: those that it was claimed for, and those that it has covered. Other
// messages that were joined to it are separated from it. It returns the removed ones in order, the run's head first.
func leave(t *engine.Tx, h held, runID int64, c domain.Completion) ([]row, error) {
	done, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND batch = ?3 RETURNING `+columns,
		h.session, h.lane, h.seq)
	if err != nil {
		return nil, err
	}
	if len(done) == 0 {
		return nil, sql.ErrNoRows
	}
	joined := h.held > int64(len(done))
	if len(c.Covered) > 0 {
		covered, err := covered(t, h, c.Covered)
		if err != nil {
			return nil, err
		}
		done = append(done, covered...)
	}
	for _, r := range done {
		t.Announce(runEnded(r.channel, r.id))
		if err := show(t, r.event, r.reacts, c.State.Stage()); err != nil {
			return nil, err
		}
		if r.seq == h.seq {
			continue
		}
		_, err := t.Exec(`INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at, ended_at, error, answer)
			SELECT session, lane, ?2, ?3, ?4, ?5, started_at, ?6, ?7, ?8 FROM runs WHERE id = ?1`,
			runID, r.seq, r.channel, r.id, c.State, t.Now, c.Error, c.Answer)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(done, func(a, b row) int { return cmp.Compare(a.seq, b.seq) })
	if !joined {
		return done, nil
	}
	return done, part(t, h, runID)
}

// said is what people and plugins wrote in the removed messages, and the networks' ids of these.
func said(done []row) (entries []chat.TranscriptEntry, ids []chat.MessageID) {
	for _, r := range done {
		var m struct { // part of a Message, which takes longer to decode as a whole
			ID   chat.MessageID `json:"id"`
			Text string         `json:"text"`
			Raw  string         `json:"raw"`
		}
		if r.origin != "" && r.origin != domain.OriginPlugin || json.Unmarshal([]byte(r.message), &m) != nil {
			continue
		}
		entries = append(entries, chat.TranscriptEntry{Role: chat.User, Text: cmp.Or(m.Raw, m.Text), At: engine.Moment(r.receivedAt)})
		ids = append(ids, m.ID)
	}
	return entries, ids
}

// covered removes the messages with these uuids from the inbox.
func covered(t *engine.Tx, h held, uuids []string) ([]row, error) {
	var seqs []int64
	err := t.Each(`SELECT channel, event_id, seq, edition FROM inbox WHERE session = ?1 AND lane = ?2`, []any{h.session, h.lane}, func(rows engine.Rows) error {
		var r row
		if err := rows.Scan(&r.channel, &r.id, &r.seq, &r.edition); err != nil {
			return err
		}
		if slices.Contains(uuids, r.uuid()) {
			seqs = append(seqs, r.seq)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var gone []row
	for _, seq := range seqs {
		r, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3 RETURNING `+columns,
			h.session, h.lane, seq)
		if err != nil {
			return nil, err
		}
		gone = append(gone, r...)
	}
	return gone, nil
}

// putFirst puts a message before all waiting ones. It is for the run's claude session only, and is dropped with it.
func putFirst(t *engine.Tx, h held, seq int64, claude string, in domain.Inbound) error {
	var current string
	var messageAt, commandedAt sql.NullInt64
	err := t.Row(`SELECT claude_session, message_at, commanded_at FROM sessions WHERE key = ?1`, []any{h.session}, &current, &messageAt, &commandedAt)
	if err != nil || current != claude {
		return err
	}
	content, err := encode(in.Message)
	if err != nil {
		return err
	}
	fresh, err := dedupe.RecordEvent(t, in.Message.Channel, in.EventID)
	if err != nil || !fresh {
		return err
	}
	var ticket int64 // It has a number of its own: an earlier message may have had its place.
	if err := t.Row(`UPDATE lanes SET next_seq = next_seq + 1, queued = queued + 1 WHERE session = ?1 AND lane = ?2 RETURNING next_seq`,
		[]any{h.session, h.lane}, &ticket); err != nil {
		return err
	}
	return insert(t, row{
		session: h.session, lane: h.lane, seq: seq, event: event{in.Message.Channel, in.EventID}, content: content,
		ticket: sql.NullInt64{Int64: ticket, Valid: true}, burst: ticket,
		receivedAt: arrival(h.lane, t.Now, messageAt.Int64, commandedAt.Int64), readyAt: t.Now, previousAt: messageAt,
	})
}

// free releases a run's lane after its messages were removed. The lane's counter decides whether it is ready again; it
// comes after lanes that have waited longer, and not before its new head is ready.
func free(t *engine.Tx, h held, gone int) error {
	var queued int64
	err := t.Row(`UPDATE lanes SET run_id = NULL, held = 0, host = '', queued = queued - ?3,
			(ready_at, owner) = (SELECT CASE WHEN i.ready_at > ?4 THEN i.ready_at ELSE ?4 END, CASE WHEN i.authority = ?5 THEN 1 ELSE 0 END
				FROM inbox i WHERE i.session = ?1 AND i.lane = ?2 ORDER BY i.seq LIMIT 1)
		WHERE session = ?1 AND lane = ?2
		RETURNING queued`, []any{h.session, h.lane, gone, t.Now, chat.Owner}, &queued)
	if err == nil && queued > 0 {
		t.Announce(LaneReady(h.lane))
	}
	return err
}

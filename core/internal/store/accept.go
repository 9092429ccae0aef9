package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/google/uuid"
)

// messageNamespace is the namespace of the messages' uuids. It never changes: claude knows a message again by its uuid.
var messageNamespace = uuid.MustParse("5d2c7c5e-8b0f-4a57-9a3c-6f0f6b1f2e11")

// messageUUID is the id of an event's message for claude, the same in every life of the host.
func messageUUID(channel string, id chat.EventID) string {
	return uuid.NewSHA1(messageNamespace, []byte(channel+"\x00"+string(id))).String()
}

// Accept puts an event's message into its lane, unless the event was accepted before. It makes the session, with a first
// claude session, or brings its route, kind, title and times up to date; an empty kind or title does not replace one.
// The error is [ErrLaneFull] for a lane with MaxWaiting waiting messages; then nothing is kept and the event may come
// again.
func (s *Store) Accept(ctx context.Context, in Inbound) (Acceptance, error) {
	if err := in.check(); err != nil {
		return Acceptance{}, fmt.Errorf("accept: %w", err)
	}
	message, err := json.Marshal(in.Message)
	if err != nil {
		return Acceptance{}, fmt.Errorf("accept: %w", err)
	}
	return step(ctx, s, "accept", func(t *tx) (Acceptance, error) { return t.accept(in, string(message)) })
}

// check refuses what could not be found again.
func (in Inbound) check() error {
	switch {
	case in.EventID == "" || len(in.EventID) > chat.MaxEventID:
		return fmt.Errorf("an event id has 1 to %d bytes, this one has %d", chat.MaxEventID, len(in.EventID))
	case in.Message.Channel == "":
		return errors.New("the message has no channel")
	case in.Session == "":
		return errors.New("the message has no session")
	case in.Lane != TurnLane && in.Lane != ControlLane && in.Lane != CommandLane:
		return fmt.Errorf("there is no lane %q", in.Lane)
	}
	return nil
}

func (t *tx) accept(in Inbound, message string) (Acceptance, error) {
	n, err := t.exec(`INSERT INTO dedupe (kind, channel, id, seen_at) VALUES ('event', ?1, ?2, ?3) ON CONFLICT DO NOTHING`,
		in.Message.Channel, in.EventID, t.now)
	if err != nil {
		return Acceptance{}, err
	}
	if n == 0 {
		return Acceptance{Duplicate: true}, nil
	}

	readyAt := t.now
	if !in.ReadyAt.IsZero() {
		readyAt = max(readyAt, millis(in.ReadyAt))
	}
	// A lane that has a head keeps the head's time; one that runs becomes ready when the run ends.
	var seq, queued int64
	var running bool
	err = t.row(`INSERT INTO lanes (session, lane, next_seq, queued, ready_at) VALUES (?1, ?2, 1, 1, ?3)
		ON CONFLICT (session, lane) DO UPDATE SET next_seq = lanes.next_seq + 1, queued = lanes.queued + 1,
			ready_at = CASE WHEN lanes.run_id IS NULL THEN COALESCE(lanes.ready_at, excluded.ready_at) END
		RETURNING next_seq, queued, run_id IS NOT NULL`,
		[]any{in.Session, in.Lane, readyAt}, &seq, &queued, &running)
	if err != nil {
		return Acceptance{}, err
	}
	waiting := queued
	if running {
		waiting--
	}
	if in.MaxWaiting > 0 && waiting > int64(in.MaxWaiting) {
		return Acceptance{}, ErrLaneFull
	}

	previous, err := t.touchSession(in)
	if err != nil {
		return Acceptance{}, err
	}
	_, err = t.exec(`INSERT INTO inbox (session, lane, seq, channel, event_id, message, received_at, ready_at, previous_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
		in.Session, in.Lane, seq, in.Message.Channel, in.EventID, message, t.now, readyAt, previous)
	if err != nil {
		return Acceptance{}, err
	}
	var replaced string
	if in.Reset {
		if replaced, _, err = t.beginClaudeSession(in.Session); err != nil {
			return Acceptance{}, err
		}
	}
	if queued == 1 {
		t.after.ready(in.Lane)
	}
	return Acceptance{Seq: seq, Waiting: int(queued) - 1, Replaced: replaced}, nil
}

// touchSession makes or updates the row of a message's session and returns when its previous message was received.
// Commands do not count as messages here: claude does not see them.
func (t *tx) touchSession(in Inbound) (previous sql.NullInt64, err error) {
	m := in.Message
	var interactedAt, messageAt sql.NullInt64
	if m.Sender.ID != "" && !m.Sender.IsBot && !m.Sender.IsSelf {
		interactedAt = sql.NullInt64{Int64: t.now, Valid: true}
	}
	if in.Lane == TurnLane {
		messageAt = sql.NullInt64{Int64: t.now, Valid: true}
	}
	err = t.row(`SELECT message_at FROM sessions WHERE key = ?1`, []any{in.Session}, &previous)
	if errors.Is(err, sql.ErrNoRows) {
		claude := uuid.NewString()
		if _, err := t.exec(`INSERT INTO claude_sessions (id, session, begun_at) VALUES (?1, ?2, ?3)`, claude, in.Session, t.now); err != nil {
			return previous, err
		}
		_, err = t.exec(`INSERT INTO sessions (key, claude_session, kind, title, channel, chat, thread, created_at, reset_at, interacted_at, message_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10)`,
			in.Session, claude, m.Chat.Kind, m.Chat.Title, m.Channel, m.Chat.ID, m.Thread, t.now, interactedAt, messageAt)
		return previous, err
	}
	if err != nil {
		return previous, err
	}
	_, err = t.exec(`UPDATE sessions SET kind = COALESCE(NULLIF(?2, 0), kind), title = COALESCE(NULLIF(?3, ''), title),
			channel = ?4, chat = ?5, thread = ?6,
			interacted_at = COALESCE(?7, interacted_at), message_at = COALESCE(?8, message_at)
		WHERE key = ?1`,
		in.Session, m.Chat.Kind, m.Chat.Title, m.Channel, m.Chat.ID, m.Thread, interactedAt, messageAt)
	return previous, err
}

// Clear drops the messages that wait in a lane and were received before a moment, not the running one, and returns how
// many they were. Each counts as an event whose run was cancelled.
func (s *Store) Clear(ctx context.Context, session string, lane Lane, before time.Time) (int, error) {
	return step(ctx, s, "clear", func(t *tx) (int, error) { return t.clear(session, lane, millis(before)) })
}

func (t *tx) clear(session string, lane Lane, before int64) (int, error) {
	var running int64 // 0 is before every message
	err := t.row(`SELECT COALESCE((SELECT seq FROM runs WHERE id = lanes.run_id), 0) FROM lanes WHERE session = ?1 AND lane = ?2`,
		[]any{session, lane}, &running)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	type row struct {
		event
		seq int64
	}
	var waiting []row
	err = t.each(`DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND seq > ?3 AND received_at < ?4
		RETURNING channel, event_id, seq`,
		[]any{session, lane, running, before}, func(rows *sql.Rows) error {
			var r row
			defer func() { waiting = append(waiting, r) }()
			return rows.Scan(&r.channel, &r.id, &r.seq)
		})
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	// The lane's head may be another one now. A lane that runs becomes ready when the run ends.
	if _, err := t.exec(`UPDATE lanes SET queued = queued - ?3, ready_at = CASE WHEN run_id IS NULL THEN
			(SELECT MAX(i.ready_at, ?4) FROM inbox i WHERE i.session = ?1 AND i.lane = ?2 ORDER BY i.seq LIMIT 1) END
		WHERE session = ?1 AND lane = ?2`,
		session, lane, len(waiting), t.now); err != nil {
		return 0, err
	}
	t.after.ready(lane)
	for _, r := range waiting {
		_, err := t.exec(`INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at, ended_at, error)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 'dropped before it ran')`,
			session, lane, r.seq, r.channel, r.id, RunCancelled, t.now)
		if err != nil {
			return 0, err
		}
		t.after.ended = append(t.after.ended, r.event)
	}
	return len(waiting), nil
}

// Outcome tells what became of an accepted event. done is false while it waits or runs. errText is the run's Error and
// empty when it went well. The error is [ErrNotFound] for an event that was never accepted, or is forgotten.
func (s *Store) Outcome(ctx context.Context, channel string, id chat.EventID) (state RunState, answer, errText string, done bool, err error) {
	err = s.view(ctx).row(`SELECT COALESCE(r.state, ''), COALESCE(r.answer, ''), COALESCE(r.error, '')
		FROM dedupe d LEFT JOIN runs r ON r.channel = d.channel AND r.event_id = d.id AND r.state IN ('done', 'failed', 'cancelled')
		WHERE d.kind = 'event' AND d.channel = ?1 AND d.id = ?2 ORDER BY r.id DESC LIMIT 1`,
		[]any{channel, id}, &state, &answer, &errText)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return "", "", "", false, fmt.Errorf("outcome: %w", err)
	}
	return state, answer, errText, state != "", nil
}

package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// takenBack is the reason of messages that their writers withdrew.
const takenBack = "taken back before it ran"

// behind reports whether a new message waits behind others, and will not be steered into the running turn.
func behind(t *engine.Tx, in domain.Inbound, c content, p place) (bool, error) {
	if in.Lane != domain.TurnLane || !p.behind || !in.Queue.Steers() {
		return in.Lane == domain.TurnLane && p.behind, nil
	}
	return outlasts(t, in, c)
}

// PostReceipt posts the item that shows that a message waits in a session's turn lane, unless it no longer does, or has one. The
// message is named by the Seq of its acceptance. The item is kept, and its message is deleted when the other no longer waits.
func (s *Store) PostReceipt(ctx context.Context, session string, seq int64, receipt domain.OutboxItem) error {
	receipt.Kept = true
	items := []domain.OutboxItem{receipt}
	if err := delivery.Check(items); err != nil {
		return fmt.Errorf("post receipt: %w", err)
	}
	return engine.Change(ctx, s.db, "post receipt", func(t *engine.Tx) error {
		var at int64
		err := t.Row(`SELECT seq FROM inbox WHERE session = ?1 AND lane = 'turn' AND COALESCE(ticket, seq) = ?2 AND receipt = 0
				AND batch IS NULL AND joined_run IS NULL`, []any{session, seq}, &at)
		if err != nil {
			return engine.NoRows(err)
		}
		item, err := delivery.Post(t, 0, items)
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE inbox SET receipt = ?3 WHERE session = ?1 AND lane = 'turn' AND seq = ?2`, session, at, item)
		return err
	})
}

// outlasts reports whether a new message for steering will not be steered into the session's running turn: the two may
// not share a turn, no person wrote the turn's message, or another message waits before it. False: it may be, or no
// turn runs.
func outlasts(t *engine.Tx, in domain.Inbound, c content) (waits bool, err error) {
	err = t.Row(`SELECT ?2 OR h.share != ?3 OR h.overrides != ?4 OR h.origin != '' OR h.claude_session != s.claude_session
			OR EXISTS (SELECT 1 FROM inbox w WHERE w.session = l.session AND w.lane = l.lane AND w.batch IS NULL AND w.joined_run IS NULL
				AND (w.share != h.share OR w.overrides != h.overrides OR COALESCE(w.claude_session, s.claude_session) != h.claude_session
					OR w.steers = 0 OR w.origin != '' OR w.fresh != 0))
		FROM lanes l JOIN runs r ON r.id = l.run_id JOIN sessions s ON s.key = l.session
			JOIN inbox h ON h.session = l.session AND h.lane = l.lane AND h.seq = r.seq
		WHERE l.session = ?1 AND l.lane = 'turn'`,
		[]any{in.Session, in.Message.Fresh || in.Message.Origin != "", c.share, c.overrides}, &waits)
	return waits, engine.NoRows(err)
}

// unclaimed is the condition of messages of a turn lane that no run has: those that wait for their first try, or for another.
const unclaimed = `joined_run IS NULL AND (batch IS NULL OR batch != COALESCE(
	(SELECT r.seq FROM lanes l JOIN runs r ON r.id = l.run_id WHERE l.session = inbox.session AND l.lane = inbox.lane), 0))`

// WaitingMessages returns at most limit messages that wait in a session's turn lane, in the order in which they will be
// answered.
func (s *Store) WaitingMessages(ctx context.Context, session string, limit int) ([]domain.WaitingMessage, error) {
	var list []domain.WaitingMessage
	err := s.db.View(ctx).Each(`SELECT COALESCE(ticket, seq), message, received_at FROM inbox
		WHERE session = ?1 AND lane = 'turn' AND `+unclaimed+` ORDER BY batch IS NULL, urgent DESC, seq LIMIT ?2 + 0`,
		[]any{session, limit}, func(rows engine.Rows) error {
			var w domain.WaitingMessage
			var message string
			var receivedAt int64
			if err := rows.Scan(&w.Seq, &message, &receivedAt); err != nil {
				return err
			}
			_ = json.Unmarshal([]byte(message), &w.Message) // an unreadable one waits even so
			w.ReceivedAt = engine.Moment(receivedAt)
			list = append(list, w)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("waiting messages: %w", err)
	}
	return list, nil
}

// Withdraw drops a message that waits in a session's turn lane, as if its run was cancelled. It is
// named by the Seq of its acceptance. With one that waits for another try, the others of its run are dropped, too. The
// error is [domain.ErrNotFound] for a message that is answered or that a turn has, and [domain.ErrNotYours] if somebody other than
// the author wrote one of them; nil: whoever wrote them.
func (s *Store) Withdraw(ctx context.Context, session string, seq int64, author *domain.Author) error {
	return engine.Change(ctx, s.db, "withdraw", func(t *engine.Tx) error { return withdrawWaiting(t, session, seq, author) })
}

// WithdrawEvent drops the message of an event as [Store.Withdraw] does, whoever wrote it.
func (s *Store) WithdrawEvent(ctx context.Context, session, channel string, id chat.EventID) error {
	return engine.Change(ctx, s.db, "withdraw event", func(t *engine.Tx) error {
		var seq int64
		err := t.Row(`SELECT COALESCE(ticket, seq) FROM inbox WHERE session = ?1 AND lane = 'turn' AND channel = ?2 AND event_id = ?3`,
			[]any{session, channel, id}, &seq)
		if errors.Is(err, sql.ErrNoRows) {
			err = domain.ErrNotFound
		}
		if err == nil {
			err = withdrawWaiting(t, session, seq, nil)
		}
		return err
	})
}

// withdrawWaiting drops an unclaimed message, and the rest of its batch, if the author wrote all of them, or is nil.
func withdrawWaiting(t *engine.Tx, session string, seq int64, author *domain.Author) error {
	gone, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = 'turn' AND `+unclaimed+` AND (COALESCE(ticket, seq) = ?2
			OR batch = (SELECT batch FROM inbox WHERE session = ?1 AND lane = 'turn' AND COALESCE(ticket, seq) = ?2))
		RETURNING `+columns, session, seq)
	if err == nil && len(gone) == 0 {
		err = domain.ErrNotFound
	}
	if err != nil {
		return err
	}
	for _, r := range gone {
		if m, _ := r.decode(); author != nil && !m.By(*author) { // an unreadable one has no author
			return domain.ErrNotYours
		}
	}
	return withdraw(t, session, gone)
}

// withdraw cancels messages that were removed from a session's turn lane.
func withdraw(t *engine.Tx, session string, gone []row) error {
	if err := drop(t, session, domain.TurnLane, gone, takenBack); err != nil {
		return err
	}
	t.Announce(LaneReady(domain.TurnLane))
	return rearm(t, session, domain.TurnLane)
}

// found is a Found with the data of its row.
type found struct {
	domain.Found
	row
}

// changes reports whether the message can be changed: it waits, or was steered into a run that is known not to have
// read it.
func (f found) changes(unread int64) bool {
	return f.Standing == domain.StandingWaiting || f.Standing == domain.StandingSteered && f.Run == unread
}

// standing is the progress of a message towards its answer.
func (r *row) standing() domain.Standing {
	switch {
	case r.joinedRun.Valid:
		return domain.StandingSteered
	case r.batch.Valid:
		return domain.StandingRunning
	default:
		return domain.StandingWaiting
	}
}

// find finds a chat's message in the turn lanes. Cleared messages are in none.
func find(q engine.Querier, channel string, in chat.ID, id chat.MessageID) (f found, err error) {
	if id == "" {
		return f, nil
	}
	err = q.Each(`SELECT `+columns+`,
			COALESCE((SELECT h.claude_session FROM runs r JOIN inbox h ON h.session = r.session AND h.lane = r.lane AND h.seq = r.seq
				WHERE r.id = inbox.joined_run), '')
		FROM inbox WHERE message_id = ?1 AND message_id != '' AND channel = ?2 AND withdrawn = 0`,
		[]any{id, channel}, func(rows engine.Rows) error {
			var got found
			if err := rows.Scan(append(got.dest(), &got.ClaudeSession)...); err != nil {
				return err
			}
			if got.Message, err = got.decode(); err != nil || got.Message.Chat.ID != in {
				return nil
			}
			got.Session, got.Run, got.UUID, got.Standing = got.session, got.joinedRun.Int64, got.uuid(), got.standing()
			f = got
			return engine.ErrEnough
		})
	return f, err
}

// Find returns a chat's message in the turn lanes, by the network's id, and its standing.
func (s *Store) Find(ctx context.Context, channel string, in chat.ID, id chat.MessageID) (domain.Found, error) {
	f, err := find(s.db.View(ctx), channel, in, id)
	if err != nil {
		return domain.Found{}, fmt.Errorf("find a message: %w", err)
	}
	return f.Found, nil
}

// Amend replaces a waiting message of a chat by its edited version with the same id. The authority and address are
// unchanged; how it waits was decided when it was accepted. A model other than nil becomes the session's. It returns
// the message's standing. A message that a turn has is unchanged, with one exception: if it was steered into the run
// unread, whose claude will not read it any more, it waits again, for its new Edition. Zero is no run.
func (s *Store) Amend(ctx context.Context, m domain.Message, model *string, unread int64) (domain.Standing, error) {
	c, err := encode(m)
	if err != nil {
		return "", fmt.Errorf("amend: %w", err)
	}
	return engine.Do(ctx, s.db, "amend", func(t *engine.Tx) (domain.Standing, error) {
		f, err := find(t, m.Channel, m.Chat.ID, m.ID)
		if err != nil || !f.changes(unread) {
			return f.Standing, err
		}
		if f.Standing == domain.StandingSteered {
			if err := unsteer(t, f); err != nil {
				return "", err
			}
		}
		if model != nil {
			if err := sessions.Configure(t, f.Session, func(o *domain.Overrides) { o.Model = *model }); err != nil {
				return "", err
			}
		}
		// A message that begins a conversation, or is not a person's, ends its burst.
		_, err = t.Exec(`UPDATE inbox SET message = ?3, overrides = ?4, size = ?5, burst_by = CASE WHEN ?6 THEN '' ELSE burst_by END,
				origin = ?7, fresh = ?8, edition = ?9, files = ?10
			WHERE session = ?1 AND lane = 'turn' AND seq = ?2`,
			f.Session, f.seq, c.message, c.overrides, c.size, c.fresh || c.origin != "", c.origin, c.fresh, c.edition, c.files)
		return domain.StandingWaiting, err
	})
}

// unsteer makes a message wait again that was steered into a running run.
func unsteer(t *engine.Tx, f found) error {
	if _, err := t.Exec(`UPDATE inbox SET joined_run = NULL WHERE session = ?1 AND lane = 'turn' AND seq = ?2`, f.Session,
		f.seq); err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE lanes SET held = held - 1 WHERE session = ?1 AND lane = 'turn'`, f.Session); err != nil {
		return err
	}
	t.Announce(turnChanged(f.Session))
	return show(t, f.event, f.reacts, domain.StageWaiting)
}

// WithdrawMessage drops a waiting message that was deleted in its chat, like [Store.Withdraw]. It returns the message's
// standing; for one that a turn has, see [Store.Amend]. The notice to the chat enters the outbox in the same
// transaction.
func (s *Store) WithdrawMessage(
	ctx context.Context, channel string, in chat.ID, id chat.MessageID, unread int64, notice ...domain.OutboxItem,
) (domain.Standing, error) {
	if err := delivery.Check(notice); err != nil {
		return "", fmt.Errorf("withdraw message: %w", err)
	}
	return engine.Do(ctx, s.db, "withdraw message", func(t *engine.Tx) (domain.Standing, error) {
		f, err := find(t, channel, in, id)
		if err != nil || !f.changes(unread) {
			return f.Standing, err
		}
		gone, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = 'turn' AND seq = ?2 RETURNING `+
			columns, f.Session, f.seq)
		if err != nil {
			return "", err
		}
		if _, err := delivery.Post(t, 0, notice); err != nil {
			return "", err
		}
		return domain.StandingWaiting, withdraw(t, f.Session, gone)
	})
}

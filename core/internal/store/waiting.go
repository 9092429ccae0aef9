package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/sdk/chat"
)

// takenBack is why a message was dropped that its writer does not want to be answered.
const takenBack = "taken back before it ran"

// receipt posts what shows that a new message waits, and returns its piece; 0: nothing does.
func (t *tx) receipt(in Inbound, p place, accepted Acceptance) (int64, error) {
	if in.Receipt == nil || !p.behind {
		return 0, nil
	}
	piece := in.Receipt(accepted)
	piece.Kept = true
	if err := checkPieces([]Piece{piece}); err != nil {
		return 0, err
	}
	return t.post(0, []Piece{piece})
}

// Withdraw drops a message that waits in a session's turn lane, as its run's cancelling. It is named by the Seq of its
// acceptance. The error is [ErrNotFound] for a message that does not wait: that is answered, or a turn has it.
func (s *Store) Withdraw(ctx context.Context, session string, seq int64) error {
	_, err := step(ctx, s, "withdraw", func(t *tx) (nothing, error) {
		gone, err := t.remove(`DELETE FROM inbox WHERE session = ?1 AND lane = 'turn' AND COALESCE(ticket, seq) = ?2
				AND batch IS NULL AND joined_run IS NULL
			RETURNING `+removedColumns, session, seq)
		if err == nil && len(gone) == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return nothing{}, err
		}
		return nothing{}, t.withdraw(session, gone)
	})
	return err
}

// withdraw ends what was removed from a session's turn lane.
func (t *tx) withdraw(session string, gone []removed) error {
	if err := t.drop(session, TurnLane, gone, takenBack); err != nil {
		return err
	}
	t.after.ready(TurnLane)
	return t.rearm(session, TurnLane)
}

// found is a message in a turn lane that was found by the network's id.
type found struct {
	session  string
	seq      int64
	standing Standing
	message  Message
}

// find finds the message of a chat in the turn lanes; its standing is [StandingNone] where it is in none.
func (t *tx) find(channel string, in chat.ID, id chat.MessageID) (f found, err error) {
	if id == "" {
		return f, nil
	}
	err = t.each(`SELECT session, seq, batch IS NULL AND joined_run IS NULL, message FROM inbox WHERE message_id = ?1 AND message_id != '' AND channel = ?2`,
		[]any{id, channel}, func(rows *sql.Rows) error {
			got := found{standing: StandingRunning}
			var waits bool
			var message string
			if err := rows.Scan(&got.session, &got.seq, &waits, &message); err != nil {
				return err
			}
			if json.Unmarshal([]byte(message), &got.message) != nil || got.message.Chat.ID != in {
				return nil
			}
			if waits {
				got.standing = StandingWaiting
			}
			f = got
			return errEnough
		})
	return f, err
}

// Amend gives a message that waits another text, because its writer has edited it: what is for the agent, and what was
// written where that is another one. It tells where the message stands; one that a turn has is left as it is.
func (s *Store) Amend(ctx context.Context, channel string, in chat.ID, id chat.MessageID, text, raw string) (Standing, error) {
	return step(ctx, s, "amend", func(t *tx) (Standing, error) {
		f, err := t.find(channel, in, id)
		if err != nil || f.standing != StandingWaiting {
			return f.standing, err
		}
		f.message.Text, f.message.Raw = text, raw
		encoded, err := json.Marshal(f.message)
		if err != nil {
			return "", fmt.Errorf("the message: %w", err)
		}
		_, err = t.exec(`UPDATE inbox SET message = ?3, size = ?4 WHERE session = ?1 AND lane = 'turn' AND seq = ?2`,
			f.session, f.seq, string(encoded), len(text))
		return f.standing, err
	})
}

// WithdrawMessage drops a message that waits, because it was deleted in its chat, as [Store.Withdraw] does. It tells where
// the message stood; one that a turn has is left as it is.
func (s *Store) WithdrawMessage(ctx context.Context, channel string, in chat.ID, id chat.MessageID) (Standing, error) {
	return step(ctx, s, "withdraw message", func(t *tx) (Standing, error) {
		f, err := t.find(channel, in, id)
		if err != nil || f.standing != StandingWaiting {
			return f.standing, err
		}
		gone, err := t.remove(`DELETE FROM inbox WHERE session = ?1 AND lane = 'turn' AND seq = ?2 RETURNING `+removedColumns, f.session, f.seq)
		if err != nil {
			return "", err
		}
		return f.standing, t.withdraw(f.session, gone)
	})
}

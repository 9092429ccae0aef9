package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Stage is how far a message is on its way to an answer, as its chat is shown it.
type Stage string

// The stages. The last three are ends.
const (
	StageWaiting Stage = "waiting"
	StageRunning Stage = "running" // a turn has it, or had it and tries again
	StageDone    Stage = "done"
	StageFailed  Stage = "failed"
	StageDropped Stage = "dropped" // it was taken back, stopped or interrupted, or was one too many: nobody waits for it
)

// Reaction is a message that does not show how far its answer is.
type Reaction struct {
	EventID   chat.EventID
	To        chat.Address
	Message   chat.MessageID
	Stage     Stage // what it is to show
	ChangedAt time.Time
}

// Reactions returns messages of a channel, at most limit, that were accepted as ones that react and do not show their stage:
// those first whose stage changed first.
func (s *Store) Reactions(ctx context.Context, channel string, limit int) (list []Reaction, err error) {
	err = s.view(ctx).each(`SELECT event_id, chat, thread, message_id, stage, changed_at FROM reactions
		WHERE channel = ?1 AND stage != shown ORDER BY changed_at LIMIT ?2 + 0`, []any{channel, limit}, func(rows *sql.Rows) error {
		r := Reaction{To: chat.Address{Channel: channel}}
		var changedAt int64
		if err := rows.Scan(&r.EventID, &r.To.Chat, &r.To.Thread, &r.Message, &r.Stage, &changedAt); err != nil {
			return err
		}
		r.ChangedAt = moment(changedAt)
		list = append(list, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reactions: %w", err)
	}
	return list, nil
}

// Reacted notes that a message shows a stage, which may not be its stage any more. One that shows its end is forgotten.
func (s *Store) Reacted(ctx context.Context, r Reaction) error {
	_, err := step(ctx, s, "reacted", func(t *tx) (nothing, error) {
		switch r.Stage {
		case StageDone, StageFailed, StageDropped:
			_, err := t.exec(`DELETE FROM reactions WHERE channel = ?1 AND event_id = ?2`, r.To.Channel, r.EventID)
			return nothing{}, err
		}
		_, err := t.exec(`UPDATE reactions SET shown = ?3 WHERE channel = ?1 AND event_id = ?2`, r.To.Channel, r.EventID, r.Stage)
		return nothing{}, err
	})
	return err
}

// reacts begins to show how far a message's answer is.
func (t *tx) reacts(in Inbound) error {
	m := in.Message
	t.after.reactions = true
	_, err := t.exec(`INSERT INTO reactions (channel, event_id, chat, thread, message_id, stage, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		m.Channel, in.EventID, m.Chat.ID, m.Thread, m.ID, StageWaiting, t.now)
	return err
}

// show has the message of an event show a stage, if it shows any.
func (t *tx) show(e event, reacts bool, stage Stage) error {
	if !reacts {
		return nil
	}
	n, err := t.exec(`UPDATE reactions SET stage = ?3, changed_at = ?4 WHERE channel = ?1 AND event_id = ?2 AND stage != ?3`,
		e.channel, e.id, stage, t.now)
	t.after.reactions = t.after.reactions || n > 0
	return err
}

// stage is what the messages of a run show that ended so.
func (s RunState) stage() Stage {
	switch s {
	case RunDone:
		return StageDone
	case RunFailed:
		return StageFailed
	default:
		return StageDropped
	}
}

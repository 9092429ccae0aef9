package queue

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Reactions returns messages of a channel, at most limit, that react and do not show their current stage: those first
// whose stage changed first.
func (s *Store) Reactions(ctx context.Context, channel string, limit int) (list []domain.Reaction, err error) {
	err = s.db.View(ctx).Each(`SELECT event_id, chat, thread, message_id, stage, changed_at FROM reactions
		WHERE channel = ?1 AND stage != shown ORDER BY changed_at LIMIT ?2 + 0`, []any{channel, limit}, func(rows engine.Rows) error {
		r := domain.Reaction{To: chat.Address{Channel: channel}}
		var changedAt int64
		if err := rows.Scan(&r.EventID, &r.To.Chat, &r.To.Thread, &r.Message, &r.Stage, &changedAt); err != nil {
			return err
		}
		r.ChangedAt = engine.Moment(changedAt)
		list = append(list, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reactions: %w", err)
	}
	return list, nil
}

// Reacted records that a message shows a stage, which may be outdated by now. A message that shows its last stage is
// deleted here.
func (s *Store) Reacted(ctx context.Context, r domain.Reaction) error {
	return engine.Change(ctx, s.db, "reacted", func(t *engine.Tx) error {
		switch r.Stage {
		case domain.StageDone, domain.StageFailed, domain.StageDropped:
			_, err := t.Exec(`DELETE FROM reactions WHERE channel = ?1 AND event_id = ?2`, r.To.Channel, r.EventID)
			return err
		}
		_, err := t.Exec(`UPDATE reactions SET shown = ?3 WHERE channel = ?1 AND event_id = ?2`, r.To.Channel, r.EventID, r.Stage)
		return err
	})
}

// reacts registers a message whose reactions show the state of its answer.
func reacts(t *engine.Tx, in domain.Inbound) error {
	m := in.Message
	t.Announce(ReactionsChanged)
	_, err := t.Exec(`INSERT INTO reactions (channel, event_id, chat, thread, message_id, stage, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		m.Channel, in.EventID, m.Chat.ID, m.Thread, m.ID, domain.StageWaiting, t.Now)
	return err
}

// show sets the stage of an event's message, if it reacts.
func show(t *engine.Tx, e event, reacts bool, stage domain.Stage) error {
	if !reacts {
		return nil
	}
	n, err := t.Exec(`UPDATE reactions SET stage = ?3, changed_at = ?4 WHERE channel = ?1 AND event_id = ?2 AND stage != ?3`,
		e.channel, e.id, stage, t.Now)
	if n > 0 {
		t.Announce(ReactionsChanged)
	}
	return err
}

// ReactionsReady returns a channel that receives a value when messages have another stage than they show: see
// [Store.Reactions].
func (s *Store) ReactionsReady() <-chan struct{} { return s.reactions }

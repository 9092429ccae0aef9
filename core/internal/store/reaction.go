package store

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Reactions returns messages of a channel, at most limit, that react and do not show their current stage: those first
// whose stage changed first.
func (s *Store) Reactions(ctx context.Context, channel string, limit int) (list []domain.Reaction, err error) {
	err = s.view(ctx).each(`SELECT event_id, chat, thread, message_id, stage, changed_at FROM reactions
		WHERE channel = ?1 AND stage != shown ORDER BY changed_at LIMIT ?2 + 0`, []any{channel, limit}, func(rows rows) error {
		r := domain.Reaction{To: chat.Address{Channel: channel}}
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

// Reacted records that a message shows a stage, which may be outdated by now. A message that shows its last stage is
// deleted here.
func (s *Store) Reacted(ctx context.Context, r domain.Reaction) error {
	_, err := step(ctx, s, "reacted", func(t *tx) (nothing, error) {
		switch r.Stage {
		case domain.StageDone, domain.StageFailed, domain.StageDropped:
			_, err := t.exec(`DELETE FROM reactions WHERE channel = ?1 AND event_id = ?2`, r.To.Channel, r.EventID)
			return nothing{}, err
		}
		_, err := t.exec(`UPDATE reactions SET shown = ?3 WHERE channel = ?1 AND event_id = ?2`, r.To.Channel, r.EventID, r.Stage)
		return nothing{}, err
	})
	return err
}

// reacts registers a message whose reactions show the state of its answer.
func (t *tx) reacts(in domain.Inbound) error {
	m := in.Message
	t.after.reactions = true
	_, err := t.exec(`INSERT INTO reactions (channel, event_id, chat, thread, message_id, stage, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		m.Channel, in.EventID, m.Chat.ID, m.Thread, m.ID, domain.StageWaiting, t.now)
	return err
}

// show sets the stage of an event's message, if it reacts.
func (t *tx) show(e event, reacts bool, stage domain.Stage) error {
	if !reacts {
		return nil
	}
	n, err := t.exec(`UPDATE reactions SET stage = ?3, changed_at = ?4 WHERE channel = ?1 AND event_id = ?2 AND stage != ?3`,
		e.channel, e.id, stage, t.now)
	t.after.reactions = t.after.reactions || n > 0
	return err
}

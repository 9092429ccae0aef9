package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// Held returns the heads of turn lanes that this host may claim and that became ready after one time and not after another, in that order:
// owners' heads, or those of others; at most so many.
func (s *Store) Held(ctx context.Context, owner bool, after, until time.Time, most int) ([]domain.Held, error) {
	var list []domain.Held
	v := s.db.View(ctx)
	placements, err := s.self.Placements(v, domain.TurnLane)
	for _, placement := range placements {
		if err == nil {
			list, err = s.heldAt(v, placement, owner, after, until, most, list)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("held messages: %w", err)
	}
	slices.SortStableFunc(list, func(a, b domain.Held) int { return a.ReadyAt.Compare(b.ReadyAt) })
	list = list[:min(len(list), most)]
	for i := range list {
		if list[i].Session, err = sessions.Find(v, list[i].Session.Key); err != nil {
			return nil, fmt.Errorf("held messages: %w", err)
		}
	}
	return list, nil
}

// heldAt appends the heads of a placement.
func (s *Store) heldAt(v engine.View, placement string, owner bool, after, until time.Time, most int, list []domain.Held) ([]domain.Held, error) {
	err := v.Each(`SELECT l.session, i.message, i.event_id, l.ready_at FROM lanes l JOIN inbox i ON i.session = l.session AND i.lane = l.lane
			AND i.seq = (SELECT MIN(seq) FROM inbox h WHERE h.session = l.session AND h.lane = l.lane)
		WHERE l.lane = 'turn' AND l.placement = ?5 AND l.owner = ?1 AND l.ready_at > ?2 AND l.ready_at <= ?3 ORDER BY l.ready_at LIMIT ?4 + 0`,
		[]any{owner, engine.Millis(after), engine.Millis(until), most, placement}, func(rows engine.Rows) error {
			var h domain.Held
			var message string
			var readyAt int64
			if err := rows.Scan(&h.Session.Key, &message, &h.EventID, &readyAt); err != nil {
				return err
			}
			h.ReadyAt = engine.Moment(readyAt)
			if json.Unmarshal([]byte(message), &h.Message) != nil {
				return nil // no chat to notify
			}
			list = append(list, h)
			return nil
		})
	return list, err
}

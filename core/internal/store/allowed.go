package store

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// AllowedUsers returns the approved users, by channel and id; at most 1000.
func (s *Store) AllowedUsers(ctx context.Context) ([]domain.AllowedUser, error) {
	var list []domain.AllowedUser
	err := s.db.View(ctx).Each(`SELECT channel, user_id, allowed_at FROM allowed ORDER BY channel, user_id LIMIT ?1 + 0`,
		[]any{engine.MaxRows}, func(rows engine.Rows) error {
			var u domain.AllowedUser
			var at int64
			if err := rows.Scan(&u.Channel, &u.User, &at); err != nil {
				return err
			}
			u.At = engine.Moment(at)
			list = append(list, u)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("allowed users: %w", err)
	}
	return list, nil
}

// Allow approves a user, and removes their pairing request.
func (s *Store) Allow(ctx context.Context, channel string, user chat.UserID) error {
	return engine.Change(ctx, s.db, "allow", func(t *engine.Tx) error {
		if _, err := t.Exec(`DELETE FROM pairings WHERE channel = ?1 AND user_id = ?2`, channel, user); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO allowed (channel, user_id, allowed_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
			channel, user, t.Now)
		return err
	})
}

// Disallow removes a user's approval, and reports whether there was one.
func (s *Store) Disallow(ctx context.Context, channel string, user chat.UserID) (bool, error) {
	return engine.Do(ctx, s.db, "disallow", func(t *engine.Tx) (bool, error) {
		n, err := t.Exec(`DELETE FROM allowed WHERE channel = ?1 AND user_id = ?2`, channel, user)
		return n > 0, err
	})
}

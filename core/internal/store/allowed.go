package store

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// AllowedUsers returns the approved users, by channel and id; at most 1000.
func (s *Store) AllowedUsers(ctx context.Context) ([]domain.AllowedUser, error) {
	var list []domain.AllowedUser
	err := s.view(ctx).each(`SELECT channel, user_id, allowed_at FROM allowed ORDER BY channel, user_id LIMIT ?1 + 0`,
		[]any{overviewRows}, func(rows rows) error {
			var u domain.AllowedUser
			var at int64
			if err := rows.Scan(&u.Channel, &u.User, &at); err != nil {
				return err
			}
			u.At = moment(at)
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
	_, err := step(ctx, s, "allow", func(t *tx) (nothing, error) {
		if _, err := t.exec(`DELETE FROM pairings WHERE channel = ?1 AND user_id = ?2`, channel, user); err != nil {
			return nothing{}, err
		}
		_, err := t.exec(`INSERT INTO allowed (channel, user_id, allowed_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
			channel, user, t.now)
		return nothing{}, err
	})
	return err
}

// Disallow removes a user's approval, and reports whether there was one.
func (s *Store) Disallow(ctx context.Context, channel string, user chat.UserID) (bool, error) {
	return step(ctx, s, "disallow", func(t *tx) (bool, error) {
		n, err := t.exec(`DELETE FROM allowed WHERE channel = ?1 AND user_id = ?2`, channel, user)
		return n > 0, err
	})
}

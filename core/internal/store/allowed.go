package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// AllowedUser is somebody who was let in, by a pairing or by an owner's word.
type AllowedUser struct {
	Channel   string
	User      chat.UserID
	AllowedAt time.Time
}

// AllowedUsers returns who was let in, by channel and user; at most 1000.
func (s *Store) AllowedUsers(ctx context.Context) ([]AllowedUser, error) {
	var users []AllowedUser
	err := s.view(ctx).each(`SELECT channel, user_id, allowed_at FROM allowed ORDER BY channel, user_id LIMIT ?1`, []any{overviewRows}, func(rows *sql.Rows) error {
		var u AllowedUser
		var at int64
		if err := rows.Scan(&u.Channel, &u.User, &at); err != nil {
			return err
		}
		u.AllowedAt = moment(at)
		users = append(users, u)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("allowed users: %w", err)
	}
	return users, nil
}

// Allow lets somebody in.
func (s *Store) Allow(ctx context.Context, channel string, user chat.UserID) error {
	if channel == "" || user == "" {
		return errors.New("allow: channel and user must be set")
	}
	_, err := step(ctx, s, "allow", func(t *tx) (nothing, error) {
		_, err := t.exec(`INSERT INTO allowed (channel, user_id, allowed_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`, channel, user, t.now)
		return nothing{}, err
	})
	return err
}

// Disallow takes back that somebody was let in. It returns false for somebody who was not.
func (s *Store) Disallow(ctx context.Context, channel string, user chat.UserID) (was bool, err error) {
	return step(ctx, s, "disallow", func(t *tx) (bool, error) {
		n, err := t.exec(`DELETE FROM allowed WHERE channel = ?1 AND user_id = ?2`, channel, user)
		return n > 0, err
	})
}

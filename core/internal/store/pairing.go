package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// RequestPairing stores a pairing request and posts the prompt with its code. If the channel has limit of them, the
// oldest is removed if it was made before olderThan. It returns false, and posts nothing, if the user has a pending
// request, or none can be removed.
func (s *Store) RequestPairing(
	ctx context.Context, p domain.Pairing, limit int, olderThan time.Time, prompt domain.OutboxItem,
) (created bool, err error) {
	if p.Channel == "" || p.User == "" || p.Code == "" {
		return false, errors.New("request pairing: channel, user and code must be set")
	}
	if err := delivery.Check([]domain.OutboxItem{prompt}); err != nil {
		return false, fmt.Errorf("request pairing: %w", err)
	}
	return engine.Do(ctx, s.db, "request pairing", func(t *engine.Tx) (bool, error) {
		if _, err := t.Exec(`DELETE FROM pairings WHERE channel = ?1 AND expires_at <= ?2`, p.Channel, t.Now); err != nil {
			return false, err
		}
		var known bool
		err := t.Row(`SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ?1 AND user_id = ?2)`, []any{p.Channel, p.User}, &known)
		if err != nil || known {
			return false, err
		}
		fits, err := evictOldest(t, p.Channel, limit, olderThan)
		if err != nil || !fits {
			return false, err
		}
		var taken bool
		if err := t.Row(`SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ?1 AND code = ?2)`, []any{p.Channel, p.Code},
			&taken); err != nil {
			return false, err
		}
		if taken {
			return false, errors.New("another request has the same code")
		}
		_, err = t.Exec(`INSERT INTO pairings (channel, user_id, code, name, chat, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
			p.Channel, p.User, p.Code, p.Name, p.Chat, engine.Millis(p.CreatedAt), engine.Millis(p.ExpiresAt))
		if err != nil {
			return false, err
		}
		_, err = delivery.Post(t, 0, []domain.OutboxItem{prompt})
		return true, err
	})
}

// evictOldest reports whether a channel has fewer than limit requests, after removing the oldest if it was made before
// olderThan.
func evictOldest(t *engine.Tx, channel string, limit int, olderThan time.Time) (bool, error) {
	var live int
	if err := t.Row(`SELECT COUNT(*) FROM pairings WHERE channel = ?1`, []any{channel}, &live); err != nil || live < limit {
		return err == nil, err
	}
	gone, err := t.Exec(`DELETE FROM pairings WHERE channel = ?1 AND created_at < ?2 AND user_id =
		(SELECT user_id FROM pairings WHERE channel = ?1 ORDER BY created_at, user_id LIMIT 1)`, channel, engine.Millis(olderThan))
	return gone > 0, err
}

// Pairings returns the pending requests, oldest first.
func (s *Store) Pairings(ctx context.Context) ([]domain.Pairing, error) {
	pairings, err := findPairings(s.db.View(ctx), `expires_at > ?1`, engine.Millis(s.db.Now()))
	if err != nil {
		return nil, fmt.Errorf("pairings: %w", err)
	}
	return pairings, nil
}

// ApprovePairing approves the request with a code and posts a notice to the requester. An empty channel means any; then
// a code that is pending on several channels is an error. The error is [domain.ErrNotFound] for a code that is not
// pending. notice must not block.
func (s *Store) ApprovePairing(
	ctx context.Context, channel, code string, notice func(domain.Pairing) domain.OutboxItem,
) (domain.Pairing, error) {
	return engine.Do(ctx, s.db, "approve pairing", func(t *engine.Tx) (domain.Pairing, error) {
		p, err := takePairing(t, channel, code)
		if err != nil {
			return domain.Pairing{}, err
		}
		_, err = t.Exec(`INSERT INTO allowed (channel, user_id, allowed_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
			p.Channel, p.User, t.Now)
		if err != nil {
			return domain.Pairing{}, err
		}
		item := notice(p)
		if err := delivery.Check([]domain.OutboxItem{item}); err != nil {
			return domain.Pairing{}, err
		}
		_, err = delivery.Post(t, 0, []domain.OutboxItem{item})
		return p, err
	})
}

// RejectPairing deletes a request; the person may make a new one. Channel, code and error are as for
// [Store.ApprovePairing].
func (s *Store) RejectPairing(ctx context.Context, channel, code string) (domain.Pairing, error) {
	return engine.Do(ctx, s.db, "reject pairing", func(t *engine.Tx) (domain.Pairing, error) { return takePairing(t, channel, code) })
}

func takePairing(t *engine.Tx, channel, code string) (domain.Pairing, error) {
	found, err := findPairings(t, `expires_at > ?1 AND code = ?2 AND (?3 = '' OR channel = ?3)`, t.Now, code, channel)
	switch {
	case err != nil:
		return domain.Pairing{}, err
	case len(found) == 0:
		return domain.Pairing{}, domain.ErrNotFound
	case len(found) > 1:
		return domain.Pairing{}, fmt.Errorf("the code is pending on %s and on %s: name the channel", found[0].Channel, found[1].Channel)
	}
	_, err = t.Exec(`DELETE FROM pairings WHERE channel = ?1 AND user_id = ?2`, found[0].Channel, found[0].User)
	return found[0], err
}

// findPairings returns the requests that satisfy a condition, which is a constant.
func findPairings(q engine.Querier, where string, args ...any) ([]domain.Pairing, error) {
	var pairings []domain.Pairing
	err := q.Each(`SELECT channel, user_id, code, name, chat, created_at, expires_at FROM pairings WHERE `+where+`
		ORDER BY created_at, channel, user_id`, args, func(rows engine.Rows) error {
		var p domain.Pairing
		var createdAt, expiresAt int64
		if err := rows.Scan(&p.Channel, &p.User, &p.Code, &p.Name, &p.Chat, &createdAt, &expiresAt); err != nil {
			return err
		}
		p.CreatedAt, p.ExpiresAt = engine.Moment(createdAt), engine.Moment(expiresAt)
		pairings = append(pairings, p)
		return nil
	})
	return pairings, err
}

// Allowed reports whether one of the users, which are ids of one person, was approved by pairing.
func (s *Store) Allowed(ctx context.Context, channel string, users ...chat.UserID) (bool, error) {
	v := s.db.View(ctx)
	for _, user := range users {
		var found bool
		err := v.Row(`SELECT EXISTS (SELECT 1 FROM allowed WHERE channel = ?1 AND user_id = ?2)`, []any{channel, user}, &found)
		if err != nil {
			return false, fmt.Errorf("allowed: %w", err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

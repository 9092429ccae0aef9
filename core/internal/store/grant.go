package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// grant stores grants; existing ones stay unchanged.
func (t *tx) grant(grants []domain.Grant) error {
	for _, g := range grants {
		if g.Session == "" || g.Rule == "" || g.Authority == 0 {
			return errors.New("a grant has a session, an authority and a rule")
		}
		_, err := t.exec(`INSERT INTO grants (session, claude_session, authority, rule, granted_by, granted_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT DO NOTHING`, g.Session, g.ClaudeSession, g.Authority, g.Rule, g.By, t.now)
		if err != nil {
			return err
		}
	}
	return nil
}

// Grants returns a session's grants for all its claude sessions, by authority and rule; at most 1000.
func (s *Store) Grants(ctx context.Context, session string) ([]domain.Grant, error) {
	var list []domain.Grant
	err := s.view(ctx).each(`SELECT session, claude_session, authority, rule, granted_by, granted_at FROM grants WHERE session = ?1
		ORDER BY authority, rule, claude_session LIMIT ?2 + 0`, []any{session, overviewRows}, func(rows rows) error {
		var g domain.Grant
		var at int64
		if err := rows.Scan(&g.Session, &g.ClaudeSession, &g.Authority, &g.Rule, &g.By, &at); err != nil {
			return err
		}
		g.At = moment(at)
		list = append(list, g)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("grants: %w", err)
	}
	return list, nil
}

// Revoke deletes a grant, or, without a rule, all of its session's. It returns their number.
func (s *Store) Revoke(ctx context.Context, g domain.Grant) (int64, error) {
	return step(ctx, s, "revoke", func(t *tx) (int64, error) {
		if g.Rule == "" {
			return t.exec(`DELETE FROM grants WHERE session = ?1`, g.Session)
		}
		return t.exec(`DELETE FROM grants WHERE session = ?1 AND claude_session = ?2 AND authority = ?3 AND rule = ?4`,
			g.Session, g.ClaudeSession, g.Authority, g.Rule)
	})
}

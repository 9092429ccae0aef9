package questions

import (
	"context"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Grant stores grants; existing ones stay unchanged.
func Grant(t *engine.Tx, grants []domain.Grant) error {
	for _, g := range grants {
		if g.Session == "" || g.Rule == "" || g.Authority == 0 {
			return errors.New("a grant has a session, an authority and a rule")
		}
		_, err := t.Exec(`INSERT INTO grants (session, claude_session, authority, rule, granted_by, granted_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT DO NOTHING`, g.Session, g.ClaudeSession, g.Authority, g.Rule, g.By, t.Now)
		if err != nil {
			return err
		}
	}
	return nil
}

// Grants returns a session's grants for all its claude sessions, by authority and rule; at most 1000.
func (s *Store) Grants(ctx context.Context, session string) ([]domain.Grant, error) {
	var list []domain.Grant
	err := s.db.View(ctx).Each(`SELECT session, claude_session, authority, rule, granted_by, granted_at FROM grants WHERE session = ?1
		ORDER BY authority, rule, claude_session LIMIT ?2 + 0`, []any{session, engine.MaxRows}, func(rows engine.Rows) error {
		var g domain.Grant
		var at int64
		if err := rows.Scan(&g.Session, &g.ClaudeSession, &g.Authority, &g.Rule, &g.By, &at); err != nil {
			return err
		}
		g.At = engine.Moment(at)
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
	return engine.Do(ctx, s.db, "revoke", func(t *engine.Tx) (int64, error) {
		if g.Rule == "" {
			return t.Exec(`DELETE FROM grants WHERE session = ?1`, g.Session)
		}
		return t.Exec(`DELETE FROM grants WHERE session = ?1 AND claude_session = ?2 AND authority = ?3 AND rule = ?4`,
			g.Session, g.ClaudeSession, g.Authority, g.Rule)
	})
}

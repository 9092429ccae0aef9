package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// ClaudeSessionOf returns the key of the session that a claude session is, or was, of; empty: of none that is known.
func (s *Store) ClaudeSessionOf(ctx context.Context, claude string) (key string, err error) {
	err = engine.NoRows(s.db.View(ctx).Row(`SELECT session FROM claude_sessions WHERE id = ?1`, []any{claude}, &key))
	if err != nil {
		return "", fmt.Errorf("claude session: %w", err)
	}
	return key, nil
}

// resume gives a session a claude session that exists already, unless that is another session's, and returns the one that it leaves;
// empty: it has that one. What waits stays with the latter.
func resume(t *engine.Tx, key, claude string) (left string, err error) {
	var folder, worktree, owner string
	err = t.Row(`SELECT c.id, c.folder, c.worktree FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session WHERE s.key = ?1`,
		[]any{key}, &left, &folder, &worktree)
	if err != nil || left == claude {
		return "", err
	}
	err = t.Row(`SELECT session FROM claude_sessions WHERE id = ?1`, []any{claude}, &owner)
	known := err == nil
	if engine.NoRows(err) != nil || known && owner != key {
		return "", engine.NoRows(err)
	}
	if err := bindWaiting(t, key, math.MaxInt64); err != nil {
		return "", err
	}
	// It begins now, so that it does not expire at once.
	if known {
		_, err = t.Exec(`UPDATE claude_sessions SET replaced_at = NULL, begun_at = ?2 WHERE id = ?1`, claude, t.Now)
	} else {
		_, err = t.Exec(`INSERT INTO claude_sessions (id, session, folder, worktree, begun_at, started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)`,
			claude, key, folder, worktree, t.Now)
	}
	if err != nil {
		return "", err
	}
	return replaceBy(t, key, claude)
}

// fork gives a session a copy of its claude session, and returns the one that it leaves, or "" if that has not begun.
func fork(t *engine.Tx, key string) (left string, err error) {
	var folder, worktree string
	err = t.Row(`SELECT c.id, c.folder, c.worktree FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session
		WHERE s.key = ?1 AND c.started_at IS NOT NULL`, []any{key}, &left, &folder, &worktree)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := bindWaiting(t, key, math.MaxInt64); err != nil {
		return "", err
	}
	claude := uuid.NewString()
	if _, err := t.Exec(`INSERT INTO claude_sessions (id, session, folder, worktree, begun_at, copy_of) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
		claude, key, folder, worktree, t.Now, left); err != nil {
		return "", err
	}
	return replaceBy(t, key, claude)
}

// replaceBy replaces the claude session of a session by another one, and returns the replaced one.
func replaceBy(t *engine.Tx, key, claude string) (left string, err error) {
	if err := t.Row(`SELECT claude_session FROM sessions WHERE key = ?1`, []any{key}, &left); err != nil {
		return "", err
	}
	if _, err := t.Exec(`UPDATE claude_sessions SET replaced_at = ?2 WHERE id = ?1`, left, t.Now); err != nil {
		return "", err
	}
	return left, enter(t, key, claude)
}

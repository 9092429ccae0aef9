package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
)

// ClaudeSessionOf returns the key of the session that a claude session is, or was, of; empty: of none that is known.
func (s *Store) ClaudeSessionOf(ctx context.Context, claude string) (key string, err error) {
	err = noRows(s.view(ctx).row(`SELECT session FROM claude_sessions WHERE id = ?1`, []any{claude}, &key))
	if err != nil {
		return "", fmt.Errorf("claude session: %w", err)
	}
	return key, nil
}

// resume gives a session a claude session that exists already, unless that is another session's, and returns the one that it leaves;
// empty: it has that one. What waits stays with the latter.
func (t *tx) resume(key, claude string) (left string, err error) {
	var folder, worktree, owner string
	err = t.row(`SELECT c.id, c.folder, c.worktree FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session WHERE s.key = ?1`,
		[]any{key}, &left, &folder, &worktree)
	if err != nil || left == claude {
		return "", err
	}
	err = t.row(`SELECT session FROM claude_sessions WHERE id = ?1`, []any{claude}, &owner)
	known := err == nil
	if noRows(err) != nil || known && owner != key {
		return "", noRows(err)
	}
	if err := t.bindWaiting(key, math.MaxInt64); err != nil {
		return "", err
	}
	// It begins now, so that it does not expire at once.
	if known {
		_, err = t.exec(`UPDATE claude_sessions SET replaced_at = NULL, begun_at = ?2 WHERE id = ?1`, claude, t.now)
	} else {
		_, err = t.exec(`INSERT INTO claude_sessions (id, session, folder, worktree, begun_at, started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)`,
			claude, key, folder, worktree, t.now)
	}
	if err != nil {
		return "", err
	}
	return t.replaceBy(key, claude)
}

// fork gives a session a copy of its claude session, and returns the one that it leaves, or "" if that has not begun.
func (t *tx) fork(key string) (left string, err error) {
	var folder, worktree string
	err = t.row(`SELECT c.id, c.folder, c.worktree FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session
		WHERE s.key = ?1 AND c.started_at IS NOT NULL`, []any{key}, &left, &folder, &worktree)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := t.bindWaiting(key, math.MaxInt64); err != nil {
		return "", err
	}
	claude := uuid.NewString()
	if _, err := t.exec(`INSERT INTO claude_sessions (id, session, folder, worktree, begun_at, copy_of) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
		claude, key, folder, worktree, t.now, left); err != nil {
		return "", err
	}
	return t.replaceBy(key, claude)
}

// replaceBy replaces the claude session of a session by another one, and returns the replaced one.
func (t *tx) replaceBy(key, claude string) (left string, err error) {
	if err := t.row(`SELECT claude_session FROM sessions WHERE key = ?1`, []any{key}, &left); err != nil {
		return "", err
	}
	if _, err := t.exec(`UPDATE claude_sessions SET replaced_at = ?2 WHERE id = ?1`, left, t.now); err != nil {
		return "", err
	}
	return left, t.enter(key, claude)
}

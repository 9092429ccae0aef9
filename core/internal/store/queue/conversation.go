package queue

import (
	"database/sql"
	"errors"
	"math"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/google/uuid"
)

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
	return left, sessions.EnterClaude(t, key, claude)
}

// changeFolder gives a session the claude session that it had in a folder, or a new one, and returns the one that it leaves; empty: it
// is in that folder. What waits stays with the latter.
func changeFolder(t *engine.Tx, key, folder string) (left string, err error) {
	var now string
	err = t.Row(`SELECT c.id, c.folder FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session WHERE s.key = ?1`, []any{key}, &left, &now)
	if err != nil || now == folder {
		return "", err
	}
	if err := bindWaiting(t, key, math.MaxInt64); err != nil {
		return "", err
	}
	var claude string
	err = engine.NoRows(t.Row(`SELECT id FROM claude_sessions WHERE session = ?1 AND folder = ?2 AND replaced_at IS NULL ORDER BY begun_at DESC LIMIT 1`,
		[]any{key, folder}, &claude))
	if err == nil && claude == "" {
		claude, err = sessions.MakeClaude(t, key, folder, sql.NullInt64{})
	}
	if err != nil {
		return "", err
	}
	return left, sessions.EnterClaude(t, key, claude)
}

// bindWaiting binds the messages before a seq to the claude sessions that they were written for, because another one is
// about to begin: the current one, or one that begins with one of them.
func bindWaiting(t *engine.Tx, session string, before int64) error {
	for {
		var fresh int64
		err := t.Row(`SELECT seq FROM inbox WHERE session = ?1 AND lane = 'turn' AND seq < ?2 AND claude_session IS NULL
				AND fresh != 0 ORDER BY seq LIMIT 1`, []any{session, before}, &fresh)
		if engine.NoRows(err) != nil {
			return err
		}
		last := err != nil
		if last {
			fresh = before
		}
		// Writers in the new conversation do not join their bursts.
		if _, err := t.Exec(`UPDATE inbox SET claude_session = (SELECT claude_session FROM sessions WHERE key = ?1), burst_by = ''
			WHERE session = ?1 AND lane = 'turn' AND seq < ?2 AND claude_session IS NULL`, session, fresh); err != nil || last {
			return err
		}
		_, begun, err := sessions.BeginClaude(t, session)
		if err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE inbox SET claude_session = ?3, burst_by = '' WHERE session = ?1 AND lane = 'turn' AND seq = ?2`,
			session, fresh, begun); err != nil {
			return err
		}
	}
}

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// sessionColumns are what scanSession scans.
const sessionColumns = `s.key, s.claude_session, c.started_at IS NOT NULL, s.kind, s.title, s.channel, s.chat, s.thread, s.peer,
	s.created_at, s.reset_at, COALESCE(s.interacted_at, 0), s.model,
	s.turns, s.input_tokens, s.cache_tokens, s.output_tokens, s.cost_micros, s.context_tokens, s.context_window,
	s.overrides, s.label, COALESCE(s.flushed_at, 0), c.compactions, c.flushed, c.given, c.folder, c.worktree, ` + beginning

// beginning is what the claude session c starts with, while it has not begun: a copy of another one, or of its parent, if that has
// begun, and the first message of its thread.
const beginning = `CASE WHEN c.started_at IS NULL AND c.copy_of != '' THEN c.copy_of WHEN c.started_at IS NULL AND c.parent != '' THEN
		COALESCE((SELECT f.id FROM sessions p JOIN claude_sessions f ON f.id = p.claude_session WHERE p.key = c.parent AND f.started_at IS NOT NULL), '')
	ELSE '' END,
	CASE WHEN c.started_at IS NULL THEN COALESCE((SELECT b.text FROM starters b WHERE b.session = c.session), '') ELSE '' END`

type sessionRow struct {
	domain.Session
	createdAt, resetAt, interactedAt, flushedAt int64

	overrides, peer, given string
}

func (r *sessionRow) dest() []any {
	return []any{
		&r.Key, &r.ClaudeSession, &r.ClaudeStarted, &r.Kind, &r.Title, &r.Route.Channel, &r.Route.Chat, &r.Route.Thread, &r.peer,
		&r.createdAt, &r.resetAt, &r.interactedAt, &r.Model,
		&r.Usage.Turns, &r.Usage.InputTokens, &r.Usage.CacheTokens, &r.Usage.OutputTokens, &r.Usage.CostMicros,
		&r.ContextTokens, &r.ContextWindow,
		&r.overrides, &r.Label, &r.flushedAt, &r.Compactions, &r.Flushed, &r.given, &r.Folder, &r.Worktree, &r.ForkOf, &r.Starter,
	}
}

func (r *sessionRow) session() domain.Session {
	r.CreatedAt, r.ResetAt, r.InteractedAt, r.FlushedAt = engine.Moment(r.createdAt), engine.Moment(r.resetAt), engine.Moment(r.interactedAt), engine.Moment(r.flushedAt)
	r.Overrides, r.Peer, r.Given = decodeOverrides(r.overrides), decodePeer(r.peer), decodeGiven(r.given)
	return r.Session
}

// decodeOverrides reads a session's settings. Those that this version cannot read are inherited.
func decodeOverrides(encoded string) (o domain.Overrides) {
	if encoded == "" || encoded == "{}" || json.Unmarshal([]byte(encoded), &o) != nil {
		return domain.Overrides{}
	}
	return o
}

// decodeGiven reads what a claude session has of hooks. What this version cannot read is given again.
func decodeGiven(encoded string) (given map[string]string) {
	if encoded == "" || json.Unmarshal([]byte(encoded), &given) != nil {
		return nil
	}
	return given
}

func findSession(q engine.Querier, key string) (domain.Session, error) {
	var r sessionRow
	err := q.Row(`SELECT `+sessionColumns+` FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session WHERE s.key = ?1`,
		[]any{key}, r.dest()...)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Session{}, domain.ErrNotFound
	}
	return r.session(), err
}

// Session returns a session's row, or [domain.ErrNotFound].
func (s *Store) Session(ctx context.Context, key string) (domain.Session, error) {
	session, err := findSession(s.db.View(ctx), key)
	if err != nil {
		return domain.Session{}, fmt.Errorf("session: %w", err)
	}
	return session, nil
}

// Sessions returns the sessions with keys after the given one, in order. limit is 1 to 1000; another value means 1000.
func (s *Store) Sessions(ctx context.Context, after string, limit int) ([]domain.Session, error) {
	var sessions []domain.Session
	err := s.db.View(ctx).Each(`SELECT `+sessionColumns+` FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session
		WHERE s.key > ?1 ORDER BY s.key LIMIT ?2 + 0`,
		[]any{after, bounded(limit)}, func(rows engine.Rows) error {
			var r sessionRow
			if err := rows.Scan(r.dest()...); err != nil {
				return err
			}
			sessions = append(sessions, r.session())
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return sessions, nil
}

// beginClaudeSession gives a session a new claude session in the same folder and returns the uuids of the old and the new one. The
// error may be ErrNotFound.
func beginClaudeSession(t *engine.Tx, key string) (old, id string, err error) {
	var folder string
	err = t.Row(`SELECT c.id, c.folder FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session WHERE s.key = ?1`, []any{key}, &old, &folder)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", domain.ErrNotFound
	}
	if err != nil {
		return "", "", err
	}
	if _, err := t.Exec(`UPDATE claude_sessions SET replaced_at = ?2 WHERE id = ?1`, old, t.Now); err != nil {
		return "", "", err
	}
	if id, err = makeClaudeSession(t, key, folder, sql.NullInt64{}); err != nil {
		return "", "", err
	}
	return old, id, enter(t, key, id)
}

// enter gives a session another claude session.
func enter(t *engine.Tx, key, claude string) error {
	_, err := t.Exec(`UPDATE sessions SET claude_session = ?2, reset_at = ?3, context_tokens = 0 WHERE key = ?1`, key, claude, t.Now)
	return err
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
		claude, err = makeClaudeSession(t, key, folder, sql.NullInt64{})
	}
	if err != nil {
		return "", err
	}
	return left, enter(t, key, claude)
}

// makeClaudeSession creates a claude session in a folder, which may be replaced from the beginning, and returns its uuid.
func makeClaudeSession(t *engine.Tx, key, folder string, replacedAt sql.NullInt64) (string, error) {
	id := uuid.NewString()
	_, err := t.Exec(`INSERT INTO claude_sessions (id, session, folder, begun_at, replaced_at, worktree)
		VALUES (?1, ?2, ?3, ?4, ?5, `+worktreeOf("?2", "?3")+`)`, id, key, folder, t.Now, replacedAt)
	return id, err
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
		_, begun, err := beginClaudeSession(t, session)
		if err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE inbox SET claude_session = ?3, burst_by = '' WHERE session = ?1 AND lane = 'turn' AND seq = ?2`,
			session, fresh, begun); err != nil {
			return err
		}
	}
}

// Configure changes a session's settings and returns the updated session. The error is [domain.ErrNotFound] for an
// unknown one.
func (s *Store) Configure(ctx context.Context, key string, change func(*domain.Overrides)) (domain.Session, error) {
	return engine.Do(ctx, s.db, "configure", func(t *engine.Tx) (domain.Session, error) {
		if err := configure(t, key, change); err != nil {
			return domain.Session{}, err
		}
		return findSession(t, key)
	})
}

func configure(t *engine.Tx, key string, change func(*domain.Overrides)) error {
	session, err := findSession(t, key)
	if err != nil {
		return err
	}
	change(&session.Overrides)
	encoded, err := json.Marshal(session.Overrides)
	if err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE sessions SET overrides = ?2 WHERE key = ?1`, key, string(encoded))
	return err
}

// SetLabel sets a session's label; "" removes it. The error is [domain.ErrNotFound] for an unknown session.
func (s *Store) SetLabel(ctx context.Context, key, label string) error {
	if n := utf8.RuneCountInString(label); n > domain.MaxLabel {
		return fmt.Errorf("set label: it has %d characters, at most %d are kept", n, domain.MaxLabel)
	}
	return engine.Change(ctx, s.db, "set label", func(t *engine.Tx) error {
		n, err := t.Exec(`UPDATE sessions SET label = ?2 WHERE key = ?1`, key, label)
		if err == nil && n == 0 {
			err = domain.ErrNotFound
		}
		return err
	})
}

// bounded returns a safe value for an untrusted limit.
func bounded(limit int) int {
	const most = 1000
	if limit < 1 || limit > most {
		return most
	}
	return limit
}

package sessions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/google/uuid"
)

// ClaudeSessionOf returns the key of the session that a claude session is, or was, of; empty: of none that is known.
func (s *Store) ClaudeSessionOf(ctx context.Context, claude string) (key string, err error) {
	err = engine.NoRows(s.db.View(ctx).Row(`SELECT session FROM claude_sessions WHERE id = ?1`, []any{claude}, &key))
	if err != nil {
		return "", fmt.Errorf("claude session: %w", err)
	}
	return key, nil
}

// sessionColumns are what scanSession scans.
const sessionColumns = `s.key, s.claude_session, c.started_at IS NOT NULL, s.kind, s.title, s.channel, s.chat, s.thread, s.peer,
	s.created_at, s.reset_at, COALESCE(s.interacted_at, 0), s.model,
	s.turns, s.input_tokens, s.cache_tokens, s.output_tokens, s.cost_micros, s.context_tokens, s.context_window,
	s.overrides, s.label, s.host, COALESCE(s.flushed_at, 0), c.compactions, c.flushed, c.given, c.folder, c.worktree, ` + Beginning

// Beginning is what the claude session c starts with, while it has not begun: a copy of another one, or of its parent, if that has
// begun, and the first message of its thread.
const Beginning = `CASE WHEN c.started_at IS NULL AND c.copy_of != '' THEN c.copy_of WHEN c.started_at IS NULL AND c.parent != '' THEN
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
		&r.overrides, &r.Label, &r.Host, &r.flushedAt, &r.Compactions, &r.Flushed, &r.given, &r.Folder, &r.Worktree, &r.ForkOf, &r.Starter,
	}
}

func (r *sessionRow) session() domain.Session {
	r.CreatedAt, r.ResetAt, r.InteractedAt, r.FlushedAt = engine.Moment(r.createdAt), engine.Moment(r.resetAt), engine.Moment(r.interactedAt), engine.Moment(r.flushedAt)
	r.Overrides, r.Peer, r.Given = decodeOverrides(r.overrides), DecodePeer(r.peer), DecodeGiven(r.given)
	return r.Session
}

// decodeOverrides reads a session's settings. Those that this version cannot read are inherited.
func decodeOverrides(encoded string) (o domain.Overrides) {
	if encoded == "" || encoded == "{}" || json.Unmarshal([]byte(encoded), &o) != nil {
		return domain.Overrides{}
	}
	return o
}

// DecodeGiven reads what a claude session has of hooks. What this version cannot read is given again.
func DecodeGiven(encoded string) (given map[string]string) {
	if encoded == "" || json.Unmarshal([]byte(encoded), &given) != nil {
		return nil
	}
	return given
}

// Find returns a session's row, or [domain.ErrNotFound].
func Find(q engine.Querier, key string) (domain.Session, error) {
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
	session, err := Find(s.db.View(ctx), key)
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
		[]any{after, engine.Bounded(limit)}, func(rows engine.Rows) error {
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

// BeginClaude gives a session a new claude session in the same folder and returns the uuids of the old and the new one. The
// error may be ErrNotFound.
func BeginClaude(t *engine.Tx, key string) (old, id string, err error) {
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
	if id, err = MakeClaude(t, key, folder, sql.NullInt64{}); err != nil {
		return "", "", err
	}
	return old, id, EnterClaude(t, key, id)
}

// EnterClaude gives a session another claude session.
func EnterClaude(t *engine.Tx, key, claude string) error {
	_, err := t.Exec(`UPDATE sessions SET claude_session = ?2, reset_at = ?3, context_tokens = 0 WHERE key = ?1`, key, claude, t.Now)
	return err
}

// MakeClaude creates a claude session in a folder, which may be replaced from the beginning, and returns its uuid.
func MakeClaude(t *engine.Tx, key, folder string, replacedAt sql.NullInt64) (string, error) {
	id := uuid.NewString()
	_, err := t.Exec(`INSERT INTO claude_sessions (id, session, folder, begun_at, replaced_at, worktree)
		VALUES (?1, ?2, ?3, ?4, ?5, `+worktreeOf("?2", "?3")+`)`, id, key, folder, t.Now, replacedAt)
	return id, err
}

// Overrides returns a session's settings; none for an unknown session.
func (s *Store) Overrides(ctx context.Context, key string) (domain.Overrides, error) {
	var encoded string
	err := engine.NoRows(s.db.View(ctx).Row(`SELECT overrides FROM sessions WHERE key = ?1`, []any{key}, &encoded))
	if err != nil {
		return domain.Overrides{}, fmt.Errorf("overrides: %w", err)
	}
	return decodeOverrides(encoded), nil
}

// Configure changes a session's settings and returns the updated session. The error is [domain.ErrNotFound] for an
// unknown one.
func (s *Store) Configure(ctx context.Context, key string, change func(*domain.Overrides)) (domain.Session, error) {
	return engine.Do(ctx, s.db, "configure", func(t *engine.Tx) (domain.Session, error) {
		if err := Configure(t, key, change); err != nil {
			return domain.Session{}, err
		}
		return Find(t, key)
	})
}

// Configure changes a session's settings. The error is [domain.ErrNotFound] for an unknown one.
func Configure(t *engine.Tx, key string, change func(*domain.Overrides)) error {
	session, err := Find(t, key)
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

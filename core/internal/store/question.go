package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Ask stores a question of a running run and posts its items, the last of which becomes its message. If the session has
// an equal open question, in the same claude session and with the same authority, nothing is posted and that question
// is returned, with its answer if there is one. The error is [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) Ask(ctx context.Context, run int64, q domain.Question, items ...domain.OutboxItem) (domain.Question, error) {
	if q.ID == "" || q.Digest == "" || len(items) == 0 {
		return domain.Question{}, errors.New("ask: a question has an id, a digest and an item")
	}
	if err := checkItems(items); err != nil {
		return domain.Question{}, fmt.Errorf("ask: %w", err)
	}
	return step(ctx, s, "ask", func(t *tx) (domain.Question, error) {
		h, err := fence(t, run)
		if err != nil {
			return domain.Question{}, err
		}
		q.Session = h.session
		known, err := findQuestions(t, `session = ?1 AND digest = ?2 AND claude_session = ?3 AND authority = ?4 AND ended_at IS NULL`,
			q.Session, q.Digest, q.ClaudeSession, q.Authority)
		switch {
		case err != nil:
			return domain.Question{}, err
		case len(known) > 0:
			return known[0], nil
		}
		last := len(items) - 1
		items[last].Kept = true
		if _, err := t.post(run, items[:last]); err != nil {
			return domain.Question{}, err
		}
		if q.Item, err = t.post(run, items[last:]); err != nil {
			return domain.Question{}, err
		}
		q.State, q.CreatedAt = domain.QuestionOpen, moment(t.now)
		_, err = t.exec(`INSERT INTO questions (id, session, claude_session, digest, authority, asker, channel, chat, thread, piece, body, state, created_at, expires_at, unseen)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
			q.ID, q.Session, q.ClaudeSession, q.Digest, q.Authority, q.Asker, q.To.Channel, q.To.Chat, q.To.Thread, q.Item, string(q.Body),
			q.State, t.now, millis(q.ExpiresAt), q.Unseen)
		return q, err
	})
}

// Settle ends or answers an open question: its message is edited to said, without buttons. An answer that no turn has
// taken can be made void. The grants of an answer are stored in the same transaction. It returns the updated question,
// and whether this call changed it. The error is [domain.ErrNotFound] for an unknown id.
func (s *Store) Settle(
	ctx context.Context, id string, state domain.QuestionState, answer json.RawMessage, said string, grants ...domain.Grant,
) (q domain.Question, settled bool, err error) {
	q, err = step(ctx, s, "settle", func(t *tx) (domain.Question, error) {
		settled = false
		found, err := findQuestions(t, `id = ?1`, id)
		switch {
		case err != nil:
			return domain.Question{}, err
		case len(found) == 0:
			return domain.Question{}, domain.ErrNotFound
		case state == domain.QuestionVoid && found[0].State != domain.QuestionAnswered,
			state != domain.QuestionVoid && found[0].State != domain.QuestionOpen:
			return found[0], nil
		}
		q := found[0]
		q.State, q.Answer = state, answer
		var endedAt sql.NullInt64
		if state != domain.QuestionAnswered {
			endedAt = sql.NullInt64{Int64: t.now, Valid: true}
		}
		if _, err := t.exec(`UPDATE questions SET state = ?2, answer = ?3, ended_at = ?4 WHERE id = ?1`, id, state,
			string(answer), endedAt); err != nil {
			return domain.Question{}, err
		}
		if err := t.grant(grants); err != nil {
			return domain.Question{}, err
		}
		settled = true
		_, err = t.post(0, []domain.OutboxItem{{To: q.To, Text: said, Edits: q.Item}})
		return q, err
	})
	return q, settled, err
}

// Redraft replaces the body of an open question, and reports whether it has; a question that is closed, or has another body
// than was, is unchanged.
func (s *Store) Redraft(ctx context.Context, id string, was, body json.RawMessage) (bool, error) {
	n, err := step(ctx, s, "redraft a question", func(t *tx) (int64, error) {
		return t.exec(`UPDATE questions SET body = ?3 WHERE id = ?1 AND body = ?2 AND state = ?4`, id, string(was),
			string(body), domain.QuestionOpen)
	})
	return n > 0, err
}

// TakeAnswers records that a turn has taken the answers of its questions, all at once. Questions without an answer are
// unchanged.
func (s *Store) TakeAnswers(ctx context.Context, ids ...string) error {
	_, err := step(ctx, s, "take answers", func(t *tx) (nothing, error) {
		for _, id := range ids {
			_, err := t.exec(`UPDATE questions SET state = ?2, ended_at = ?3 WHERE id = ?1 AND state = ?4`, id,
				domain.QuestionTaken, t.now, domain.QuestionAnswered)
			if err != nil {
				return nothing{}, err
			}
		}
		return nothing{}, nil
	})
	return err
}

// Question returns a question, or [domain.ErrNotFound].
func (s *Store) Question(ctx context.Context, id string) (domain.Question, error) {
	found, err := findQuestions(s.view(ctx), `id = ?1`, id)
	switch {
	case err != nil:
		return domain.Question{}, fmt.Errorf("question: %w", err)
	case len(found) == 0:
		return domain.Question{}, domain.ErrNotFound
	}
	return found[0], nil
}

// Questions returns the questions that are not closed, oldest first.
func (s *Store) Questions(ctx context.Context) ([]domain.Question, error) {
	found, err := findQuestions(s.view(ctx), `ended_at IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	return found, nil
}

// QuestionsOf returns the questions of a session that are not closed, oldest first.
func (s *Store) QuestionsOf(ctx context.Context, session string) ([]domain.Question, error) {
	found, err := findQuestions(s.view(ctx), `session = ?1 AND ended_at IS NULL`, session)
	if err != nil {
		return nil, fmt.Errorf("questions of a session: %w", err)
	}
	return found, nil
}

// OpenQuestions returns the open questions that were asked at an address, or in the chat that has a person's id, or whose
// bodies contain a text; oldest first.
func (s *Store) OpenQuestions(ctx context.Context, at chat.Address, person chat.ID, noted string) ([]domain.Question, error) {
	found, err := findQuestions(s.view(ctx), `ended_at IS NULL AND state = ?1 AND
		(channel = ?2 AND (chat = ?3 AND thread = ?4 OR chat = ?5 AND thread = '') OR instr(body, ?6))`,
		domain.QuestionOpen, at.Channel, at.Chat, at.Thread, person, noted)
	if err != nil {
		return nil, fmt.Errorf("open questions: %w", err)
	}
	return found, nil
}

// unaskable ends the question of an item that cannot be delivered, and returns the notice for its session; empty: the
// item has no open question.
func (t *tx) unaskable(item int64) (unseen string, err error) {
	err = t.row(`UPDATE questions SET state = ?3, ended_at = ?4
		WHERE ended_at IS NULL AND state = ?2 AND piece = (SELECT COALESCE(NULLIF(key_id, 0), id) FROM outbox WHERE id = ?1)
		RETURNING unseen`, []any{item, domain.QuestionOpen, domain.QuestionUnseen, t.now}, &unseen)
	return unseen, noRows(err)
}

// Unfinished reports whether a message in a session's turn lane was claimed for a claude session, and is not answered
// yet.
func (s *Store) Unfinished(ctx context.Context, session, claudeSession string) (unfinished bool, err error) {
	err = s.view(ctx).row(`SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ?1 AND lane = 'turn' AND batch IS NOT NULL AND claude_session = ?2)`, []any{session, claudeSession}, &unfinished)
	if err != nil {
		return false, fmt.Errorf("unfinished: %w", err)
	}
	return unfinished, nil
}

// findQuestions returns the questions that satisfy a condition, which is a constant, oldest first.
func findQuestions(q querier, where string, args ...any) ([]domain.Question, error) {
	var list []domain.Question
	err := q.each(`SELECT id, session, claude_session, digest, authority, asker, channel, chat, thread, piece, body, state, answer, created_at, expires_at, unseen
		FROM questions WHERE `+where, args, func(rows rows) error {
		var q domain.Question
		var body, answer string
		var createdAt, expiresAt int64
		if err := rows.Scan(&q.ID, &q.Session, &q.ClaudeSession, &q.Digest, &q.Authority, &q.Asker, &q.To.Channel,
			&q.To.Chat, &q.To.Thread, &q.Item,
			&body, &q.State, &answer, &createdAt, &expiresAt, &q.Unseen); err != nil {
			return err
		}
		q.Body, q.CreatedAt, q.ExpiresAt = json.RawMessage(body), moment(createdAt), moment(expiresAt)
		if answer != "" {
			q.Answer = json.RawMessage(answer)
		}
		list = append(list, q)
		return nil
	})
	slices.SortFunc(list, func(a, b domain.Question) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}

package questions

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/queue"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Ask stores a question of a running run and posts its items, the last of which becomes its message. If the session has
// an equal open question, in the same claude session and with the same authority, nothing is posted and that question
// is returned, with its answer if there is one. The error is [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) Ask(ctx context.Context, run int64, q domain.Question, items ...domain.OutboxItem) (domain.Question, error) {
	if q.ID == "" || q.Digest == "" || len(q.Messages) != 1 || len(items) == 0 {
		return domain.Question{}, errors.New("ask: a question has an id, a digest, a message and an item")
	}
	if err := delivery.Check(items); err != nil {
		return domain.Question{}, fmt.Errorf("ask: %w", err)
	}
	return engine.Do(ctx, s.db, "ask", func(t *engine.Tx) (domain.Question, error) {
		session, err := queue.Fence(t, run)
		if err != nil {
			return domain.Question{}, err
		}
		q.Session = session
		known, err := findQuestions(t, `session = ?1 AND digest = ?2 AND claude_session = ?3 AND authority = ?4 AND ended_at IS NULL`,
			q.Session, q.Digest, q.ClaudeSession, q.Authority)
		switch {
		case err != nil:
			return domain.Question{}, err
		case len(known) > 0:
			return known[0], nil
		}
		q.State, q.CreatedAt = domain.QuestionOpen, engine.Moment(t.Now)
		_, err = t.Exec(`INSERT INTO questions (id, session, claude_session, digest, authority, asker, body, state, created_at, expires_at, unseen, further)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
			q.ID, q.Session, q.ClaudeSession, q.Digest, q.Authority, q.Asker, string(q.Body), q.State, t.Now, engine.Millis(q.ExpiresAt), q.Unseen, q.Further)
		if err != nil {
			return domain.Question{}, err
		}
		m, err := ask(t, run, q.ID, q.Messages[0], items)
		q.Messages = []domain.QuestionMessage{m}
		return q, err
	})
}

// AskAlso posts the items that ask a run's open question in the direct chat of one more person, whom the message names. A person who
// was asked already gets nothing. Further reports whether still others are asked if no message arrives. It returns the question as it
// is then. The error is [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) AskAlso(
	ctx context.Context, run int64, id string, m domain.QuestionMessage, further bool, items ...domain.OutboxItem,
) (domain.Question, error) {
	if m.Person == "" || len(items) == 0 {
		return domain.Question{}, errors.New("ask one more: a message has a person and an item")
	}
	if err := delivery.Check(items); err != nil {
		return domain.Question{}, fmt.Errorf("ask one more: %w", err)
	}
	return engine.Do(ctx, s.db, "ask one more", func(t *engine.Tx) (domain.Question, error) {
		if _, err := queue.Fence(t, run); err != nil {
			return domain.Question{}, err
		}
		q, err := question(t, id)
		asked := slices.ContainsFunc(q.Messages, func(other domain.QuestionMessage) bool { return other.Person == m.Person })
		if err != nil || asked || q.State != domain.QuestionOpen {
			return q, err
		}
		q.Further = further
		if _, err := t.Exec(`UPDATE questions SET further = ?2 WHERE id = ?1`, id, further); err != nil {
			return domain.Question{}, err
		}
		m, err := ask(t, run, id, m, items)
		q.Messages = append(q.Messages, m)
		return q, err
	})
}

// ask posts the items that ask a question, and records the last of them as its message.
func ask(t *engine.Tx, run int64, question string, m domain.QuestionMessage, items []domain.OutboxItem) (domain.QuestionMessage, error) {
	items = slices.Clone(items)
	last := len(items) - 1
	items[last].Kept = true
	if _, err := delivery.Post(t, run, items[:last]); err != nil {
		return m, err
	}
	item, err := delivery.Post(t, run, items[last:])
	if err != nil {
		return m, err
	}
	m.To, m.Item, m.AskedAt = items[last].To, item, engine.Moment(t.Now)
	_, err = t.Exec(`INSERT INTO question_messages (question, person, channel, chat, thread, piece, numbered, pinned, asked_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`, question, m.Person, m.To.Channel, m.To.Chat, m.To.Thread, item, m.Numbered, m.Pinned, t.Now)
	if err != nil {
		return m, err
	}
	return m, pin(t, m, true)
}

// pin has a question's message pinned, or no longer pinned, where that is wanted.
func pin(t *engine.Tx, m domain.QuestionMessage, pinned bool) error {
	if !m.Pinned || m.Lost {
		return nil
	}
	_, err := delivery.Post(t, 0, []domain.OutboxItem{{To: m.To, Edits: m.Item, Pin: &pinned}})
	return err
}

// WatchQuestions returns a channel that receives a value when a question may have been answered or ended, or have lost a message. Call
// [Store.Question] after WatchQuestions, because that may have happened already. The func ends the watch and may be called more than once.
func (s *Store) WatchQuestions() (<-chan struct{}, func()) { return s.db.Watch(Changed) }

// Settle ends or answers an open question: its messages are edited to said, without buttons; if there are
// several, those who have not answered learn it even where messages cannot be edited. An answer that no turn has
// taken can be made void. The grants of an answer are stored in the same transaction. It returns the updated question,
// and whether this call changed it. The error is [domain.ErrNotFound] for an unknown id.
func (s *Store) Settle(
	ctx context.Context, id string, state domain.QuestionState, answer json.RawMessage, said string, grants ...domain.Grant,
) (q domain.Question, settled bool, err error) {
	q, err = engine.Do(ctx, s.db, "settle", func(t *engine.Tx) (domain.Question, error) {
		settled = false
		q, err := question(t, id)
		switch {
		case err != nil:
			return domain.Question{}, err
		case state == domain.QuestionVoid && q.State != domain.QuestionAnswered,
			state != domain.QuestionVoid && q.State != domain.QuestionOpen:
			return q, nil
		}
		q.State, q.Answer, q.Outcome = state, answer, said
		var endedAt sql.NullInt64
		if state != domain.QuestionAnswered {
			endedAt = sql.NullInt64{Int64: t.Now, Valid: true}
		}
		if _, err := t.Exec(`UPDATE questions SET state = ?2, answer = ?3, ended_at = ?4, outcome = ?5 WHERE id = ?1`, id, state,
			string(answer), endedAt, said); err != nil {
			return domain.Question{}, err
		}
		if err := Grant(t, grants); err != nil {
			return domain.Question{}, err
		}
		settled = true
		t.Announce(Changed)
		return q, tellEnd(t, q)
	})
	return q, settled, err
}

// tellEnd has the messages of a question say how it ended. If others may have answered, a message that was sent and cannot be edited
// is replaced.
func tellEnd(t *engine.Tx, q domain.Question) error {
	for _, m := range q.Messages {
		_, waits, err := delivery.Locate(t, m.Item)
		if engine.NoRows(err) != nil {
			return err
		}
		sent := err == nil && !waits
		edit := domain.OutboxItem{To: m.To, Text: q.Outcome, Edits: m.Item, OrSend: sent && len(q.Messages) > 1}
		if _, err := delivery.Post(t, 0, []domain.OutboxItem{edit}); err != nil {
			return err
		}
		if err := pin(t, m, false); err != nil {
			return err
		}
	}
	return nil
}

// Redraft replaces the body of an open question, and reports whether it has; a question that is closed, or has another body
// than was, is unchanged.
func (s *Store) Redraft(ctx context.Context, id string, was, body json.RawMessage) (bool, error) {
	n, err := engine.Do(ctx, s.db, "redraft a question", func(t *engine.Tx) (int64, error) {
		return t.Exec(`UPDATE questions SET body = ?3 WHERE id = ?1 AND body = ?2 AND state = ?4`, id, string(was),
			string(body), domain.QuestionOpen)
	})
	return n > 0, err
}

// TakeAnswers records that a turn has taken the answers of its questions, all at once. Questions without an answer are
// unchanged.
func (s *Store) TakeAnswers(ctx context.Context, ids ...string) error {
	return engine.Change(ctx, s.db, "take answers", func(t *engine.Tx) error {
		for _, id := range ids {
			_, err := t.Exec(`UPDATE questions SET state = ?2, ended_at = ?3 WHERE id = ?1 AND state = ?4`, id,
				domain.QuestionTaken, t.Now, domain.QuestionAnswered)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Question returns a question, or [domain.ErrNotFound].
func (s *Store) Question(ctx context.Context, id string) (domain.Question, error) {
	found, err := findQuestions(s.db.View(ctx), `id = ?1`, id)
	switch {
	case err != nil:
		return domain.Question{}, fmt.Errorf("question: %w", err)
	case len(found) == 0:
		return domain.Question{}, domain.ErrNotFound
	}
	return found[0], nil
}

func question(t *engine.Tx, id string) (domain.Question, error) {
	found, err := findQuestions(t, `id = ?1`, id)
	switch {
	case err != nil:
		return domain.Question{}, err
	case len(found) == 0:
		return domain.Question{}, domain.ErrNotFound
	}
	return found[0], nil
}

// Questions returns the questions that are not closed, oldest first.
func (s *Store) Questions(ctx context.Context) ([]domain.Question, error) {
	found, err := findQuestions(s.db.View(ctx), `ended_at IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	return found, nil
}

// QuestionsOf returns the questions of a session that are not closed, oldest first.
func (s *Store) QuestionsOf(ctx context.Context, session string) ([]domain.Question, error) {
	found, err := findQuestions(s.db.View(ctx), `session = ?1 AND ended_at IS NULL`, session)
	if err != nil {
		return nil, fmt.Errorf("questions of a session: %w", err)
	}
	return found, nil
}

// OpenQuestions returns the open questions that are asked at an address, or in the chat that has a person's id, or whose
// bodies contain a text; oldest first.
func (s *Store) OpenQuestions(ctx context.Context, at chat.Address, person chat.ID, noted string) ([]domain.Question, error) {
	read := s.db.View(ctx)
	var ids []string
	err := read.Each(`SELECT id, body, EXISTS (SELECT 1 FROM question_messages m WHERE m.question = questions.id
			AND m.channel = ?2 AND (m.chat = ?3 AND m.thread = ?4 OR m.chat = ?5 AND m.thread = ''))
		FROM questions WHERE ended_at IS NULL AND state = ?1`,
		[]any{domain.QuestionOpen, at.Channel, at.Chat, at.Thread, person}, func(rows engine.Rows) error {
			var id, body string
			var here bool
			err := rows.Scan(&id, &body, &here)
			if here || strings.Contains(body, noted) {
				ids = append(ids, id)
			}
			return err
		})
	var list []domain.Question
	for _, id := range ids {
		found, failed := findQuestions(read, `id = ?1`, id)
		list, err = append(list, found...), errors.Join(err, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("open questions: %w", err)
	}
	slices.SortFunc(list, inOrder)
	return list, nil
}

// MarkUndeliverable records that an item cannot be delivered. If nobody else is or will be asked the question of which it is a message,
// that ends; the notice for its session is returned. Empty: the item has no open question, or the question stays open.
func MarkUndeliverable(t *engine.Tx, item int64) (unseen string, err error) {
	var question string
	err = t.Row(`UPDATE question_messages SET lost = 1 WHERE piece = (SELECT COALESCE(NULLIF(key_id, 0), id) FROM outbox WHERE id = ?1)
		RETURNING question`, []any{item}, &question)
	if err != nil {
		return "", engine.NoRows(err)
	}
	t.Announce(Changed)
	err = t.Row(`UPDATE questions SET state = ?3, ended_at = ?4 WHERE id = ?1 AND state = ?2 AND further = 0
		AND NOT EXISTS (SELECT 1 FROM question_messages m WHERE m.question = questions.id AND m.lost = 0)
		RETURNING unseen`, []any{question, domain.QuestionOpen, domain.QuestionUnseen, t.Now}, &unseen)
	return unseen, engine.NoRows(err)
}

// Purge removes at most most of the questions that ended before a time, with their messages, and returns how many.
func Purge(t *engine.Tx, before int64, most int) (int64, error) {
	const old = `(SELECT id FROM questions WHERE ended_at <= ?1 ORDER BY ended_at LIMIT ?2)`
	if _, err := t.Exec(`DELETE FROM question_messages WHERE question IN `+old, before, most); err != nil {
		return 0, err
	}
	return t.Exec(`DELETE FROM questions WHERE id IN `+old, before, most)
}

// findQuestions returns the questions that satisfy a condition, which is a constant, oldest first.
func findQuestions(q engine.Querier, where string, args ...any) ([]domain.Question, error) {
	var list []domain.Question
	err := q.Each(`SELECT id, session, claude_session, digest, authority, asker, body, state, answer, created_at, expires_at, unseen, further, outcome
		FROM questions WHERE `+where, args, func(rows engine.Rows) error {
		var q domain.Question
		var body, answer string
		var createdAt, expiresAt int64
		if err := rows.Scan(&q.ID, &q.Session, &q.ClaudeSession, &q.Digest, &q.Authority, &q.Asker,
			&body, &q.State, &answer, &createdAt, &expiresAt, &q.Unseen, &q.Further, &q.Outcome); err != nil {
			return err
		}
		q.Body, q.CreatedAt, q.ExpiresAt = json.RawMessage(body), engine.Moment(createdAt), engine.Moment(expiresAt)
		if answer != "" {
			q.Answer = json.RawMessage(answer)
		}
		list = append(list, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Messages, err = questionMessages(q, list[i].ID); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, inOrder)
	return list, nil
}

// inOrder compares questions by when they were asked.
func inOrder(a, b domain.Question) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func questionMessages(q engine.Querier, question string) ([]domain.QuestionMessage, error) {
	var list []domain.QuestionMessage
	err := q.Each(`SELECT person, channel, chat, thread, piece, numbered, pinned, lost, asked_at FROM question_messages WHERE question = ?1`,
		[]any{question}, func(rows engine.Rows) error {
			var m domain.QuestionMessage
			var askedAt int64
			err := rows.Scan(&m.Person, &m.To.Channel, &m.To.Chat, &m.To.Thread, &m.Item, &m.Numbered, &m.Pinned, &m.Lost, &askedAt)
			m.AskedAt = engine.Moment(askedAt)
			list = append(list, m)
			return err
		})
	slices.SortFunc(list, func(a, b domain.QuestionMessage) int { return cmp.Compare(a.Item, b.Item) })
	return list, err
}

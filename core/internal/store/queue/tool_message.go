package queue

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// postNumbered posts a message of the agent for its own conversation, if nothing was posted by its key before, and returns
// its number.
func postNumbered(t *engine.Tx, session string, m domain.ToolPost) (number int64, fresh bool, err error) {
	number, err = dedupe.Posted(t, m.Key)
	if !errors.Is(err, sql.ErrNoRows) {
		return number, false, err
	}
	if err := t.Row(`SELECT COALESCE(MAX(number), 0) + 1 FROM agent_messages WHERE session = ?1`, []any{session}, &number); err != nil {
		return 0, false, err
	}
	message := domain.AgentMessage{Session: session, Number: number, Labels: m.Labels}
	for _, item := range m.Items {
		item.Kept = true
		id, err := delivery.Post(t, 0, []domain.OutboxItem{item})
		if err != nil {
			return 0, false, err
		}
		if len(item.Media) > 0 || item.Poll != nil { // neither has a text that could be edited
			message.Files = append(message.Files, id)
		} else {
			message.Texts = append(message.Texts, id)
		}
	}
	texts, files, labels, err := encodeAgentMessage(message)
	if err != nil {
		return 0, false, err
	}
	_, err = t.Exec(`INSERT INTO agent_messages (session, number, key, texts, files, labels, posted_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		session, number, cmp.Or(m.Token, m.Key.String()), texts, files, labels, t.Now)
	if err != nil {
		return 0, false, err
	}
	if err := dedupe.RecordPost(t, m.Key, number); err != nil {
		return 0, false, err
	}
	return number, true, delivery.Mirror(t, m.From, m.Items[0].To)
}

// ChangeByTool changes or deletes a message that the agent of a run has sent to the run's session by a tool, once for a key. A
// message that cannot be edited is replaced. The error is [domain.ErrFenced] for a run that has lost its lane,
// [domain.ErrNotFound] if the session has no such message, or one without a text to replace, and [domain.ErrTooLong] if the
// new text needs more items than the old one had.
func (s *Store) ChangeByTool(ctx context.Context, runID int64, c domain.ToolChange) error {
	if err := delivery.Check(c.Texts); err != nil {
		return fmt.Errorf("change by tool: %w", err)
	}
	return engine.Change(ctx, s.db, "change by tool", func(t *engine.Tx) error { return changeByTool(t, runID, c) })
}

func changeByTool(t *engine.Tx, runID int64, c domain.ToolChange) error {
	h, err := fence(t, runID)
	if err != nil {
		return err
	}
	if _, err := dedupe.Posted(t, c.Key); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := dedupe.RecordPost(t, c.Key, 0); err != nil {
		return err
	}
	m, err := agentMessage(t, `session = ?1 AND number = ?2`, h.session, c.Number)
	if err != nil {
		return err
	}
	if len(m.Texts)+len(m.Files) == 0 {
		return domain.ErrNotFound
	}
	if len(c.Texts) == 0 {
		for _, item := range append(m.Texts, m.Files...) {
			if err := retractShown(t, item); err != nil {
				return err
			}
		}
		// The row stays, so that the number is no other message's.
		_, err := t.Exec(`UPDATE agent_messages SET texts = '[]', files = '[]', labels = '[]' WHERE session = ?1 AND number = ?2`, h.session, c.Number)
		return err
	}
	switch {
	case len(m.Texts) == 0:
		return domain.ErrNotFound
	case len(c.Texts) > len(m.Texts):
		return domain.ErrTooLong
	}
	for i, item := range m.Texts {
		if i >= len(c.Texts) {
			if err := retractShown(t, item); err != nil {
				return err
			}
			continue
		}
		if item, err = shown(t, item); err != nil {
			return err
		}
		change := c.Texts[i]
		change.Edits, change.OrSend, change.Kept, change.ReplyTo = item, true, true, ""
		if m.Texts[i], err = delivery.Post(t, 0, []domain.OutboxItem{change}); err != nil {
			return err
		}
	}
	m.Texts = m.Texts[:len(c.Texts)]
	m.Labels = c.Labels
	texts, _, labels, err := encodeAgentMessage(m)
	if err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE agent_messages SET texts = ?3, labels = ?4 WHERE session = ?1 AND number = ?2`, h.session,
		c.Number, texts, labels)
	return err
}

// shown returns the item whose message an item changes, if the change waits and is taken back; else the item.
func shown(t *engine.Tx, item int64) (int64, error) {
	var to chat.Address
	var edits int64
	err := t.Row(`SELECT channel, chat, thread, edits FROM outbox WHERE id = ?1`, []any{item}, &to.Channel, &to.Chat, &to.Thread, &edits)
	if err != nil || edits == 0 {
		return item, engine.NoRows(err)
	}
	if gone, err := delivery.TakeBack(t, item, to); err != nil || !gone {
		return item, err
	}
	return shown(t, edits)
}

func retractShown(t *engine.Tx, item int64) error {
	item, err := shown(t, item)
	if err != nil {
		return err
	}
	return delivery.Retract(t, item)
}

// AgentMessage returns a message that the agent has sent to a session by a tool. The error is [domain.ErrNotFound] if there is
// none of this number.
func (s *Store) AgentMessage(ctx context.Context, session string, number int64) (domain.AgentMessage, error) {
	return agentMessage(s.db.View(ctx), `session = ?1 AND number = ?2`, session, number)
}

// AgentMessageByToken returns a message that the agent has sent by a tool, by its token, as [Store.AgentMessage] does.
func (s *Store) AgentMessageByToken(ctx context.Context, token string) (domain.AgentMessage, error) {
	return agentMessage(s.db.View(ctx), `key = ?1`, token)
}

func agentMessage(q engine.Querier, where string, args ...any) (m domain.AgentMessage, err error) {
	var texts, files, labels string
	err = q.Row(`SELECT session, number, key, texts, files, labels FROM agent_messages WHERE `+where, args, &m.Session,
		&m.Number, &m.Token, &texts, &files, &labels)
	if errors.Is(err, sql.ErrNoRows) {
		return m, domain.ErrNotFound
	}
	if err != nil {
		return m, fmt.Errorf("a message of the agent: %w", err)
	}
	return m, errors.Join(json.Unmarshal([]byte(texts), &m.Texts), json.Unmarshal([]byte(files), &m.Files),
		json.Unmarshal([]byte(labels), &m.Labels))
}

func encodeAgentMessage(m domain.AgentMessage) (texts, files, labels string, err error) {
	encode := func(value any) string {
		raw, failed := json.Marshal(value)
		err = errors.Join(err, failed)
		return string(raw)
	}
	texts, files, labels = encode(m.Texts), encode(m.Files), encode(m.Labels)
	return texts, files, labels, err
}

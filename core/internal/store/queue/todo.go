package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// SetTodos records what the agent plans to do in the conversation of a run, at most [domain.MaxTodos]. The error is [domain.ErrFenced] for
// a run that has lost its lane. A power failure may undo it, as [Store.Consumed].
func (s *Store) SetTodos(ctx context.Context, runID int64, list []domain.Todo) error {
	encoded, err := json.Marshal(list[:min(len(list), domain.MaxTodos)])
	if err != nil {
		return fmt.Errorf("set todos: %w", err)
	}
	return engine.ChangeSoftly(ctx, s.db, "set todos", func(t *engine.Tx) error {
		h, err := fence(t, runID)
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE claude_sessions SET todos = ?4 WHERE id =
			(SELECT claude_session FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3)`, h.session, h.lane, h.seq, string(encoded))
		return err
	})
}

// Todos returns what the agent plans to do in a conversation, by its claude session; nil: it has made no list.
func (s *Store) Todos(ctx context.Context, claude string) (list []domain.Todo, err error) {
	var encoded string
	if err = engine.NoRows(s.db.View(ctx).Row(`SELECT todos FROM claude_sessions WHERE id = ?1`, []any{claude}, &encoded)); err == nil && encoded != "" {
		err = json.Unmarshal([]byte(encoded), &list)
	}
	if err != nil {
		return nil, fmt.Errorf("todos: %w", err)
	}
	return list, nil
}

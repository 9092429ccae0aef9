package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// toolUses bounds the stored tool uses of a session: the last ones.
const toolUses = 100

// NoteToolUse stores a use of a tool in a session. The last 100 of each session are kept, for 30 days.
func (s *Store) NoteToolUse(ctx context.Context, session string, u domain.ToolUse) error {
	return engine.Change(ctx, s.db, "note a use of a tool", func(t *engine.Tx) error {
		_, err := t.Exec(`INSERT INTO tool_uses (session, turn, plugin, tool, used_at, took, failed, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
			session, u.Turn, u.Plugin, u.Tool, engine.Millis(u.At), u.Took.Milliseconds(), u.Failed, string(u.Details))
		if err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM tool_uses WHERE session = ?1 AND id <=
			(SELECT id FROM tool_uses WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2 + 0)`, session, toolUses)
		return err
	})
}

// ToolUses returns a session's stored tool uses, oldest first.
func (s *Store) ToolUses(ctx context.Context, session string) ([]domain.ToolUse, error) {
	var list []domain.ToolUse
	err := s.db.View(ctx).Each(`SELECT turn, plugin, tool, used_at, took, failed, details FROM tool_uses WHERE session = ?1 ORDER BY id DESC LIMIT ?2 + 0`,
		[]any{session, toolUses}, func(rows engine.Rows) error {
			var u domain.ToolUse
			var at, took int64
			var details string
			if err := rows.Scan(&u.Turn, &u.Plugin, &u.Tool, &at, &took, &u.Failed, &details); err != nil {
				return err
			}
			u.At, u.Took, u.Details = engine.Moment(at), time.Duration(took)*time.Millisecond, json.RawMessage(details)
			list = append(list, u)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("uses of tools: %w", err)
	}
	slices.Reverse(list)
	return list, nil
}

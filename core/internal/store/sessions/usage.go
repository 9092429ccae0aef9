package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// RecordUsage adds the cost of a turn whose run lost its lane, and so could not be completed, to its session and day.
func (s *Store) RecordUsage(ctx context.Context, session, claudeSession string, f domain.TurnFigures) error {
	return engine.Change(ctx, s.db, "spent", func(t *engine.Tx) error { return AddFigures(t, session, claudeSession, f) })
}

// AddFigures adds the cost of a turn. Figures about the claude session apply to the turn's own, which may have been
// replaced meanwhile.
func AddFigures(t *engine.Tx, session, claude string, f domain.TurnFigures) error {
	u, measured := f.Usage, claude
	if f.Model == "" && f.ContextTokens == 0 {
		measured = "" // it used no model
	}
	_, err := t.Exec(`UPDATE sessions SET turns = turns + ?2, input_tokens = input_tokens + ?3, cache_tokens = cache_tokens + ?4,
			output_tokens = output_tokens + ?5, cost_micros = cost_micros + ?6,
			model = CASE WHEN claude_session = ?7 THEN ?8 ELSE model END,
			context_tokens = CASE WHEN claude_session = ?7 THEN ?9 ELSE context_tokens END,
			context_window = CASE WHEN claude_session = ?7 THEN ?10 ELSE context_window END,
			flushed_at = CASE WHEN ?11 THEN ?12 ELSE flushed_at END
		WHERE key = ?1`,
		session, u.Turns, u.InputTokens, u.CacheTokens, u.OutputTokens, u.CostMicros,
		measured, f.Model, f.ContextTokens, f.ContextWindow, f.Flush, t.Now)
	if err != nil {
		return err
	}
	if f.Day != "" {
		_, err = t.Exec(`INSERT INTO usage_days (day, model, turns, input_tokens, cache_tokens, output_tokens, cost_micros)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (day, model) DO UPDATE SET turns = usage_days.turns + excluded.turns,
				input_tokens = usage_days.input_tokens + excluded.input_tokens, cache_tokens = usage_days.cache_tokens + excluded.cache_tokens,
				output_tokens = usage_days.output_tokens + excluded.output_tokens, cost_micros = usage_days.cost_micros + excluded.cost_micros`,
			f.Day, f.Model, u.Turns, u.InputTokens, u.CacheTokens, u.OutputTokens, u.CostMicros)
		if err != nil {
			return err
		}
	}
	if err := addSpending(t, f.Accounts, u); err != nil {
		return err
	}
	if f.Compactions > 0 || f.Given != nil {
		var given []byte
		if f.Compactions == 0 {
			if given, err = json.Marshal(f.Given); err != nil {
				return err
			}
		}
		if _, err := t.Exec(`UPDATE claude_sessions SET given = ?2 WHERE id = ?1`, claude, string(given)); err != nil {
			return err
		}
	}
	if f.Compactions > 0 || f.Flush {
		_, err = t.Exec(`UPDATE claude_sessions SET flushed = CASE WHEN ?3 THEN compactions + 1 ELSE flushed END, compactions = compactions + ?2
			WHERE id = ?1`, claude, f.Compactions, f.Flush)
		if err != nil {
			return err
		}
	}
	return nil
}

// UsageByDay returns the usage of each model on each day from a day on, such as "2026-03-15", in order; the last 1000
// of them.
func (s *Store) UsageByDay(ctx context.Context, from string) ([]domain.DayUsage, error) {
	var days []domain.DayUsage
	err := s.db.View(ctx).Each(`SELECT day, model, turns, input_tokens, cache_tokens, output_tokens, cost_micros FROM usage_days
		WHERE day >= ?1 ORDER BY day DESC, model DESC LIMIT ?2 + 0`, []any{from, engine.MaxRows}, func(rows engine.Rows) error {
		var d domain.DayUsage
		u := &d.Usage
		if err := rows.Scan(&d.Day, &d.Model, &u.Turns, &u.InputTokens, &u.CacheTokens, &u.OutputTokens, &u.CostMicros); err != nil {
			return err
		}
		days = append(days, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("usage by day: %w", err)
	}
	slices.Reverse(days)
	return days, nil
}

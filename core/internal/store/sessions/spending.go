package sessions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// addSpending adds the cost of a turn to the accounts of the budgets that it counts for.
func addSpending(t *engine.Tx, accounts []domain.Account, u domain.Usage) error {
	amount := u.Amount()
	for _, a := range accounts {
		_, err := t.Exec(`INSERT INTO spending (per, subject, period, turns, cost_micros, tokens, changed_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (per, subject, period) DO UPDATE SET turns = spending.turns + excluded.turns,
				cost_micros = spending.cost_micros + excluded.cost_micros, tokens = spending.tokens + excluded.tokens,
				changed_at = excluded.changed_at`,
			a.Per, a.Subject, a.Period, u.Turns, amount.CostMicros, amount.Tokens, t.Now)
		if err != nil {
			return err
		}
	}
	return nil
}

// Spent returns what was spent of these accounts, in their order.
func (s *Store) Spent(ctx context.Context, accounts []domain.Account) ([]domain.Spending, error) {
	v := s.db.View(ctx)
	list := make([]domain.Spending, len(accounts))
	for i, a := range accounts {
		list[i].Account = a
		err := v.Row(`SELECT turns, cost_micros, tokens FROM spending WHERE per = ?1 AND subject = ?2 AND period = ?3`,
			[]any{a.Per, a.Subject, a.Period}, &list[i].Turns, &list[i].CostMicros, &list[i].Tokens)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("spent: %w", err)
		}
	}
	return list, nil
}

// Spending returns what was spent by everybody in some of the kept periods, the most expensive first; at most 1000 accounts
// in each.
func (s *Store) Spending(ctx context.Context, periods ...string) ([]domain.Spending, error) {
	var list []domain.Spending
	for _, period := range periods {
		err := s.db.View(ctx).Each(`SELECT per, subject, period, turns, cost_micros, tokens FROM spending WHERE period = ?1
			ORDER BY cost_micros DESC, tokens DESC, per, subject LIMIT ?2 + 0`, []any{period, engine.MaxRows}, func(rows engine.Rows) error {
			var s domain.Spending
			if err := rows.Scan(&s.Per, &s.Subject, &s.Period, &s.Turns, &s.CostMicros, &s.Tokens); err != nil {
				return err
			}
			list = append(list, s)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("spending: %w", err)
		}
	}
	return list, nil
}

// Lifted reports whether a budget is lifted for a day.
func (s *Store) Lifted(ctx context.Context, lift domain.Lift) (bool, error) {
	lifted, err := Lifted(s.db.View(ctx), lift)
	if err != nil {
		return false, fmt.Errorf("lifted: %w", err)
	}
	return lifted, nil
}

// Lifted reports whether a budget is lifted for a day.
func Lifted(q engine.Querier, lift domain.Lift) (lifted bool, err error) {
	err = q.Row(`SELECT EXISTS (SELECT 1 FROM lifts WHERE budget = ?1 AND day = ?2)`, []any{lift.Budget, lift.Day}, &lifted)
	return lifted, err
}

package spending

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// Turn is a turn that wants to begin.
type Turn struct {
	// UsedUp is the budget that keeps it from beginning: of several, the one whose period ends last; nil: none.
	UsedUp *domain.Budget
	// Busy reports that the turns that run now may use up what is left of a budget: it may begin when one of them has ended.
	Busy bool

	budgets  *Budgets
	accounts []domain.Account
	estimate domain.Amount
}

// Begin decides whether a turn may begin: for each of its budgets, what was spent and what the running turns are estimated
// to cost must be less than the limit. A turn that may begin has begun: its estimate counts until [Turn.End].
//
// A turn is estimated to cost what the turns of its session, or of one of its budgets in this period, have cost on average: the
// largest of these. One that Claude has read has begun earlier, and continues whatever was spent.
func (b *Budgets) Begin(ctx context.Context, run *conversation.Run) (*Turn, error) {
	t := &Turn{budgets: b}
	list := b.of(run.Session, run.Head.Message.Channel, run.Head.Message.Sender)
	if len(list) == 0 {
		return t, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A turn that ends is first counted by the store, then its estimate ends: with the lock, it is counted at least once.
	if err := b.fill(ctx, list); err != nil {
		return nil, err
	}
	t.estimate = larger(leastCost, average(run.Session.Usage.Amount(), run.Session.Usage.Turns))
	for i, budget := range list {
		t.estimate = larger(t.estimate, average(budget.Amount, budget.Turns))
		switch {
		case !run.Head.ConsumedAt.IsZero(), budget.Lifted:
		case budget.UsedUp():
			if t.UsedUp == nil || budget.Until.After(t.UsedUp.Until) {
				t.UsedUp = &list[i]
			}
		case budget.Plus(b.running[budget.Account]).Reaches(budget.Limit):
			t.Busy = true
		}
	}
	if t.UsedUp != nil || t.Busy {
		return t, nil
	}
	t.accounts = accounts(list)
	for _, a := range t.accounts {
		b.running[a] = b.running[a].Plus(t.estimate)
	}
	return t, nil
}

// End ends the estimate of a turn, if it has begun. What it has cost must have been recorded.
func (t *Turn) End() {
	b := t.budgets
	if len(t.accounts) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range t.accounts {
		b.running[a] = b.running[a].Plus(domain.Amount{CostMicros: -t.estimate.CostMicros, Tokens: -t.estimate.Tokens})
		if b.running[a] == (domain.Amount{}) {
			delete(b.running, a)
		}
	}
	t.accounts = nil
}

// average is what one of several turns has cost.
func average(total domain.Amount, turns int64) domain.Amount {
	if turns == 0 {
		return domain.Amount{}
	}
	return domain.Amount{CostMicros: total.CostMicros / turns, Tokens: total.Tokens / turns}
}

// larger is the larger of two amounts, of money and of tokens.
func larger(a, b domain.Amount) domain.Amount {
	return domain.Amount{CostMicros: max(a.CostMicros, b.CostMicros), Tokens: max(a.Tokens, b.Tokens)}
}

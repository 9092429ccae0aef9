package spending

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Agent is what the turns of an agent have cost.
type Agent struct {
	Label         string
	Today, Recent domain.Spending // Recent is of several days, today included
}

// Agents returns what each agent has cost today and in the last days, main first; nil if there is only one. What was spent while
// there was only one is not known.
func (b *Budgets) Agents(ctx context.Context, days int) ([]Agent, error) {
	if b == nil || !b.conversations.Several() {
		return nil, nil
	}
	now := time.Now().In(b.zone)
	var list []Agent
	for _, a := range b.conversations.Agents() {
		asked := make([]domain.Account, days)
		for i := range asked {
			asked[i] = ofDay(a.Label, now.AddDate(0, 0, -i))
		}
		spent, err := b.store.Spent(ctx, asked)
		if err != nil {
			return nil, err
		}
		of := Agent{Label: a.Label, Today: spent[0]}
		for _, day := range spent {
			of.Recent.Turns += day.Turns
			of.Recent.Amount = of.Recent.Plus(day.Amount)
		}
		list = append(list, of)
	}
	return list, nil
}

// ofDay is the account of an agent for a day. It is that of a budget per agent.
func ofDay(agent string, day time.Time) domain.Account {
	return domain.Account{Per: domain.PerAgent, Subject: agent, Period: day.Format(time.DateOnly)}
}

package command

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// budget lists the budgets of everybody, or lifts one for today.
func (d hostCommands) budget(ctx context.Context, call Call) (string, error) {
	words := strings.Fields(call.Args)
	switch {
	case len(words) == 0 && call.Caller.Kind != chat.Direct:
		return wording.CommandOnlyInDirect("budget"), nil
	case len(words) == 0:
		all, err := d.host.Budgets.All(ctx)
		if err != nil {
			return "", err
		}
		return wording.Budgets(all, d.host.Now().In(d.host.Zone)), nil
	case len(words) != 2 || !strings.EqualFold(words[0], "lift"):
		return wording.UnknownArgument("budget", call.Args, wording.BudgetOptions), nil
	}
	lifted, known, err := d.host.Budgets.Lift(ctx, words[1])
	if err != nil || !known {
		return wording.NoBudget, err
	}
	d.host.Log.Info("a budget is lifted for today", "budget", lifted.Code, "per", lifted.Per, "by", who(call.Caller))
	return wording.BudgetLifted(lifted, d.host.Now()), nil
}

// budgets are those that apply to a caller: owners see all of them, others only their own and their conversation's.
func (d hostCommands) budgets(ctx context.Context, call Call) ([]domain.Budget, error) {
	all, err := d.host.Budgets.Of(ctx, call.Session, call.Caller)
	if err != nil || call.Caller.Authority >= chat.Owner {
		return all, err
	}
	var own []domain.Budget
	for _, b := range all {
		if b.Per == domain.PerPerson || b.Per == domain.PerSession {
			own = append(own, b)
		}
	}
	return own, nil
}

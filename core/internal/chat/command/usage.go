package command

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// week is how many days /usage looks back, today included.
const week = 7

// planPatience is how long /usage waits for what Claude Code says of its login's plan.
const planPatience = 2 * time.Second

// usage shows what was used, or sets the footer of answers. Only owners see the usage of all sessions.
func (d hostCommands) usage(ctx context.Context, call Call) (string, error) {
	if call.Args != "" {
		return d.choose(ctx, call, usage)
	}
	shown := wording.Usage{Session: call.Session.Usage, Now: d.host.Now().In(d.host.Zone), Footer: usage.is(usage.now(d.effective(call)))}
	var err error
	if shown.Budgets, err = d.budgets(ctx, call); err != nil {
		return "", err
	}
	if call.Caller.Authority >= chat.Owner {
		if err := d.allUsage(ctx, &shown); err != nil {
			return "", err
		}
		agents, err := d.host.Budgets.Agents(ctx, week)
		if err != nil {
			return "", err
		}
		for _, a := range agents {
			shown.Agents = append(shown.Agents, wording.AgentUsage{Agent: a.Label, Today: a.Today, Recent: a.Recent})
		}
		asking, cancel := context.WithTimeout(ctx, planPatience)
		defer cancel()
		shown.Plan = d.host.Claude.Plan(asking, d.effective(call).Agent.Label)
	}
	return shown.String(), nil
}

func (d hostCommands) allUsage(ctx context.Context, shown *wording.Usage) error {
	today := d.today().Format(time.DateOnly)
	days, err := d.store.UsageByDay(ctx, d.today().AddDate(0, 0, 1-week).Format(time.DateOnly))
	if err != nil {
		return err
	}
	shown.Everywhere, shown.Days = true, week
	byModel := map[string]domain.Usage{}
	for _, day := range days {
		shown.Recent = add(shown.Recent, day.Usage)
		byModel[day.Model] = add(byModel[day.Model], day.Usage)
		if day.Day == today {
			shown.Today = add(shown.Today, day.Usage)
		}
	}
	for model, used := range byModel {
		if counted(used) {
			shown.Models = append(shown.Models, wording.ModelUsage{Model: model, Usage: used})
		}
	}
	slices.SortFunc(shown.Models, func(a, b wording.ModelUsage) int {
		return cmp.Or(cmp.Compare(b.Usage.CostMicros, a.Usage.CostMicros), strings.Compare(a.Model, b.Model))
	})
	return nil
}

// counted reports whether a model has worked: a turn of the host alone, or one that failed at once, has used nothing.
func counted(u domain.Usage) bool { return u.InputTokens+u.CacheTokens+u.OutputTokens+u.CostMicros > 0 }

func add(a, b domain.Usage) domain.Usage {
	return domain.Usage{
		Turns: a.Turns + b.Turns, InputTokens: a.InputTokens + b.InputTokens, CacheTokens: a.CacheTokens + b.CacheTokens,
		OutputTokens: a.OutputTokens + b.OutputTokens, CostMicros: a.CostMicros + b.CostMicros,
	}
}

package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// week is how many days /usage looks back, today included.
const week = 7

// usage tells what was used, or sets what stands below each answer. What all sessions used is told to owners only.
func (d desk) usage(ctx context.Context, call Call) (string, error) {
	if call.Args != "" {
		return d.choose(ctx, call, usage)
	}
	var b strings.Builder
	b.WriteString("**Usage**\n")
	fmt.Fprintf(&b, "\n- this conversation: %s", spent(call.Session.Usage))
	if call.Caller.Authority >= chat.Owner {
		if err := d.allUsage(ctx, &b); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(&b, "\n\n%s is %s. %s", usage.title, usage.said(usage.now(d.effective(call))), usage.options())
	return b.String(), nil
}

func (d desk) allUsage(ctx context.Context, b *strings.Builder) error {
	today := d.today().Format(time.DateOnly)
	days, err := d.store.UsageByDay(ctx, d.today().AddDate(0, 0, 1-week).Format(time.DateOnly))
	if err != nil {
		return err
	}
	var ofToday, ofWeek domain.Usage
	byModel := map[string]domain.Usage{}
	for _, day := range days {
		ofWeek = add(ofWeek, day.Usage)
		byModel[day.Model] = add(byModel[day.Model], day.Usage)
		if day.Day == today {
			ofToday = add(ofToday, day.Usage)
		}
	}
	fmt.Fprintf(b, "\n- today, everywhere: %s", spent(ofToday))
	fmt.Fprintf(b, "\n- last %d days, everywhere: %s", week, spent(ofWeek))
	models := slices.SortedFunc(maps.Keys(byModel), func(a, b string) int {
		return cmp.Or(cmp.Compare(byModel[b].CostMicros, byModel[a].CostMicros), strings.Compare(a, b))
	})
	models = slices.DeleteFunc(models, func(model string) bool { return !counted(byModel[model]) })
	for _, model := range models[:min(len(models), 10)] {
		fmt.Fprintf(b, "\n  - %s: %s", or(oneLine(model, 80), "unknown model"), spent(byModel[model]))
	}
	return nil
}

// counted reports whether a model has worked: a turn of the host's alone, or one that failed at once, has used nothing.
func counted(u domain.Usage) bool { return u.InputTokens+u.CacheTokens+u.OutputTokens+u.CostMicros > 0 }

func add(a, b domain.Usage) domain.Usage {
	return domain.Usage{
		Turns: a.Turns + b.Turns, InputTokens: a.InputTokens + b.InputTokens, CacheTokens: a.CacheTokens + b.CacheTokens,
		OutputTokens: a.OutputTokens + b.OutputTokens, CostMicros: a.CostMicros + b.CostMicros,
	}
}

// Package spending compares what turns cost with the budgets of the config. The store counts what ended turns have cost; this
// package also knows which turns run, and estimates their costs. Of several agents it knows what each has cost.
package spending

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// leastCost is what a running turn is estimated to cost at least.
var leastCost = domain.Amount{CostMicros: 10_000, Tokens: 1000}

// Store is what the budgets need of the store.
type Store interface {
	Spent(ctx context.Context, accounts []domain.Account) ([]domain.Spending, error)
	Spending(ctx context.Context, periods ...string) ([]domain.Spending, error)
	Lift(ctx context.Context, lift domain.Lift) error
	Lifted(ctx context.Context, lift domain.Lift) (bool, error)
}

// Budgets are the budgets of the config; none, if it is nil. It is safe for concurrent use.
type Budgets struct {
	limits        *config.Derived[[]limit]
	store         Store
	conversations *conversation.Resolver
	zone          *time.Location

	mu      sync.Mutex
	running map[domain.Account]domain.Amount // estimates of the running turns
}

// limit is one limit of a budget.
type limit struct {
	per     domain.Per
	monthly bool
	amount  domain.Amount
}

// New returns the budgets of a config. Days and months are of the agent's time zone.
func New(c config.Getter, s Store, conversations *conversation.Resolver) *Budgets {
	return &Budgets{
		limits: config.Derive(c, limits), store: s, conversations: conversations, zone: c.Get().Agent.Timezone,
		running: map[domain.Account]domain.Amount{},
	}
}

// limits are those of a config's budgets.
func limits(c *config.Config) (list []limit) {
	for _, budget := range c.Budgets {
		for _, l := range []limit{{budget.Per, false, budget.Daily}, {budget.Per, true, budget.Monthly}} {
			if l.amount != (domain.Amount{}) {
				list = append(list, l)
			}
		}
	}
	return list
}

// of returns the budget of a limit for a subject at a time of the agent's zone.
func (l limit) of(subject string, now time.Time) domain.Budget {
	day := now.Format(time.DateOnly)
	ends := session.Midnight(now.Year(), now.Month(), now.Day()+1, now.Location())
	b := domain.Budget{Limit: l.amount, Monthly: l.monthly, Until: ends, Day: day, DayEnds: ends}
	b.Account = domain.Account{Per: l.per, Subject: subject, Period: day}
	period := "day"
	if l.monthly {
		b.Until = session.Midnight(now.Year(), now.Month()+1, 1, now.Location())
		b.Period = now.Format(monthOnly)
		period = "month"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(l.per), subject, period, l.amount.String()}, "\x00")))
	b.Code = strings.ToUpper(hex.EncodeToString(sum[:4]))
	return b
}

// monthOnly is the layout of a month.
const monthOnly = "2006-01"

// subject is whose turns one of a person in a session counts to; false: nobody's.
func (b *Budgets) subject(per domain.Per, s domain.Session, channel string, sender chat.Sender) (string, bool) {
	switch per {
	case domain.PerSession:
		return s.Key, true
	case domain.PerAgent:
		return session.AgentOf(s.Key), true
	case domain.PerPerson:
		if sender.ID == "" { // as of the heartbeat, which runs as the person of its chat
			if len(s.Peer) == 0 {
				return "", false
			}
			sender = chat.Sender{ID: s.Peer[0], Aliases: s.Peer[1:]}
		}
		links := session.Links(b.conversations.Settings(channel).Session.IdentityLinks)
		return session.Of(session.PerPeer, channel, chat.Chat{Kind: chat.Direct}, "", sender, links).Key(), true
	default:
		return "", true
	}
}

// of returns the budgets that apply to a person in a session, without what was spent.
func (b *Budgets) of(s domain.Session, channel string, sender chat.Sender) []domain.Budget {
	if b == nil {
		return nil
	}
	var list []domain.Budget
	now := time.Now().In(b.zone)
	for _, l := range b.limits.Get() {
		if subject, ok := b.subject(l.per, s, channel, sender); ok {
			list = append(list, l.of(subject, now))
		}
	}
	return list
}

// Accounts returns the accounts that a turn counts for which ends now: those of its budgets, and, if there are several agents, that of
// its agent for the day.
func (b *Budgets) Accounts(run *conversation.Run) []domain.Account {
	list := accounts(b.of(run.Session, run.Head.Message.Channel, run.Head.Message.Sender))
	if b == nil || !b.conversations.Several() {
		return list
	}
	today := ofDay(session.AgentOf(run.Session.Key), time.Now().In(b.zone))
	if slices.Contains(list, today) {
		return list
	}
	return append(list, today)
}

// accounts returns the accounts of budgets, each once.
func accounts(budgets []domain.Budget) []domain.Account {
	var list []domain.Account
	for _, budget := range budgets {
		if !slices.Contains(list, budget.Account) {
			list = append(list, budget.Account)
		}
	}
	return list
}

// Of returns the budgets that apply to a person in a session.
func (b *Budgets) Of(ctx context.Context, s domain.Session, caller chat.Caller) ([]domain.Budget, error) {
	list := b.of(s, caller.Address.Channel, caller.Sender)
	return list, b.fill(ctx, list)
}

// All returns the budgets of all subjects that have spent something of them in this period: those used up to the largest part first.
func (b *Budgets) All(ctx context.Context) ([]domain.Budget, error) {
	if b == nil || len(b.limits.Get()) == 0 {
		return nil, nil
	}
	now := time.Now().In(b.zone)
	spent, err := b.store.Spending(ctx, now.Format(time.DateOnly), now.Format(monthOnly))
	if err != nil {
		return nil, err
	}
	var list []domain.Budget
	for _, s := range spent {
		for _, l := range b.limits.Get() {
			if budget := l.of(s.Subject, now); budget.Account == s.Account {
				budget.Spending = s
				list = append(list, budget)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b domain.Budget) int { return cmp.Compare(part(b), part(a)) })
	return list, b.lifted(ctx, list)
}

// part is which part of the budget is spent.
func part(b domain.Budget) float64 {
	if b.Limit.CostMicros > 0 {
		return float64(b.CostMicros) / float64(b.Limit.CostMicros)
	}
	return float64(b.Tokens) / float64(b.Limit.Tokens)
}

// Lift lifts a budget for today by its code, and lets the messages that wait for it go on. It reports false if no subject has spent
// something of a budget with this code.
func (b *Budgets) Lift(ctx context.Context, code string) (domain.Budget, bool, error) {
	all, err := b.All(ctx)
	if err != nil {
		return domain.Budget{}, false, err
	}
	i := slices.IndexFunc(all, func(b domain.Budget) bool { return strings.EqualFold(b.Code, code) })
	if i < 0 {
		return domain.Budget{}, false, nil
	}
	return all[i], true, b.store.Lift(ctx, all[i].Lift())
}

// fill adds what was spent of the budgets, and whether they are lifted.
func (b *Budgets) fill(ctx context.Context, list []domain.Budget) error {
	if len(list) == 0 {
		return nil
	}
	all := accounts(list)
	spent, err := b.store.Spent(ctx, all)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Spending = spent[slices.Index(all, list[i].Account)]
	}
	return b.lifted(ctx, list)
}

// lifted notes which of the budgets that are used up are lifted.
func (b *Budgets) lifted(ctx context.Context, list []domain.Budget) (err error) {
	for i := range list {
		if budget := &list[i]; budget.Reaches(budget.Limit) {
			if budget.Lifted, err = b.store.Lifted(ctx, budget.Lift()); err != nil {
				return err
			}
		}
	}
	return nil
}

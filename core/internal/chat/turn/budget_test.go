package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

var (
	dollar  = domain.Amount{CostMicros: 1_000_000}
	tokens9 = domain.Amount{Tokens: 9}
)

// budgets configures budgets.
func budgets(list ...config.Budget) func(*config.Config) {
	return func(c *config.Config) { c.Budgets = list }
}

// A turn that would begin beyond a budget does not: its message waits until the budget's next period, or it fails if that is too
// far away, no one waits for it, or others would wait behind it. Chat and owners are told once.
// Behaviour: budget, budget-told, budget-period.
func TestBudgetUsedUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget  config.Budget
		on      int // the day of the month; 0: the first
		origin  domain.Origin
		silent  bool
		session string // empty: Bob's direct chat
		columns int
		wait    time.Duration // zero: the turn fails
		said    string
		buttons string
		owners  int
	}{
		"a person's day":               {budget: config.Budget{Per: domain.PerPerson, Daily: dollar}, columns: 2, wait: 24 * time.Hour, said: "Your budget of $1 a day is used up until 00:00 UTC on Sunday, 2 January. I answer this then. Owners can lift it for today.", buttons: "Lift for today Drop", owners: 1},
		"tokens of a conversation":     {budget: config.Budget{Per: domain.PerSession, Daily: tokens9}, columns: 1, wait: 24 * time.Hour, said: "This conversation's budget of 9 tokens a day is used up until 00:00 UTC on Sunday, 2 January. I answer this then. Owners can lift it for today.", buttons: "Lift for today", owners: 1},
		"an agent's, without buttons":  {budget: config.Budget{Per: domain.PerAgent, Daily: dollar}, wait: 24 * time.Hour, said: "This agent's budget of $1 a day is used up until 00:00 UTC on Sunday, 2 January. I answer this then. Owners can lift it for today: `/budget lift ", owners: 1},
		"a month that ends soon":       {budget: config.Budget{Per: domain.PerAll, Monthly: dollar}, on: 25, columns: 2, wait: 7 * 24 * time.Hour, said: "The budget of all conversations of $1 a month is used up until 00:00 UTC on Tuesday, 1 February. I answer this then.", buttons: "Lift for today Drop", owners: 1},
		"a month that does not":        {budget: config.Budget{Per: domain.PerAll, Monthly: dollar}, columns: 2, said: "The budget of all conversations of $1 a month is used up until 00:00 UTC on Tuesday, 1 February. Send your message again then. Owners can lift it for today.", buttons: "Lift for today", owners: 1},
		"the later end of two":         {budget: config.Budget{Per: domain.PerAll, Daily: dollar, Monthly: dollar}, columns: 2, said: "The budget of all conversations of $1 a month is used up until", buttons: "Lift for today", owners: 1},
		"a person's in a group":        {budget: config.Budget{Per: domain.PerPerson, Daily: dollar}, session: "telegram:group:7", columns: 2, said: "Your budget of $1 a day is used up until 00:00 UTC on Sunday, 2 January. Send your message again then.", buttons: "Lift for today", owners: 1},
		"a group's":                    {budget: config.Budget{Per: domain.PerSession, Daily: dollar}, session: "telegram:group:7", columns: 2, wait: 24 * time.Hour, said: "This conversation's budget", buttons: "Lift for today Drop", owners: 1},
		"a person's in everybody's":    {budget: config.Budget{Per: domain.PerPerson, Daily: dollar}, session: "main", columns: 2, said: "Your budget", buttons: "Lift for today", owners: 1},
		"a person's over all channels": {budget: config.Budget{Per: domain.PerPerson, Daily: dollar}, session: "peer:bob", columns: 2, wait: 24 * time.Hour, said: "Your budget", buttons: "Lift for today Drop", owners: 1},
		"nothing is said":              {budget: config.Budget{Per: domain.PerAll, Daily: dollar}, silent: true, wait: 24 * time.Hour, owners: 1},
		"a plugin's turn":              {budget: config.Budget{Per: domain.PerAll, Daily: dollar}, origin: domain.OriginPlugin, wait: 24 * time.Hour, said: "The budget", owners: 1},
		"a heartbeat":                  {budget: config.Budget{Per: domain.PerAll, Daily: dollar}, origin: domain.OriginHeartbeat, owners: 1},
		"a memory flush":               {budget: config.Budget{Per: domain.PerAll, Daily: dollar}, origin: domain.OriginFlush, owners: 1},
		"a compaction":                 {budget: config.Budget{Per: domain.PerAll, Daily: dollar}, origin: domain.OriginCompact, said: "The budget of all conversations of $1 a day is used up until 00:00 UTC on Sunday, 2 January. Send your message again then.", owners: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if test.on > 0 {
					time.Sleep(time.Duration(test.on-1) * 24 * time.Hour)
				}
				r := open(t, budgets(test.budget))
				r.report(chat.Limits{Buttons: chat.ButtonLimits{Rows: min(test.columns, 1), Columns: test.columns}})
				r.plays(answers(agent.Result{Text: "hi", CostMicros: 1_000_000, CacheTokens: 9}))
				say := func(m domain.Message) {
					in := r.inbound(m)
					if test.session != "" {
						in.Session = test.session
					}
					storetest.Accept(t, r.store, in)
				}
				say(message("the first"))
				r.run(t)
				synctest.Wait()
				storetest.Sent(t, r.store, "telegram")
				m := message("hello")
				m.Origin, m.Silent = test.origin, test.silent
				say(m)
				synctest.Wait()
				if test.wait == 0 {
					if o := r.outcome(t); o.State != domain.RunFailed {
						t.Errorf("it ends as %+v", o)
					}
					say(m) // which is not told again
					synctest.Wait()
				}
				r.restart(t) // which does not end the wait
				var said, buttons string
				owners := 0
				for _, item := range storetest.Sent(t, r.store, "telegram") {
					if item.To.Chat == "anna" {
						owners++
						continue
					}
					if said += item.Text; item.Buttons != nil {
						for _, b := range slices.Concat(item.Buttons...) {
							buttons += " " + b.Label
						}
					}
				}
				if !strings.HasPrefix(said, test.said) || (said == "") != (test.said == "") || strings.Count(said, "used up") > 1 ||
					strings.TrimSpace(buttons) != test.buttons || owners != test.owners {
					t.Errorf("the chat is told %q with %q, owners %d times", said, buttons, owners)
				}
				if test.wait == 0 {
					if n := len(r.asked()); n != 1 {
						t.Errorf("claude did %d turns", n)
					}
					return
				}
				time.Sleep(test.wait - time.Millisecond)
				if synctest.Wait(); len(r.asked()) != 1 {
					t.Errorf("within the wait claude did %d turns", len(r.asked()))
				}
				time.Sleep(time.Millisecond)
				if synctest.Wait(); r.outcome(t).State != domain.RunDone {
					t.Errorf("then it ends as %+v", r.outcome(t))
				}
			})
		})
	}
}

// Turns that begin at the same time do not overspend together: what each may cost counts while it runs. A turn that the running
// ones leave no money for begins when they have left some.
// Behaviour: budget-reserve.
func TestBudgetOfTurnsThatRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := open(t, budgets(config.Budget{Per: domain.PerAll, Daily: domain.Amount{CostMicros: 110_000}}))
		done := make(chan struct{})
		r.plays(answers(agent.Result{Text: "hi", CostMicros: 40_000}), func(ctx context.Context, turn agent.Turn) (agent.Result, error) {
			turn.Watcher.Consumed(ctx)
			<-done
			return agent.Result{Text: "hi", CostMicros: 10_000}, nil
		})
		r.do(t, message("the first")) // it costs 4 cents, and so are the next ones expected to
		r.run(t)
		for n := range 5 {
			in := r.inbound(message("hello"))
			in.Session = fmt.Sprint("telegram:group:", n)
			storetest.Accept(t, r.store, in)
		}
		time.Sleep(time.Minute)
		if synctest.Wait(); len(r.asked()) != 1+2 { // 4 cents are spent, 4 are expected: 3 are left to begin with
			t.Errorf("claude does %d turns", len(r.asked())-1)
		}
		close(done)
		time.Sleep(time.Minute)
		synctest.Wait()
		spent, err := r.budgets.All(t.Context())
		if err != nil || len(spent) != 1 || spent[0].CostMicros != 90_000 || spent[0].UsedUp() || len(r.asked()) != 6 {
			t.Errorf("spent %+v, %v in %d turns", spent, err, len(r.asked()))
		}
		if said, owner := r.told(t); strings.Contains(strings.Join(append(said, owner...), ""), "used up") {
			t.Errorf("told %q and the owner %q", said, owner)
		}
	})
}

// Whatever ends a turn, what it has cost is counted once for the person, the session, the agent and all.
// Behaviour: budget-count, budget-person.
func TestBudgetCounts(t *testing.T) {
	t.Parallel()
	result := agent.Result{Text: "hi", InputTokens: 1, CacheTokens: 2, OutputTokens: 3, CostMicros: 4}
	by := func(channel string, ids ...chat.UserID) domain.Message {
		m := message("hello")
		m.Channel, m.Sender.ID, m.Sender.Aliases = channel, ids[0], ids[1:]
		return m
	}
	heartbeat := domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "7", Kind: chat.Direct}, Sender: chat.Sender{IsBot: true}, Origin: domain.OriginHeartbeat, Text: "look"}
	inGroup := heartbeat
	inGroup.Chat.Kind = chat.Group
	untrusted := heartbeat
	untrusted.Origin, untrusted.Authority, untrusted.Sender.DisplayName = domain.OriginPlugin, chat.Other, "webhook"
	for name, test := range map[string]struct {
		messages []domain.Message
		does     step
		person   string // for whom all are counted; empty: nobody
		cost     int64  // of each; zero: 4
	}{
		"one of them":                  {messages: []domain.Message{by("telegram", "bob"), by("telegram", "bob", "bobby")}, person: "peer:telegram:bob"},
		"linked over channels":         {messages: []domain.Message{by("telegram", "rob"), by("notes", "x", "r7")}, person: "peer:rob"},
		"one that fails":               {messages: []domain.Message{by("telegram", "bob")}, does: costs(result, agent.Failure{Class: agent.Model}), person: "peer:telegram:bob"},
		"one that is stopped":          {messages: []domain.Message{by("telegram", "bob")}, does: works(result), person: "peer:telegram:bob"},
		"one that is tried again":      {messages: []domain.Message{by("telegram", "bob")}, does: costs(result, agent.Failure{Class: agent.Rejected}), person: "peer:telegram:bob", cost: 8},
		"a heartbeat of a direct chat": {messages: []domain.Message{by("telegram", "bob", "bobby"), heartbeat}, person: "peer:telegram:bob"},
		"an untrusted text there":      {messages: []domain.Message{by("telegram", "bob", "bobby"), untrusted}, person: "peer:telegram:bob"},
		"nobody's":                     {messages: []domain.Message{inGroup}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, budgets(
				config.Budget{Per: domain.PerPerson, Daily: dollar}, config.Budget{Per: domain.PerPerson, Monthly: dollar, Daily: tokens9},
				config.Budget{Per: domain.PerSession, Daily: dollar}, config.Budget{Per: domain.PerAgent, Daily: dollar}, config.Budget{Per: domain.PerAll, Monthly: dollar},
			), func(c *config.Config) {
				c.Session.IdentityLinks = map[string][]string{"rob": {"telegram:rob", "notes:r7"}}
			})
			does := test.does
			if does == nil {
				does = answers(result)
			}
			for _, m := range test.messages {
				r.plays(does)
				r.accept(t, m)
				ctx, cancel := context.WithCancelCause(t.Context())
				if strings.Contains(name, "stopped") {
					cancel(agent.ErrStopped)
				}
				if err := r.Handle(ctx, r.claim(t), nil); err != nil && !errors.Is(err, agent.ErrStopped) {
					t.Error(err)
				}
				cancel(nil)
			}
			got := map[string]int64{}
			all, err := r.budgets.All(t.Context())
			must(t, err)
			for _, b := range all {
				got[fmt.Sprint(b.Per, " ", b.Subject, " ", len(b.Period))] = b.CostMicros
			}
			cost := max(test.cost, 4) * int64(len(test.messages))
			want := map[string]int64{"session " + session + " 10": cost, "agent main 10": cost, "all  7": cost}
			if test.person != "" {
				want["person "+test.person+" 10"], want["person "+test.person+" 7"] = cost, cost
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("spent (-want +got):\n%s", diff)
			}
		})
	}
}

// A turn that Claude has read goes on after a crash, whatever was spent meanwhile.
// Behaviour: budget-begun.
func TestBudgetOfATurnThatHasBegun(t *testing.T) {
	t.Parallel()
	r := open(t, budgets(config.Budget{Per: domain.PerAll, Daily: dollar}))
	r.accept(t, message("hello"))
	must(t, r.store.Consumed(t.Context(), r.claim(t).ID))
	must(t, r.store.RecordUsage(t.Context(), session, "", domain.TurnFigures{
		Usage: domain.Usage{CostMicros: 2_000_000}, Accounts: []domain.Account{{Per: domain.PerAll, Period: time.Now().UTC().Format(time.DateOnly)}},
	}))
	r.plays(says("hi"))
	must(t, r.Handle(t.Context(), r.crash(t), nil))
	if o := r.outcome(t); o.State != domain.RunDone {
		t.Errorf("it ends as %+v", o)
	}
	r.accept(t, message("and then"))
	if held, ok := errors.AsType[*agent.HeldError](r.Handle(t.Context(), r.claim(t), nil)); !ok || !held.Firm || held.Lift == (domain.Lift{}) {
		t.Errorf("the next one ends as %+v", held)
	}
}

// A turn that was stopped before it could begin ends as stopped: it does not wait for its budget.
// Behaviour: budget.
func TestBudgetOfAStoppedTurn(t *testing.T) {
	t.Parallel()
	r := open(t, budgets(config.Budget{Per: domain.PerAll, Daily: dollar}))
	r.begin(t, agent.Result{CostMicros: 1_000_000})
	r.accept(t, message("hello"))
	ctx, stop := context.WithCancelCause(t.Context())
	stop(agent.ErrStopped)
	r.plays(works(agent.Result{}))
	if err := r.Handle(ctx, r.claim(t), nil); !errors.Is(err, agent.ErrStopped) || r.outcome(t).State != domain.RunCancelled {
		t.Errorf("%v, it ends as %+v", err, r.outcome(t))
	}
}

// A lift lasts until the end of its day. A message that has waited for days goes on, too.
// Behaviour: budget-lift.
func TestBudgetLift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(25 * 24 * time.Hour)
		r := open(t, budgets(config.Budget{Per: domain.PerAll, Monthly: dollar}))
		r.plays(answers(agent.Result{Text: "hi", CostMicros: 1_000_000}))
		r.run(t)
		wants := func(state domain.RunState) {
			t.Helper()
			if synctest.Wait(); r.outcome(t).State != state {
				t.Errorf("on %s it ends as %+v, want %q", time.Now().Format(time.DateOnly), r.outcome(t), state)
			}
		}
		r.accept(t, message("hello"))
		wants(domain.RunDone)
		r.accept(t, message("hello"))
		wants("")
		time.Sleep(30 * time.Hour)
		wants("")
		all, err := r.budgets.All(t.Context())
		must(t, err)
		if _, known, err := r.budgets.Lift(t.Context(), "nothing"); known || err != nil {
			t.Errorf("another code is known: %v", err)
		}
		lifted, known, err := r.budgets.Lift(t.Context(), strings.ToLower(all[0].Code))
		if !known || err != nil || lifted.DayEnds.Format(time.DateTime) != "2000-01-28 00:00:00" {
			t.Errorf("lifted %+v, %v, %v", lifted, known, err)
		}
		wants(domain.RunDone)
		r.accept(t, message("hello"))
		wants(domain.RunDone)
		time.Sleep(18 * time.Hour) // it is midnight
		r.accept(t, message("hello"))
		wants("")
	})
}

package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

var (
	today = domain.Account{Per: domain.PerPerson, Subject: "peer:telegram:anna", Period: "2026-03-15"}
	month = domain.Account{Per: domain.PerAll, Period: "2026-03"}
)

// What turns cost is added to the accounts that they count for, by whichever step ends them; a turn that has lost its run is not
// counted by the step that refuses its completion.
// Behaviour: budget-count.
func TestSpending(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := domain.Usage{Turns: 1, InputTokens: 2, CacheTokens: 3, OutputTokens: 4, CostMicros: 5}
	b.turn(t, 1, domain.TurnFigures{Usage: one, Accounts: []domain.Account{today, month}})
	b.turn(t, 2, domain.TurnFigures{Usage: one, Accounts: []domain.Account{month}})
	b.turn(t, 3, domain.TurnFigures{Usage: one})
	b.accept(t, inbound("anna", 4))
	run := b.claim(t)
	figures := domain.TurnFigures{Usage: one, Accounts: []domain.Account{today}}
	done := domain.Completion{State: domain.RunFailed, Turn: &figures}
	if err := b.Complete(b.ctx, run.ID, done); err != nil {
		t.Fatal(err)
	}
	if err := b.Complete(b.ctx, run.ID, done); err == nil {
		t.Error("a run is completed twice")
	}
	if err := b.RecordUsage(b.ctx, run.Session.Key, "", figures); err != nil {
		t.Fatal(err)
	}
	other := domain.Account{Per: domain.PerPerson, Subject: "peer:telegram:bob", Period: "2026-03-15"}
	want := []domain.Spending{
		{Account: today, Turns: 3, Amount: domain.Amount{CostMicros: 15, Tokens: 27}},
		{Account: month, Turns: 2, Amount: domain.Amount{CostMicros: 10, Tokens: 18}},
		{Account: other},
	}
	got, err := b.Spent(b.ctx, []domain.Account{today, month, other})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("spent %v (-want +got):\n%s", err, diff)
	}
	got, err = b.Spending(b.ctx, "2026-03-15", "2026-03", "2026-02")
	if diff := cmp.Diff(want[:2], got); err != nil || diff != "" {
		t.Errorf("spending %v (-want +got):\n%s", err, diff)
	}
	b.clock.Advance(63 * 24 * time.Hour)
	if err := b.Purge(b.ctx, store.Ages{}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Spending(b.ctx, "2026-03-15", "2026-03"); err != nil || len(got) > 0 {
		t.Errorf("after two months %+v is kept, %v", got, err)
	}
}

// A lift ends the wait of the messages that wait for it, also of one that is held as the budget is lifted, and no others.
// Behaviour: budget-lift.
func TestLift(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		b := setup(t)
		liftOfA := domain.Lift{Budget: "A", Day: "2026-03-15"}
		until := b.clock.Now().Add(5 * time.Hour)
		hold := func(run *domain.Run, lift domain.Lift) {
			t.Helper()
			if err := b.Hold(b.ctx, run.ID, domain.Hold{Until: until, Firm: true, Lift: lift, Notice: &domain.OutboxItem{
				To: chat.Address{Channel: "telegram", Chat: "1"}, Text: "later",
			}}); err != nil {
				t.Fatal(err)
			}
		}
		b.accept(t, inbound("anna", 1))
		b.accept(t, inbound("bob", 2))
		annas, bobs := b.claim(t), b.claim(t)
		hold(bobs, domain.Lift{Budget: "B", Day: "2026-03-15"})
		if !first {
			hold(annas, liftOfA)
			if run, _, err := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || err != nil {
				t.Fatalf("claimed %+v, %v", run, err)
			}
		}
		if lifted, err := b.Lifted(b.ctx, liftOfA); lifted || err != nil {
			t.Errorf("lifted %v, %v", lifted, err)
		}
		for range 2 {
			if err := b.Lift(b.ctx, liftOfA); err != nil {
				t.Fatal(err)
			}
		}
		if first {
			hold(annas, liftOfA)
		}
		if lifted, err := b.Lifted(b.ctx, liftOfA); !lifted || err != nil {
			t.Errorf("lifted %v, %v", lifted, err)
		}
		run, _, err := b.ClaimNow(b.ctx, domain.TurnLane)
		if err != nil || run == nil || run.Session.Key != annas.Session.Key || run.Head.Attempts != 1 {
			t.Fatalf("lifted first %v: claimed %+v, %v", first, run, err)
		}
		if run, next, err := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || !next.Equal(until) || err != nil {
			t.Errorf("then %+v, or at %v, %v", run, next, err)
		}
	}
}

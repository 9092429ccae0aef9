package store_test

import (
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// stages has the messages show their stages, and returns what changed by it.
func (b *bundle) stages(t *testing.T) map[chat.MessageID]domain.Stage {
	t.Helper()
	list, err := b.Reactions(b.ctx, "telegram", 100)
	if err != nil {
		t.Fatal(err)
	}
	stages := map[chat.MessageID]domain.Stage{}
	for _, r := range list {
		if r.To != (chat.Address{Channel: "telegram", Chat: "anna"}) {
			t.Errorf("a reaction for %v", r.To)
		}
		stages[r.Message] = r.Stage
		if err := b.Reacted(b.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	return stages
}

func reacting(n int, mode domain.Mode) domain.Inbound {
	in := inbound("anna", n)
	in.Reacts, in.Queue.Mode = true, mode
	return in
}

// Every message that has shown that it waits, or is worked on, shows in the end how it ended.
// Behaviour: reaction.
func TestReactions(t *testing.T) {
	t.Parallel()
	type shown = map[chat.MessageID]domain.Stage
	const first, second = "1", "2"
	done := func(covered ...string) func(*testing.T, *bundle, *domain.Run) {
		return func(t *testing.T, b *bundle, run *domain.Run) {
			t.Helper()
			if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Covered: covered}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ends := func(state domain.RunState) func(*testing.T, *bundle, *domain.Run) {
		return func(t *testing.T, b *bundle, run *domain.Run) {
			t.Helper()
			if err := b.Complete(b.ctx, run.ID, domain.Completion{State: state}); err != nil {
				t.Fatal(err)
			}
		}
	}
	clears := func(t *testing.T, b *bundle, _ *domain.Run) {
		t.Helper()
		if _, err := b.Clear(b.ctx, inbound("anna", 1).Session, domain.TurnLane, b.clock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	type step func(*testing.T, *bundle, *domain.Run)
	for name, test := range map[string]struct {
		mode  domain.Mode // of the second message
		joins bool
		steps []step
		want  []shown // after each step
	}{
		"answered":            {steps: []step{ends(domain.RunDone)}, want: []shown{{first: domain.StageDone}}},
		"failed":              {steps: []step{ends(domain.RunFailed)}, want: []shown{{first: domain.StageFailed}}},
		"stopped":             {steps: []step{clears, ends(domain.RunCancelled)}, want: []shown{{second: domain.StageDropped}, {first: domain.StageDropped}}},
		"steered":             {mode: domain.Steer, joins: true, steps: []step{done(uuid(2))}, want: []shown{{first: domain.StageDone, second: domain.StageDone}}},
		"steered, not read":   {mode: domain.Steer, joins: true, steps: []step{done()}, want: []shown{{first: domain.StageDone, second: domain.StageWaiting}}},
		"steered and stopped": {mode: domain.Steer, joins: true, steps: []step{clears, ends(domain.RunCancelled)}, want: []shown{{}, {first: domain.StageDropped, second: domain.StageDropped}}},
		"tried again": {steps: []step{
			func(t *testing.T, b *bundle, run *domain.Run) {
				if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, b *bundle, _ *domain.Run) { b.complete(t, b.claim(t)) },
		}, want: []shown{{}, {first: domain.StageDone}}},
		"interrupted": {steps: []step{
			func(t *testing.T, b *bundle, _ *domain.Run) { b.accept(t, reacting(3, domain.Interrupt)) },
		}, want: []shown{{first: domain.StageDropped, second: domain.StageDropped, "3": domain.StageWaiting}}},
		"one too many": {steps: []step{
			func(t *testing.T, b *bundle, _ *domain.Run) {
				in := reacting(3, domain.Followup)
				in.Queue.Cap, in.Queue.Drop = 1, domain.DropOld
				b.accept(t, in)
			},
			func(t *testing.T, b *bundle, _ *domain.Run) {
				in := reacting(4, domain.Followup)
				in.Queue.Cap, in.Queue.Drop = 1, domain.DropNew
				b.accept(t, in)
			},
		}, want: []shown{{second: domain.StageDropped, "3": domain.StageWaiting}, {}}},
		"deleted": {steps: []step{
			func(t *testing.T, b *bundle, _ *domain.Run) {
				if _, err := b.WithdrawMessage(b.ctx, "telegram", "anna", second, 0); err != nil {
					t.Fatal(err)
				}
			},
		}, want: []shown{{second: domain.StageDropped}}},
		"a crash": {mode: domain.Steer, joins: true, steps: []step{
			func(t *testing.T, b *bundle, _ *domain.Run) {
				b.reopen(t)
				if _, _, err := b.Reclaim(b.ctx); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, b *bundle, _ *domain.Run) { b.complete(t, b.claim(t)); b.complete(t, b.claim(t)) },
		}, want: []shown{{second: domain.StageWaiting}, {first: domain.StageDone, second: domain.StageDone}}},
		"a crash before it was shown": {steps: []step{
			func(t *testing.T, b *bundle, run *domain.Run) { b.complete(t, run); b.reopen(t) },
		}, want: []shown{{first: domain.StageDone}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, reacting(1, domain.Followup))
			want(t, "taken", shown{first: domain.StageWaiting}, b.stages(t))
			run := b.claim(t)
			want(t, "claimed", shown{first: domain.StageRunning}, b.stages(t))
			b.accept(t, reacting(2, test.mode))
			waits := shown{second: domain.StageWaiting}
			if test.joins {
				b.join(t, run)
				waits[second] = domain.StageRunning
			}
			want(t, "the second", waits, b.stages(t))
			for i, step := range test.steps {
				step(t, b, run)
				want(t, name, test.want[i], b.stages(t))
			}
		})
	}
}

// What no person asked for, and what has no id, shows nothing.
// Behaviour: reaction.
func TestWhatDoesNotReact(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain := reacting(1, "")
	plain.Reacts = false
	b.accept(t, plain)
	nameless := reacting(2, "")
	nameless.Message.ID = ""
	b.accept(t, nameless)
	command := reacting(3, "")
	command.Lane = domain.ControlLane
	b.accept(t, command)
	b.complete(t, b.claim(t))
	want(t, "shown", map[chat.MessageID]domain.Stage{}, b.stages(t))
}

// The end of a message whose channel is gone for long is not shown any more. What waits is kept.
func TestReactionsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, reacting(1, domain.Followup))
	b.complete(t, b.claim(t))
	b.accept(t, reacting(2, domain.Followup))
	b.clock.Advance(25 * time.Hour)
	b.purge(t)
	want(t, "left", map[chat.MessageID]domain.Stage{"2": domain.StageWaiting}, b.stages(t))
}

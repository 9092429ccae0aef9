package store_test

import (
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// stages has the messages show their stages, and returns what changed by it.
func (b *bundle) stages(t *testing.T) map[chat.MessageID]store.Stage {
	t.Helper()
	list, err := b.Reactions(b.ctx, "telegram", 100)
	if err != nil {
		t.Fatal(err)
	}
	stages := map[chat.MessageID]store.Stage{}
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

func reacting(n int, mode store.Mode) store.Inbound {
	in := inbound("anna", n)
	in.Reacts, in.Queue.Mode = true, mode
	return in
}

// Every message that has shown that it waits, or is worked on, shows in the end how it ended.
func TestReactions(t *testing.T) {
	t.Parallel()
	type shown = map[chat.MessageID]store.Stage
	const first, second = "1", "2"
	done := func(covered ...string) func(*testing.T, *bundle, *store.Run) {
		return func(t *testing.T, b *bundle, run *store.Run) {
			t.Helper()
			if err := b.Complete(b.ctx, run.ID, store.Completion{State: store.RunDone, Covered: covered}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ends := func(state store.RunState) func(*testing.T, *bundle, *store.Run) {
		return func(t *testing.T, b *bundle, run *store.Run) {
			t.Helper()
			if err := b.Complete(b.ctx, run.ID, store.Completion{State: state}); err != nil {
				t.Fatal(err)
			}
		}
	}
	clears := func(t *testing.T, b *bundle, _ *store.Run) {
		t.Helper()
		if _, err := b.Clear(b.ctx, inbound("anna", 1).Session, store.TurnLane, b.clock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	type step func(*testing.T, *bundle, *store.Run)
	for name, test := range map[string]struct {
		mode  store.Mode // of the second message
		joins bool
		steps []step
		want  []shown // after each step
	}{
		"answered":            {steps: []step{ends(store.RunDone)}, want: []shown{{first: store.StageDone}}},
		"failed":              {steps: []step{ends(store.RunFailed)}, want: []shown{{first: store.StageFailed}}},
		"stopped":             {steps: []step{clears, ends(store.RunCancelled)}, want: []shown{{second: store.StageDropped}, {first: store.StageDropped}}},
		"steered":             {mode: store.Steer, joins: true, steps: []step{done(uuid(2))}, want: []shown{{first: store.StageDone, second: store.StageDone}}},
		"steered in vain":     {mode: store.Steer, joins: true, steps: []step{done()}, want: []shown{{first: store.StageDone, second: store.StageWaiting}}},
		"steered and stopped": {mode: store.Steer, joins: true, steps: []step{clears, ends(store.RunCancelled)}, want: []shown{{}, {first: store.StageDropped, second: store.StageDropped}}},
		"tried again": {steps: []step{
			func(t *testing.T, b *bundle, run *store.Run) {
				if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, b *bundle, _ *store.Run) { b.complete(t, b.claim(t)) },
		}, want: []shown{{}, {first: store.StageDone}}},
		"interrupted": {steps: []step{
			func(t *testing.T, b *bundle, _ *store.Run) { b.accept(t, reacting(3, store.Interrupt)) },
		}, want: []shown{{first: store.StageDropped, second: store.StageDropped, "3": store.StageWaiting}}},
		"one too many": {steps: []step{
			func(t *testing.T, b *bundle, _ *store.Run) {
				in := reacting(3, store.Followup)
				in.Queue.Cap, in.Queue.Drop = 1, store.DropOld
				b.accept(t, in)
			},
			func(t *testing.T, b *bundle, _ *store.Run) {
				in := reacting(4, store.Followup)
				in.Queue.Cap, in.Queue.Drop = 1, store.DropNew
				b.accept(t, in)
			},
		}, want: []shown{{second: store.StageDropped, "3": store.StageWaiting}, {}}},
		"deleted": {steps: []step{
			func(t *testing.T, b *bundle, _ *store.Run) {
				if _, err := b.WithdrawMessage(b.ctx, "telegram", "anna", second, 0); err != nil {
					t.Fatal(err)
				}
			},
		}, want: []shown{{second: store.StageDropped}}},
		"a crash": {mode: store.Steer, joins: true, steps: []step{
			func(t *testing.T, b *bundle, _ *store.Run) {
				b.reopen(t)
				if _, _, err := b.Reclaim(b.ctx); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, b *bundle, _ *store.Run) { b.complete(t, b.claim(t)); b.complete(t, b.claim(t)) },
		}, want: []shown{{second: store.StageWaiting}, {first: store.StageDone, second: store.StageDone}}},
		"a crash before it was shown": {steps: []step{
			func(t *testing.T, b *bundle, run *store.Run) { b.complete(t, run); b.reopen(t) },
		}, want: []shown{{first: store.StageDone}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, reacting(1, store.Followup))
			want(t, "taken", shown{first: store.StageWaiting}, b.stages(t))
			run := b.claim(t)
			want(t, "claimed", shown{first: store.StageRunning}, b.stages(t))
			b.accept(t, reacting(2, test.mode))
			waits := shown{second: store.StageWaiting}
			if test.joins {
				b.join(t, run)
				waits[second] = store.StageRunning
			}
			want(t, "the second", waits, b.stages(t))
			for i, step := range test.steps {
				step(t, b, run)
				want(t, name, test.want[i], b.stages(t))
			}
		})
	}
}

// What nobody asked for, and what has no id, shows nothing.
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
	command.Lane = store.ControlLane
	b.accept(t, command)
	b.complete(t, b.claim(t))
	want(t, "shown", map[chat.MessageID]store.Stage{}, b.stages(t))
}

// The end of a message whose channel is gone for long is not shown any more. What waits is kept.
func TestReactionsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, reacting(1, store.Followup))
	b.complete(t, b.claim(t))
	b.accept(t, reacting(2, store.Followup))
	b.clock.Advance(25 * time.Hour)
	b.purge(t)
	want(t, "left", map[chat.MessageID]store.Stage{"2": store.StageWaiting}, b.stages(t))
}

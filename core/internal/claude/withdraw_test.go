package claude_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// A stop takes back what claude has not read. The same message runs on its own later, once.
// Behaviour: stop.
func TestStopWithdraws(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), newMailbox()
		read := box.put("read")
		ctx, stop := context.WithCancelCause(r.Context())
		defer stop(nil)
		turn := steerable(r.turn(directive(map[string]any{
			"tool": until("one", "go-one"), "tools": []string{until("two", "never")},
		})), box)
		var taken atomic.Int64
		turn.Watcher = r.showing(func(p agent.Progress) { taken.Store(int64(p.Steered)) })
		a := r.begin(ctx, pool, turn)
		poll(t, "the first tool runs, and the line is read", func() bool { return exists(r.file("one")) && r.read(read) })
		r.touch("go-one")
		poll(t, "the second tool runs, and the line was read", func() bool { return exists(r.file("two")) && taken.Load() == 1 })
		unread := box.put("unread")
		poll(t, "it is taken", func() bool { return box.given() == 2 })
		stop(agent.ErrStopped)
		<-a.done
		r.wantClass(a.err, agent.Aborted)
		if diff := cmp.Diff([]string{read.UUID}, a.result.Covered); diff != "" {
			t.Errorf("covered (-want +got):\n%s", diff)
		}
		if len(a.result.Tools) != 2 {
			t.Errorf("tools = %v", a.result.Tools)
		}
		if got := r.ask(pool, r.own(unread)).Text; got != "echo: [Bob] unread" {
			t.Errorf("the line on its own is answered by %q", got)
		}
		if n := r.said("unread"); n != 1 {
			t.Errorf("the model got %d times", n)
		}
		if got := r.ask(pool, r.turn("next")).Text; got != "echo: [Bob] next" {
			t.Errorf("the next answer is %q", got)
		}
	})
}

// A line can be withdrawn until claude has read it. The turn continues without it, and it can be sent again with another id.
// Behaviour: edit-waiting.
func TestWithdraw(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), newMailbox()
		read := box.put("read")
		turn := steerable(r.turn(directive(map[string]any{
			"tool": until("one", "go-one"), "tools": []string{until("two", "go-two")}, "say": "heard: $STEERED",
		})), box)
		var taken atomic.Int64
		turn.Watcher = r.showing(func(p agent.Progress) { taken.Store(int64(p.Steered)) })
		if pool.Withdraw(r.Context(), r.session, read.UUID) {
			t.Error("a line was taken back of no process")
		}
		a := r.begin(r.Context(), pool, turn)
		poll(t, "the first tool runs, and the line is read", func() bool { return exists(r.file("one")) && r.read(read) })
		r.touch("go-one")
		poll(t, "the second tool runs, and the line was read", func() bool { return exists(r.file("two")) && taken.Load() == 1 })
		wrong := box.put("wrong")
		poll(t, "it is taken", func() bool { return box.given() == 2 })
		var asked sync.WaitGroup
		var withdrawn atomic.Int64
		for range 2 { // at once, as an edit and a deletion may be
			asked.Go(func() {
				if pool.Withdraw(r.Context(), r.session, wrong.UUID) {
					withdrawn.Add(1)
				}
			})
		}
		asked.Wait()
		if pool.Withdraw(r.Context(), r.session, wrong.UUID) {
			withdrawn.Add(1)
		}
		if withdrawn.Load() != 3 {
			t.Error("a line was not taken back that claude had not read")
		}
		never := uuid.NewString() // about to be written
		if !pool.Withdraw(r.Context(), r.session, never) {
			t.Error("a line was not taken back that was not written")
		}
		box.lines = []agent.Line{{UUID: never, Text: "[Bob] never"}}
		right := box.put("right")
		poll(t, "it is read", func() bool { return r.read(right) })
		if pool.Withdraw(r.Context(), r.session, read.UUID) {
			t.Error("a line was taken back that claude had read")
		}
		r.touch("go-two")
		<-a.done
		if want := "heard: [Bob] read\n[Bob] right"; a.err != nil || a.result.Text != want {
			t.Errorf("answer = %q, %v; want %q", a.result.Text, a.err, want)
		}
		if diff := cmp.Diff([]string{read.UUID, right.UUID}, a.result.Covered); diff != "" {
			t.Errorf("covered (-want +got):\n%s", diff)
		}
		if got := r.ask(pool, r.own(wrong)).Text; got != "echo: [Bob] wrong" {
			t.Errorf("the line on its own is answered by %q", got)
		}
	})
}

// A line that was withdrawn is not steered again into the process that would not run it.
func TestWithdrawnLineIsNotSteered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool, box := r.pool(), newMailbox()
	l := box.put("unread")
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	a := r.begin(ctx, pool, steerable(r.turn(directive(map[string]any{"tool": until("one", "never")})), box))
	poll(t, "the tool runs", func() bool { return exists(r.file("one")) && box.given() > 0 })
	stop(agent.ErrStopped)
	<-a.done
	box.lines = []agent.Line{l}
	if got := r.ask(pool, steerable(r.turn(directive(map[string]any{"tool": "sleep 0.1"})), box)); len(got.Covered) > 0 {
		t.Errorf("result = %+v: the model has not seen the line", got)
	}
	if got := r.ask(pool, r.own(l)).Text; got != "echo: [Bob] unread" {
		t.Errorf("the line on its own is answered by %q", got)
	}
}

package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
)

// Who asks for a new conversation with a message gets it, whatever becomes of the message: what comes then belongs to it, and
// the turn that runs to the old one.
func TestADroppedMessageBeginsItsConversation(t *testing.T) {
	t.Parallel()
	fresh := queued(2, store.Queueing{Mode: store.Queue})
	fresh.Message.Fresh = true
	for name, drop := range map[string]func(t *testing.T, b *bundle){
		"interrupted": func(t *testing.T, b *bundle) { b.accept(t, queued(3, store.Queueing{Mode: store.Interrupt})) },
		"too many":    func(t *testing.T, b *bundle) { b.accept(t, queued(3, store.Queueing{Cap: 1, Drop: store.DropOld})) },
		"too many, told of later": func(t *testing.T, b *bundle) {
			b.accept(t, queued(3, store.Queueing{Cap: 1, Drop: store.DropSummarize}))
		},
		"stopped": func(t *testing.T, b *bundle) {
			if n, err := b.Clear(b.ctx, "telegram:anna", store.TurnLane, start.Add(time.Second)); n != 1 || err != nil {
				t.Errorf("dropped %d, %v", n, err)
			}
			b.accept(t, queued(3, store.Queueing{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			b.accept(t, fresh)
			drop(t, b)
			b.wantOutcome(t, 2, store.RunCancelled)
			if err := b.Complete(b.ctx, run.ID, store.Completion{State: store.RunDone}); err != nil && !errors.Is(err, store.ErrFenced) {
				t.Fatal(err)
			}
			next := b.claim(t)
			if next.Message.Seq != 3 || next.Message.ClaudeSession == run.Message.ClaudeSession || next.Session.ClaudeStarted {
				t.Errorf("then runs %+v in %+v", next.Message, next.Session)
			}
		})
	}
	t.Run("the new one of too many", func(t *testing.T) {
		t.Parallel()
		b, run := busy(t)
		in := fresh
		in.Queue = store.Queueing{Cap: 1, Drop: store.DropNew}
		b.accept(t, queued(3, store.Queueing{}))
		if a := b.accept(t, in); a.Seq != 0 {
			t.Errorf("acceptance %+v", a)
		}
		b.complete(t, run)
		next := b.claim(t)
		if next.Message.ClaudeSession != run.Message.ClaudeSession {
			t.Errorf("then runs %+v, which was written before", next.Message)
		}
		b.complete(t, next)
		b.accept(t, queued(4, store.Queueing{}))
		if next := b.claim(t); next.Message.ClaudeSession == run.Message.ClaudeSession {
			t.Errorf("then runs %+v", next.Message)
		}
	})
	t.Run("begun before", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.accept(t, fresh)
		run := b.claim(t)
		if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
			t.Fatal(err)
		}
		b.accept(t, queued(3, store.Queueing{Mode: store.Interrupt}))
		if next := b.claim(t); next.Message.Seq != 2 || next.Message.ClaudeSession != run.Message.ClaudeSession {
			t.Errorf("a conversation begins twice: %+v", next.Message)
		}
	})
}

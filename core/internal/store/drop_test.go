package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Who asks for a new conversation with a message gets it, whatever becomes of the message: what comes then belongs to it, and
// the turn that runs to the old one.
// Behaviour: new-although-dropped.
func TestADroppedMessageBeginsItsConversation(t *testing.T) {
	t.Parallel()
	fresh := queued(2, domain.Queueing{Mode: domain.Queue})
	fresh.Message.Fresh = true
	for name, drop := range map[string]func(t *testing.T, b *bundle){
		"interrupted": func(t *testing.T, b *bundle) { b.accept(t, queued(3, domain.Queueing{Mode: domain.Interrupt})) },
		"too many":    func(t *testing.T, b *bundle) { b.accept(t, queued(3, domain.Queueing{Cap: 1, Drop: domain.DropOld})) },
		"too many, told of later": func(t *testing.T, b *bundle) {
			b.accept(t, queued(3, domain.Queueing{Cap: 1, Drop: domain.DropSummarize}))
		},
		"stopped": func(t *testing.T, b *bundle) {
			if n, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, start.Add(time.Second)); n != 1 || err != nil {
				t.Errorf("dropped %d, %v", n, err)
			}
			b.accept(t, queued(3, domain.Queueing{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			b.accept(t, fresh)
			drop(t, b)
			b.wantOutcome(t, 2, domain.RunCancelled)
			if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil && !errors.Is(err, domain.ErrFenced) {
				t.Fatal(err)
			}
			next := b.claim(t)
			if next.Head.Seq != 3 || next.Head.ClaudeSession == run.Head.ClaudeSession || next.Session.ClaudeStarted {
				t.Errorf("then runs %+v in %+v", next.Head, next.Session)
			}
		})
	}
	t.Run("the new one of too many", func(t *testing.T) {
		t.Parallel()
		b, run := busy(t)
		in := fresh
		in.Queue = domain.Queueing{Cap: 1, Drop: domain.DropNew}
		b.accept(t, queued(3, domain.Queueing{}))
		if a := b.accept(t, in); a.Seq != 0 {
			t.Errorf("acceptance %+v", a)
		}
		b.complete(t, run)
		next := b.claim(t)
		if next.Head.ClaudeSession != run.Head.ClaudeSession {
			t.Errorf("then runs %+v, which was written before", next.Head)
		}
		b.complete(t, next)
		b.accept(t, queued(4, domain.Queueing{}))
		if next := b.claim(t); next.Head.ClaudeSession == run.Head.ClaudeSession {
			t.Errorf("then runs %+v", next.Head)
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
		b.accept(t, queued(3, domain.Queueing{Mode: domain.Interrupt}))
		if next := b.claim(t); next.Head.Seq != 2 || next.Head.ClaudeSession != run.Head.ClaudeSession {
			t.Errorf("a conversation begins twice: %+v", next.Head)
		}
	})
}

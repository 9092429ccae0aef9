package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// A session continues in another claude session, its own or nobody's, or in a copy of its own. What waits stays with the one that it
// was written for.
// Behaviour: session-resume, session-fork.
func TestResumeAndFork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	accept := func(who string, change func(*domain.Inbound)) domain.Acceptance {
		t.Helper()
		n++
		in := inbound(who, n)
		in.Lane = domain.ControlLane
		change(&in)
		got, err := b.Accept(b.ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	now := func(who string) domain.Session {
		t.Helper()
		s, err := b.Session(b.ctx, inbound(who, 0).Session)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	resume := func(who, claude string) domain.Acceptance {
		t.Helper()
		return accept(who, func(in *domain.Inbound) { in.Resume = claude })
	}
	fork := func(in *domain.Inbound) { in.Fork = true }
	toTurn := func(in *domain.Inbound) { in.Lane = domain.TurnLane }

	accept("anna", toTurn)
	first := now("anna").ClaudeSession
	if got := accept("anna", fork); got.Replaced != "" || now("anna").ClaudeSession != first {
		t.Error("a conversation that has not begun was copied")
	}
	desk := "00000000-0000-4000-8000-000000000001"
	if got := resume("anna", desk); got.Replaced != first {
		t.Errorf("left %q, want %q", got.Replaced, first)
	}
	if s := now("anna"); s.ClaudeSession != desk || !s.ClaudeStarted || s.ForkOf != "" {
		t.Errorf("resumed %+v", s)
	}
	if got := resume("anna", desk); got.Replaced != "" {
		t.Errorf("resumed it again, and left %q", got.Replaced)
	}
	if run := b.claim(t); run.Head.ClaudeSession != first || !run.Session.Replaced {
		t.Errorf("what waited runs in %s, want %s", run.Head.ClaudeSession, first)
	}
	resume("bob", desk)
	if got := now("bob").ClaudeSession; got == desk {
		t.Error("another chat's session was resumed")
	}
	if owner, err := b.ClaudeSessionOf(b.ctx, desk); err != nil || owner != now("anna").Key {
		t.Errorf("it is of %q, %v", owner, err)
	}
	if owner, err := b.ClaudeSessionOf(b.ctx, "00000000-0000-4000-8000-000000000002"); err != nil || owner != "" {
		t.Errorf("an unknown one is of %q, %v", owner, err)
	}

	if got := accept("anna", fork); got.Replaced != desk {
		t.Errorf("left %q, want %q", got.Replaced, desk)
	}
	copied := now("anna")
	if copied.ClaudeSession == desk || copied.ForkOf != desk || copied.ClaudeStarted {
		t.Errorf("copied %+v", copied)
	}
	b.clock.Advance(48 * time.Hour)
	resume("anna", desk)
	accept("anna", func(in *domain.Inbound) {
		toTurn(in)
		in.Expiry = domain.Expiry{Idle: 24 * time.Hour}
	})
	if got := now("anna").ClaudeSession; got != desk {
		t.Errorf("a session that was resumed has expired: %s, want %s", got, desk)
	}
	if _, err := b.Session(b.ctx, "none"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

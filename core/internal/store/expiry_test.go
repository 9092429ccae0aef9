package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// started is a store in which claude has answered anna's message 1, a minute after the start.
func started(t *testing.T) (b *bundle, claude string) {
	t.Helper()
	b, run := busy(t)
	b.clock.Advance(time.Minute)
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.complete(t, run)
	return b, run.Session.ClaudeSession
}

// TestExpiry has a message come in a session that was begun an hour ago, and in which a person wrote last half an hour
// ago.
// Behaviour: session-expiry, session-expiry-use, session-settings-stay, heartbeat-session.
func TestExpiry(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	idle := func(d time.Duration) func(*domain.Inbound) { return func(in *domain.Inbound) { in.Expiry.Idle = d } }
	since := func(d time.Duration) func(*domain.Inbound) {
		return func(in *domain.Inbound) { in.Expiry.Since = start.Add(d) }
	}
	both := func(changes ...func(*domain.Inbound)) func(*domain.Inbound) {
		return func(in *domain.Inbound) {
			for _, change := range changes {
				change(in)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*domain.Inbound)
		over   bool
	}{
		"never":                        {func(*domain.Inbound) {}, false},
		"idle for so long":             {idle(hour / 2), true},
		"not idle for so long":         {idle(hour/2 + time.Millisecond), false},
		"begun before":                 {since(time.Millisecond), true},
		"begun since":                  {since(0), false},
		"one of both":                  {both(idle(24*hour), since(time.Minute)), true},
		"the other of both":            {both(idle(time.Minute), since(-hour)), true},
		"neither":                      {both(idle(24*hour), since(-hour)), false},
		"a plugin's message":           {both(idle(time.Minute), func(in *domain.Inbound) { in.Message.Origin = domain.OriginPlugin }), false},
		"a heartbeat":                  {both(idle(time.Minute), func(in *domain.Inbound) { in.Message.Origin = domain.OriginHeartbeat }), false},
		"a heartbeat in its own":       {both(idle(hour/2), func(in *domain.Inbound) { in.Message.Origin, in.Message.Apart = domain.OriginHeartbeat, true }), true},
		"a bot's message":              {both(idle(time.Minute), func(in *domain.Inbound) { in.Message.Sender.IsBot = true }), false},
		"a message of the agent's own": {both(idle(time.Minute), func(in *domain.Inbound) { in.Message.Sender.IsSelf = true }), false},
		"a command":                    {both(idle(time.Minute), func(in *domain.Inbound) { in.Lane = domain.ControlLane }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claude := started(t)
			b.clock.Advance(hour/2 - time.Minute)
			b.accept(t, inbound("anna", 2))
			b.complete(t, b.claim(t))
			b.clock.Advance(hour / 2)
			// None of these is a person's message for claude.
			command := inbound("anna", 20)
			command.Lane = domain.ControlLane
			b.accept(t, command)
			for n, origin := range []domain.Origin{domain.OriginHeartbeat, domain.OriginPlugin} {
				in := inbound("anna", 10+n)
				in.Message.Origin = origin
				b.accept(t, in)
				b.complete(t, b.claim(t))
			}
			if _, err := b.Configure(b.ctx, "telegram:anna", func(o *domain.Overrides) { o.Model = "opus" }); err != nil {
				t.Fatal(err)
			}
			if err := b.SetLabel(b.ctx, "telegram:anna", "work"); err != nil {
				t.Fatal(err)
			}
			in := inbound("anna", 3)
			test.change(&in)
			want := ""
			if test.over {
				want = claude
			}
			if a := b.accept(t, in); a.Replaced != want {
				t.Errorf("replaced %q, want %q", a.Replaced, want)
			}
			session, err := b.Session(b.ctx, "telegram:anna")
			if err != nil || session.Overrides.Model != "opus" || session.Label != "work" {
				t.Errorf("session %+v, %v; people chose another", session, err)
			}
			if (session.ClaudeSession != claude) != test.over || session.ClaudeStarted == test.over || session.ResetAt.Equal(start) == test.over {
				t.Errorf("session %+v; over: %v", session, test.over)
			}
		})
	}
}

// Behaviour: session-expiry-use.
func TestSessionInUseDoesNotExpire(t *testing.T) {
	t.Parallel()
	expired := func(n int) domain.Inbound {
		in := inbound("anna", n)
		in.Expiry.Idle = time.Minute
		return in
	}
	b, claude := started(t)
	b.clock.Advance(time.Hour)
	b.accept(t, inbound("anna", 2))
	b.clock.Advance(time.Hour)
	if a := b.accept(t, expired(3)); a.Replaced != "" {
		t.Errorf("while a message waits: %+v", a)
	}
	run := b.claim(t)
	b.clock.Advance(time.Hour)
	if a := b.accept(t, expired(4)); a.Replaced != "" {
		t.Errorf("while one runs: %+v", a)
	}
	b.complete(t, run)
	var w work
	b.do(t, &w, 0)
	b.clock.Advance(time.Hour)
	if a := b.accept(t, expired(5)); a.Replaced != claude {
		t.Errorf("replaced %q, want %q", a.Replaced, claude)
	}
	b.complete(t, b.claim(t)) // claude has not consumed it
	b.clock.Advance(time.Hour)
	if a := b.accept(t, expired(6)); a.Replaced != "" {
		t.Errorf("nothing was said in it yet: %+v", a)
	}
	if run := b.claim(t); run.Session.ClaudeStarted || run.Session.ClaudeSession == claude {
		t.Errorf("session %+v", run.Session)
	}
	if a := b.accept(t, func() domain.Inbound {
		in := expired(1)
		in.Session, in.EventID = "telegram:new", "new-1"
		return in
	}()); a.Replaced != "" {
		t.Errorf("a new session: %+v", a)
	}
}

// A thread goes on with the conversation of its chat, as far as that has come.
// Behaviour: session-thread.
func TestParent(t *testing.T) {
	t.Parallel()
	b, claude := started(t)
	child := func(thread chat.ThreadID, n int) domain.Inbound {
		in := inbound("anna", n)
		in.Session, in.Parent, in.Message.Thread = "telegram:anna:"+string(thread), "telegram:anna", thread
		return in
	}
	b.accept(t, child("t", 2))
	run := b.claim(t)
	if s := run.Session; s.ForkOf != claude || s.ClaudeStarted || s.ClaudeSession == claude {
		t.Errorf("the thread begins with %+v, want a copy of %s", s, claude)
	}
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if run = b.claim(t); run.Session.ForkOf != claude {
		t.Errorf("the second attempt begins with %+v", run.Session)
	}
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.complete(t, run)
	b.accept(t, child("t", 3))
	if run = b.claim(t); run.Session.ForkOf != "" || !run.Session.ClaudeStarted {
		t.Errorf("once it has begun: %+v", run.Session)
	}
	reset, _, err := b.ResetSession(b.ctx, "telegram:anna:t")
	if err != nil || reset.ForkOf != "" {
		t.Errorf("restarted: %+v, %v", reset, err)
	}
	if _, err := b.ReplaceSession(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.complete(t, run)

	if _, _, err := b.ResetSession(b.ctx, "telegram:anna"); err != nil {
		t.Fatal(err)
	}
	b.accept(t, child("u", 4))
	if run = b.claim(t); run.Session.ForkOf != "" {
		t.Errorf("the copy of a conversation in which nothing was said: %+v", run.Session)
	}
	b.complete(t, run)
	orphan := child("v", 5)
	orphan.Parent = "telegram:nobody"
	b.accept(t, orphan)
	if run = b.claim(t); run.Session.ForkOf != "" {
		t.Errorf("the copy of none: %+v", run.Session)
	}
	b.complete(t, run)

	// What the copy is of is decided by the first turn, not by a command before it.
	command := child("w", 6)
	command.Lane = domain.ControlLane
	b.accept(t, command)
	b.accept(t, inbound("anna", 7))
	run = b.claim(t)
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.complete(t, run)
	late := child("w", 8)
	late.Parent = ""
	b.accept(t, late)
	if again := b.claim(t); again.Session.ForkOf != run.Session.ClaudeSession {
		t.Errorf("after a command: %+v, want a copy of %s", again.Session, run.Session.ClaudeSession)
	}
}

// A message that stays with the claude session of its first attempt says how that one begins.
func TestForkOfAReplacedClaudeSession(t *testing.T) {
	t.Parallel()
	b, claude := started(t)
	in := inbound("anna", 2)
	in.Session, in.Parent = "telegram:anna:t", "telegram:anna"
	b.accept(t, in)
	run := b.claim(t)
	if _, _, err := b.ResetSession(b.ctx, in.Session); err != nil {
		t.Fatal(err)
	}
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	again := b.claim(t)
	if again.Session.ClaudeSession != run.Session.ClaudeSession || again.Session.ForkOf != claude {
		t.Errorf("session %+v, want %s as a copy of %s", again.Session, run.Session.ClaudeSession, claude)
	}
}

// Behaviour: new-model.
func TestModelHintStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := inbound("anna", 1)
	in.Model = new("opus")
	b.accept(t, in) // in a session that it makes
	if run := b.claim(t); run.Session.Overrides.Model != "opus" {
		t.Errorf("overrides %+v", run.Session.Overrides)
	}
	if _, err := b.Configure(b.ctx, in.Session, func(o *domain.Overrides) { o.Effort = "high" }); err != nil {
		t.Fatal(err)
	}
	command := inbound("anna", 2)
	command.Lane, command.Reset, command.Model = domain.ControlLane, true, new("haiku")
	b.accept(t, command)
	b.accept(t, inbound("anna", 3))
	again := command // a duplicate says nothing new
	again.Model = new("sonnet")
	b.accept(t, again)
	s, err := b.Session(b.ctx, in.Session)
	if want := (domain.Overrides{Model: "haiku", Effort: "high"}); err != nil || s.Overrides != want {
		t.Errorf("overrides %+v, %v; want %+v", s.Overrides, err, want)
	}
	back := inbound("anna", 4)
	back.Model = new("")
	b.accept(t, back)
	s, err = b.Session(b.ctx, in.Session)
	if want := (domain.Overrides{Effort: "high"}); err != nil || s.Overrides != want {
		t.Errorf("taken back: overrides %+v, %v; want %+v", s.Overrides, err, want)
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	quiet := 2 * time.Second
	want := domain.Overrides{
		Model: "opus", Effort: "high", Permission: "plan", Verbose: "on", Reasoning: "stream", Usage: "full",
		Queue: domain.QueueOverrides{Mode: domain.Collect, Debounce: &quiet, Cap: 3, Drop: domain.DropNew},
		Send:  "deny", Activation: "always",
	}
	s, err := b.Configure(b.ctx, "telegram:anna", func(o *domain.Overrides) { *o = want })
	if diff := cmp.Diff(want, s.Overrides); err != nil || diff != "" {
		t.Errorf("configured, %v (-want +got):\n%s", err, diff)
	}
	b.reopen(t)
	run := b.claim(t)
	if diff := cmp.Diff(want, run.Session.Overrides); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	s, err = b.Configure(b.ctx, "telegram:anna", func(o *domain.Overrides) { o.Queue = domain.QueueOverrides{} })
	want.Queue = domain.QueueOverrides{}
	if diff := cmp.Diff(want, s.Overrides); err != nil || diff != "" {
		t.Errorf("changed, %v (-want +got):\n%s", err, diff)
	}
	if _, err := b.Configure(b.ctx, "nobody", func(*domain.Overrides) {}); err == nil {
		t.Error("a session that is not there was configured")
	}
	if _, err := raw(t, b.path).Exec(`UPDATE sessions SET overrides = '{"model": 7}'`); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Session(b.ctx, "telegram:anna"); err != nil || s.Overrides != (domain.Overrides{}) {
		t.Errorf("what cannot be read: %+v, %v", s.Overrides, err)
	}
}

package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestLaneRunsOneMessageAtATimeInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 3; n++ {
		if a := b.accept(t, inbound("anna", n)); a.Waiting != n-1 {
			t.Errorf("message %d has %d before it", n, a.Waiting)
		}
	}
	for n := int64(1); n <= 3; n++ {
		run := b.claim(t)
		if run.Head.Seq != n {
			t.Fatalf("claimed message %d, want %d", run.Head.Seq, n)
		}
		b.idle(t)
		b.complete(t, run)
	}
	b.idle(t)
}

// Behaviour: command-lane.
func TestControlLaneRunsBesideTheTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.claim(t)
	stop := inbound("anna", 2)
	stop.Lane = domain.ControlLane
	b.accept(t, stop)
	if !poked(b.pokes.Controls) {
		t.Error("the control lane was not poked")
	}
	run, _, err := b.ClaimNow(b.ctx, domain.ControlLane)
	if err != nil || run == nil || run.Lane != domain.ControlLane {
		t.Fatalf("got %+v, %v", run, err)
	}
	b.complete(t, run)
	b.idle(t)
}

// Behaviour: one-turn-a-session.
func TestDeepLaneDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 3; n++ {
		b.accept(t, inbound("anna", n))
	}
	b.clock.Advance(time.Second)
	b.accept(t, inbound("bob", 1))
	b.clock.Advance(time.Second)
	var order []string
	for range 4 {
		run := b.claim(t)
		order = append(order, run.Session.Key)
		b.complete(t, run)
		b.clock.Advance(time.Second)
	}
	want := []string{"telegram:anna", "telegram:bob", "telegram:anna", "telegram:anna"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// Commands are run in order, but a stop does not wait for a command that is no stop, nor an owner's for others', not even for one that
// is to be tried again later.
// Behaviour: stop-first.
func TestCommandsRunByRank(t *testing.T) {
	t.Parallel()
	b := setup(t)
	command := func(user string, n int, authority chat.Authority, urgent bool) {
		in := inbound(user, n)
		in.Session, in.Lane, in.Urgent, in.Message.Authority = "telegram:group:g", domain.ControlLane, urgent, authority
		b.accept(t, in)
	}
	claim := func(want string) *domain.Run {
		t.Helper()
		run, next, err := b.ClaimNow(b.ctx, domain.ControlLane, domain.Anybodys)
		if err != nil || run == nil {
			t.Fatalf("got %+v, next %v, %v; want %s", run, next, err, want)
		}
		if got := string(run.Head.Message.Sender.ID) + " " + run.Head.Message.Text; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		return run
	}
	command("bob", 1, chat.Authorised, false)
	failing := claim("bob message 1")
	for n := 2; n <= 1000; n++ {
		command("bob", n, chat.Authorised, false)
	}
	command("anna", 1, chat.Owner, false)
	command("anna", 2, chat.Owner, false)
	command("carl", 1, chat.Authorised, true)
	command("carl", 2, chat.Authorised, true)
	command("anna", 3, chat.Owner, true)
	if err := b.Release(b.ctx, failing.ID, start.Add(time.Hour), "the disk is full"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"anna message 3", "carl message 1", "carl message 2", "anna message 1", "anna message 2"} {
		b.complete(t, claim(want))
	}
	if run, _, err := b.ClaimNow(b.ctx, domain.ControlLane, domain.Anybodys); run != nil || err != nil {
		t.Errorf("%+v, %v was run before what came first", run, err)
	}
	poked(b.pokes.Controls)
	command("carl", 3, chat.Authorised, true)
	if !poked(b.pokes.Controls) {
		t.Error("no poke for a stop in a lane that waits for its next attempt")
	}
	b.complete(t, claim("carl message 3"))
	b.clock.Advance(time.Hour)
	running := claim("bob message 1")
	command("anna", 4, chat.Owner, true)
	b.complete(t, running)
	b.complete(t, claim("anna message 4"))
	b.complete(t, claim("bob message 2"))
}

func TestReadyIsSignalledWhenALaneHasMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("anna", 2))
	run := b.claim(t)
	if !poked(b.pokes.Turns) || poked(b.pokes.Turns) {
		t.Error("two messages of one lane should leave one poke")
	}
	b.accept(t, inbound("anna", 3))
	if poked(b.pokes.Turns) {
		t.Error("a poke for a lane that runs")
	}
	b.complete(t, run)
	b.complete(t, b.claim(t))
	if !poked(b.pokes.Turns) {
		t.Error("no poke for the next message")
	}
	b.complete(t, b.claim(t))
	if poked(b.pokes.Turns) {
		t.Error("a poke for an empty lane")
	}
}

func TestFreshMessageBeginsAClaudeSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	old := run.Session.ClaudeSession
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.complete(t, run)
	b.clock.Advance(time.Minute)

	fresh := inbound("anna", 2)
	fresh.Message.Fresh = true
	b.accept(t, fresh)
	run = b.claim(t)
	if s := run.Session; s.ClaudeSession == old || s.ClaudeStarted || !s.ResetAt.Equal(start.Add(time.Minute)) {
		t.Errorf("session %+v, want one that is not %s and not started", s, old)
	}
	begun := run.Session.ClaudeSession
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if run := b.claim(t); run.Session.ClaudeSession != begun {
		t.Error("claimed again, the message has another session")
	}
	if s, err := b.Session(b.ctx, "telegram:anna"); s.ClaudeSession != begun || err != nil {
		t.Errorf("claimed again, the message began a session: %+v, %v", s, err)
	}
}

func TestReclaimedMessageKeepsItsClaudeSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	first := run.Session.ClaudeSession
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	reset, ok, err := b.ResetSession(b.ctx, "telegram:anna")
	if err != nil || !ok || reset.ClaudeSession == first || reset.ClaudeStarted {
		t.Fatalf("reset: %+v, %v, %v", reset, ok, err)
	}
	b.reopen(t)
	if runs, deliveries, err := b.Reclaim(b.ctx); runs != 1 || deliveries != 0 || err != nil {
		t.Fatalf("reclaimed %d runs, %d deliveries, error %v", runs, deliveries, err)
	}

	again := b.claim(t)
	if again.ID <= run.ID {
		t.Errorf("run id %d after %d", again.ID, run.ID)
	}
	if m := again.Head; m.UUID != run.Head.UUID || m.Attempts != 2 || !m.ConsumedAt.Equal(start) || m.ClaudeSession != first {
		t.Errorf("message %+v", m)
	}
	if s := again.Session; s.ClaudeSession != first || !s.ClaudeStarted {
		t.Errorf("session %+v, want the started %s", s, first)
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("the lost run completes: %v", err)
	}
	b.complete(t, again)
	b.accept(t, inbound("anna", 2))
	if s := b.claim(t).Session; s.ClaudeSession != reset.ClaudeSession || s.ClaudeStarted {
		t.Errorf("the next message's session %+v, want the new %s", s, reset.ClaudeSession)
	}
}

func TestBeginAs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	b.accept(t, inbound("anna", 2))
	const spare = "spare"
	if err := b.BeginAs(b.ctx, run.ID, spare); err != nil {
		t.Fatal(err)
	}
	check := func(s domain.Session, started bool) {
		t.Helper()
		if s.ClaudeSession != spare || s.ClaudeStarted != started {
			t.Errorf("the session is %+v, want %s", s, spare)
		}
	}
	s, err := b.Session(b.ctx, run.Session.Key)
	if err != nil {
		t.Fatal(err)
	}
	check(s, false)
	if key, err := b.ClaudeSessionOf(b.ctx, run.Session.ClaudeSession); key != "" || err != nil {
		t.Errorf("the former id is one of %q, %v", key, err)
	}
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	again := b.claim(t)
	check(again.Session, false)
	if again.Head.ClaudeSession != spare {
		t.Errorf("the message is one of %s", again.Head.ClaudeSession)
	}
	if err := b.Consumed(b.ctx, again.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.BeginAs(b.ctx, again.ID, "another"); err == nil {
		t.Error("a claude session gets another id after it has begun")
	}
	b.complete(t, again, "answer")
	next := b.claim(t)
	check(next.Session, true)
	if next.Head.ClaudeSession != spare {
		t.Errorf("the next message is one of %s", next.Head.ClaudeSession)
	}
}

func TestReplaceSessionGivesARunAFreshClaudeSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	s, err := b.ReplaceSession(b.ctx, run.ID, item("anna", "restarted"))
	if err != nil || s.ClaudeSession == run.Session.ClaudeSession || s.ClaudeStarted {
		t.Fatalf("replace the session: %+v, %v", s, err)
	}
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	again := b.claim(t)
	if again.Session.ClaudeSession != s.ClaudeSession || !again.Head.ConsumedAt.IsZero() {
		t.Errorf("claimed again: %+v", again)
	}
	if err := b.Consumed(b.ctx, again.ID); err != nil {
		t.Fatal(err)
	}
	if s, _ := b.Session(b.ctx, "telegram:anna"); !s.ClaudeStarted {
		t.Error("the new session is not started after it consumed a message")
	}
	b.complete(t, again, "answer")
	for _, want := range []string{"restarted", "answer"} {
		d := b.head(t)
		if d.Item.Text != want {
			t.Errorf("the chat gets %q, want %q", d.Item.Text, want)
		}
		if err := b.Delivered(b.ctx, d.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReleaseGivesAMessageBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	poked(b.pokes.Turns)
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if !poked(b.pokes.Turns) {
		t.Error("no poke")
	}
	again := b.claim(t)
	if again.ID == run.ID || again.Head.Attempts != 2 {
		t.Errorf("run %d then %d, attempts %d", run.ID, again.ID, again.Head.Attempts)
	}
	later := b.clock.Now().Add(time.Minute)
	if err := b.Release(b.ctx, again.ID, later, "claude died"); err != nil {
		t.Fatal(err)
	}
	if run, next, err := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || !next.Equal(later) || err != nil {
		t.Errorf("claimed %+v, next %v, %v, want it at %v", run, next, err, later)
	}
}

// A run that could not begin is given back, with its burst, as if it had not been tried.
// Behaviour: claude-unavailable.
func TestHoldCountsNoAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	for range 3 {
		run := b.claim(t)
		if run.Head.Attempts != 1 {
			t.Fatalf("attempts %d", run.Head.Attempts)
		}
		later := b.clock.Now().Add(time.Minute)
		if err := b.Hold(b.ctx, run.ID, domain.Hold{Until: later, Cause: "no claude"}); err != nil {
			t.Fatal(err)
		}
		if run, next, err := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || !next.Equal(later) || err != nil {
			t.Errorf("claimed %+v, next %v, %v, want it at %v", run, next, err, later)
		}
		b.clock.Advance(time.Minute)
		if err := b.Hold(b.ctx, run.ID, domain.Hold{Until: later}); !errors.Is(err, domain.ErrFenced) {
			t.Errorf("a lost run: %v", err)
		}
	}
}

// A firm hold outlasts a restart, its notice is shown until the message is claimed again or dropped, and claude learns
// that a message was dropped that it has read.
// Behaviour: usage-limit.
func TestFirmHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	notice := &domain.OutboxItem{To: chat.Address{Channel: "telegram", Chat: "1"}, Text: "later"}
	hold := func() time.Time {
		t.Helper()
		run := b.claim(t)
		if err := b.Consumed(b.ctx, run.ID); err != nil {
			t.Fatal(err)
		}
		until := b.clock.Now().Add(5 * time.Hour)
		if err := b.Hold(b.ctx, run.ID, domain.Hold{Until: until, Firm: true, Cause: "limit", Notice: notice}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Reclaim(b.ctx); err != nil {
			t.Fatal(err)
		}
		if run, next, err := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || !next.Equal(until) || err != nil {
			t.Errorf("after a restart it is claimed as %+v, or at %v, %v; want it at %v", run, next, err, until)
		}
		return until
	}
	shown := func(want ...string) {
		t.Helper()
		var got []string
		for {
			ds, _, err := b.ClaimDeliveriesNow(b.ctx, "telegram", 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(ds) == 0 {
				break
			}
			got = append(got, ds[0].Item.Text)
			if err := b.Delivered(b.ctx, ds[0].ID, []chat.MessageID{"m"}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the chat gets: %s", diff)
		}
	}
	b.accept(t, inbound("anna", 1))
	hold()
	shown("later")
	if list, err := b.WaitingMessages(b.ctx, "telegram:anna", 5); len(list) != 1 || err != nil {
		t.Errorf("it waits as %+v, %v", list, err)
	}
	if err := b.Next(b.ctx, "telegram:anna", 1); !errors.Is(err, domain.ErrHeld) {
		t.Errorf("it can be moved: %v", err)
	}
	b.clock.Advance(5 * time.Hour)
	hold()
	shown("", "later") // the first notice is deleted
	if err := b.Withdraw(b.ctx, "telegram:anna", 1, &domain.Author{Channel: "telegram", ID: "berta"}); !errors.Is(err, domain.ErrNotYours) {
		t.Errorf("anybody may drop it: %v", err)
	}
	if err := b.Withdraw(b.ctx, "telegram:anna", 1, nil); err != nil {
		t.Error(err)
	}
	shown("")
	b.accept(t, inbound("anna", 2))
	if run := b.claim(t); len(run.Notes) != 1 || run.Notes[0].Text != domain.HintWithdrawn {
		t.Errorf("the next turn gets %+v", run.Notes)
	}
}

func TestStepsOfALostRunAreFenced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	lost := b.claim(t).ID
	if err := b.Release(b.ctx, lost, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	steps := map[string]func(id int64) error{
		"consumed": func(id int64) error { return b.Consumed(b.ctx, id) },
		"replace":  func(id int64) error { _, err := b.ReplaceSession(b.ctx, id); return err },
		"begin as": func(id int64) error { return b.BeginAs(b.ctx, id, "spare") },
		"release":  func(id int64) error { return b.Release(b.ctx, id, time.Time{}, "") },
		"complete": func(id int64) error {
			return b.Complete(b.ctx, id, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: chat.Address{Channel: "c"}}}})
		},
	}
	for name, step := range steps {
		if err := step(lost); !errors.Is(err, domain.ErrFenced) {
			t.Errorf("%s: %v, want ErrFenced", name, err)
		}
	}
	if ds := b.deliveries(t, "c"); len(ds) != 0 {
		t.Errorf("a fenced run's answer is in the outbox: %+v", ds)
	}
}

// Behaviour: clock-set-back.
func TestReclaimUndoesAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	if _, err := b.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: chat.Address{Channel: "telegram", Chat: "anna"}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(-time.Hour)
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	if ds := b.deliveries(t, "telegram"); len(ds) != 1 {
		t.Errorf("%d pieces are due, want the one that was posted", len(ds))
	}
}

// A network that asked the host to wait is not called by the next process either.
// Behaviour: clock-set-back.
func TestReclaimLeavesAPauseAsItIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Post(b.ctx, key("post"), domain.OutboxItem{To: chat.Address{Channel: "telegram", Chat: "anna"}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Retry(b.ctx, b.deliveries(t, "telegram")[0].ID, domain.Retry{At: b.clock.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Second)
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	if ds := b.deliveries(t, "telegram"); len(ds) != 0 {
		t.Errorf("%d pieces are due within the pause", len(ds))
	}
	b.clock.Advance(time.Minute)
	if ds := b.deliveries(t, "telegram"); len(ds) != 1 {
		t.Errorf("%d pieces are due after the pause", len(ds))
	}
}

func TestAMessageThatCannotBeReadHoldsUpNoOtherSession(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"message", "told"} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, inbound("anna", 1))
			if _, err := raw(t, b.path).Exec(`UPDATE inbox SET ` + column + ` = 'no JSON'`); err != nil {
				t.Fatal(err)
			}
			b.clock.Advance(time.Second)
			b.accept(t, inbound("bert", 1))
			if run, _, err := b.ClaimNow(b.ctx, domain.TurnLane); err == nil || run != nil || !strings.Contains(err.Error(), "telegram:anna") {
				t.Fatalf("claimed %+v, %v, want an error that names the session", run, err)
			}
			if run := b.claim(t); run.Session.Key != "telegram:bert" {
				t.Errorf("claimed of %s", run.Session.Key)
			}
			b.clock.Advance(time.Hour)
			if _, _, err := b.ClaimNow(b.ctx, domain.TurnLane); err == nil {
				t.Error("the message is gone, or was not looked at again")
			}
		})
	}
}

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

func TestAcceptedMessageIsClaimedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := inbound("anna", 1)
	in.Message.Authority = chat.Owner
	in.Message.SentAt = start.Add(-time.Minute)
	in.Message.Thread = "t"
	in.Message.Text = "nul \x00, quote ', emoji 🦀"
	in.Message.Media = []chat.Media{{Ref: "r", Kind: chat.Voice, MIMEType: "audio/ogg", FileName: "a.ogg", Size: 3}}
	in.Message.ReplyTo = &chat.Quote{ID: "0", SenderName: "Claw", Text: "before", IsSelf: true}
	in.Message.Forwarded = &chat.Forward{From: "Bob", At: start}
	in.Message.Command = &domain.Command{Name: "status", Args: "all"}
	in.Message.Timeout = time.Minute
	in.Message.Silent = true

	if got, want := b.accept(t, in), (domain.Acceptance{Seq: 1}); got != want {
		t.Errorf("acceptance %+v, want %+v", got, want)
	}
	b.clock.Advance(time.Second)
	run := b.claim(t)
	if diff := cmp.Diff(in.Message, run.Head.Message); diff != "" {
		t.Errorf("message (-accepted +claimed):\n%s", diff)
	}
	if !run.Head.ReceivedAt.Equal(start) || run.Head.Attempts != 1 || !run.Head.ConsumedAt.IsZero() || !run.PreviousAt.IsZero() {
		t.Errorf("run %+v", run)
	}
	if run.Session.Key != "telegram:anna" || run.Session.ClaudeStarted || run.Session.ClaudeSession != run.Head.ClaudeSession {
		t.Errorf("session %+v", run.Session)
	}
	if want := (chat.Address{Channel: "telegram", Chat: "anna", Thread: "t"}); run.Session.Route != want {
		t.Errorf("route %+v, want %+v", run.Session.Route, want)
	}
}

func TestUUIDOfAMessageNeverChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	if got, want := b.claim(t).Head.UUID, "ff1e7979-f05e-5de9-a1ff-23195522ee77"; got != want {
		t.Errorf("uuid %s, want %s", got, want)
	}
}

// Behaviour: accept-once.
func TestEventIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	if a := b.accept(t, inbound("anna", 1)); !a.Duplicate {
		t.Errorf("the same event again: %+v", a)
	}
	other := inbound("anna", 1)
	other.Message.Channel = "discord"
	if a := b.accept(t, other); a.Duplicate {
		t.Error("the same id on another channel is another event")
	}
	b.complete(t, b.claim(t))
	b.reopen(t)
	if a := b.accept(t, inbound("anna", 1)); !a.Duplicate {
		t.Errorf("the same event after its answer and a restart: %+v", a)
	}
}

func TestAcceptRefusesWhatItCouldNotFindAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, change := range map[string]func(*domain.Inbound){
		"no event id":   func(in *domain.Inbound) { in.EventID = "" },
		"long event id": func(in *domain.Inbound) { in.EventID = chat.EventID(strings.Repeat("x", chat.MaxEventID+1)) },
		"no channel":    func(in *domain.Inbound) { in.Message.Channel = "" },
		"no session":    func(in *domain.Inbound) { in.Session = "" },
		"unknown lane":  func(in *domain.Inbound) { in.Lane = "fast" },
	} {
		in := inbound("anna", 1)
		change(&in)
		if _, err := b.Accept(b.ctx, in); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	b.idle(t)
}

// Behaviour: accept-full.
func TestFullLaneKeepsNothingOfAnEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limited := func(n int) domain.Inbound {
		in := inbound("anna", n)
		in.MaxWaiting = 2
		return in
	}
	b.accept(t, limited(1))
	run := b.claim(t) // a running message does not wait
	b.accept(t, limited(2))
	if a := b.accept(t, limited(3)); a.Waiting != 2 {
		t.Errorf("acceptance %+v, want 2 before it", a)
	}
	if _, err := b.Accept(b.ctx, limited(4)); !errors.Is(err, domain.ErrLaneFull) {
		t.Fatalf("error %v, want ErrLaneFull", err)
	}
	b.complete(t, run)
	b.complete(t, b.claim(t))
	if a := b.accept(t, limited(4)); a.Duplicate || a.Seq != 4 {
		t.Errorf("the refused event again: %+v", a)
	}
}

func TestMessageIsNotReadyBeforeItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := inbound("anna", 1)
	in.ReadyAt = start.Add(time.Second)
	b.accept(t, in)
	if !poked(b.pokes.Turns) {
		t.Error("the sender is not notified of the new time")
	}
	run, next, err := b.ClaimNow(b.ctx, domain.TurnLane)
	if err != nil || run != nil || !next.Equal(in.ReadyAt) {
		t.Fatalf("got run %v, next %v, error %v; want next %v", run, next, err, in.ReadyAt)
	}
	b.clock.Advance(time.Second)
	run = b.claim(t)

	second := inbound("anna", 2)
	second.ReadyAt = start.Add(time.Minute)
	b.accept(t, second)
	b.complete(t, run)
	if run, next, _ := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || !next.Equal(second.ReadyAt) {
		t.Errorf("behind a run: got run %v, next %v; want next %v", run, next, second.ReadyAt)
	}
}

func TestSessionFollowsItsMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.clock.Advance(time.Minute)

	menu := inbound("anna", 2) // a command: no title, no kind, another chat of the same person
	menu.Lane = domain.ControlLane
	menu.Message.Chat = chat.Chat{ID: "group"}
	b.accept(t, menu)
	b.clock.Advance(time.Minute)

	plugin := inbound("anna", 3)
	plugin.Message.Sender = chat.Sender{}
	b.accept(t, plugin)

	got, err := b.Session(b.ctx, "telegram:anna")
	if err != nil {
		t.Fatal(err)
	}
	want := domain.Session{
		Key: "telegram:anna", ClaudeSession: got.ClaudeSession, Kind: chat.Direct, Title: "anna",
		Route:     chat.Address{Channel: "telegram", Chat: "anna"},
		CreatedAt: start, ResetAt: start, InteractedAt: start,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.ClaudeSession == "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	b.complete(t, b.claim(t))
	if at := b.claim(t).PreviousAt; !at.Equal(start) {
		t.Errorf("the message before was received %v, want %v: a command is none", at, start)
	}
}

func TestClearDropsWaitingMessagesOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 3; n++ {
		b.accept(t, inbound("anna", n))
	}
	run := b.claim(t)
	watch, stop := b.Watch("telegram", "anna-2")
	defer stop()
	dropped, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, b.clock.Now().Add(time.Second))
	if err != nil || dropped != 2 {
		t.Fatalf("dropped %d, error %v; want 2", dropped, err)
	}
	if !poked(watch) {
		t.Error("who watches a dropped message is not told")
	}
	o, err := b.Outcome(b.ctx, "telegram", "anna-2")
	if err != nil || o.State != domain.RunCancelled {
		t.Errorf("outcome of a dropped message: %+v, %v", o, err)
	}
	b.complete(t, run)
	b.idle(t)
	b.accept(t, inbound("anna", 4))
	if dropped, _ := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, b.clock.Now().Add(time.Second)); dropped != 1 {
		t.Errorf("dropped %d of a lane that does not run, want 1", dropped)
	}
	b.idle(t)
	b.accept(t, inbound("anna", 5))
	if run := b.claim(t); run.Head.Seq != 5 {
		t.Errorf("claimed %d after the clear, want 5", run.Head.Seq)
	}
	if dropped, err := b.Clear(b.ctx, "nobody", domain.TurnLane, b.clock.Now().Add(time.Second)); dropped != 0 || err != nil {
		t.Errorf("a session without a lane: %d, %v", dropped, err)
	}
}

// What is taken in fast, as after a while without a connection, is distinguished as well.
// Behaviour: stop.
func TestACommandIsForWhatCameBeforeIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 7; n += 3 { // all within a millisecond
		b.accept(t, inbound("anna", n))
		stop := inbound("anna", n+1)
		stop.Lane = domain.ControlLane
		b.accept(t, stop)
		b.accept(t, inbound("anna", n+2))
		run, _, err := b.ClaimNow(b.ctx, domain.ControlLane)
		if err != nil || run == nil {
			t.Fatalf("got %+v, %v", run, err)
		}
		want := min(n, 2) // the one before, and the one behind the command before
		if dropped, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, run.Head.ReceivedAt); dropped != want || err != nil {
			t.Fatalf("dropped %d, %v; want %d", dropped, err, want)
		}
		b.complete(t, run)
	}
	if run := b.claim(t); run.Head.Message.Text != inbound("anna", 9).Message.Text {
		t.Errorf("claimed %q, want what was written last", run.Head.Message.Text)
	}
}

// Behaviour: clock-set-back.
func TestACommandIsForWhatCameBeforeTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.clock.Advance(-time.Hour)
	stop := inbound("anna", 2)
	stop.Lane = domain.ControlLane
	b.accept(t, stop)
	b.accept(t, inbound("anna", 3))
	run, _, err := b.ClaimNow(b.ctx, domain.ControlLane)
	if err != nil || run == nil {
		t.Fatalf("got %+v, %v", run, err)
	}
	if dropped, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, run.Head.ReceivedAt); dropped != 1 || err != nil {
		t.Errorf("dropped %d, %v; want 1", dropped, err)
	}
}

// Who writes /stop and then another message wants an answer to that one.
// Behaviour: stop.
func TestClearKeepsWhatCameLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 2; n++ {
		b.accept(t, inbound("anna", n))
		b.clock.Advance(time.Second)
	}
	run := b.claim(t)
	if err := b.Release(b.ctx, run.ID, b.clock.Now().Add(time.Minute), "claude died"); err != nil {
		t.Fatal(err)
	}
	stop := b.clock.Now()
	b.accept(t, inbound("anna", 3)) // in the same millisecond: never lost wins
	b.clock.Advance(time.Second)
	b.accept(t, inbound("anna", 4))
	poked(b.pokes.Turns)
	if dropped, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, stop); dropped != 2 || err != nil {
		t.Fatalf("dropped %d, %v; want 2", dropped, err)
	}
	if !poked(b.pokes.Turns) {
		t.Error("no one is notified that the lane is ready, whose first message had to wait")
	}
	for _, want := range []int64{3, 4} {
		run := b.claim(t)
		if run.Head.Seq != want {
			t.Fatalf("claimed %d, want %d", run.Head.Seq, want)
		}
		if dropped, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, stop); dropped != 0 || err != nil {
			t.Fatalf("dropped %d of what came later, %v", dropped, err)
		}
		b.complete(t, run)
	}
	b.idle(t)
}

// A reset and what is written after it may be claimed in any order: the reset holds from its acceptance on.
// Behaviour: new-while-running.
func TestResetHoldsForWhatIsAcceptedAfterIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	running := b.claim(t)
	command := inbound("anna", 2)
	command.Lane, command.Reset, command.Message.Command = domain.ControlLane, true, &domain.Command{Name: "new"}
	if a := b.accept(t, command); a.Replaced != running.Session.ClaudeSession {
		t.Errorf("replaced %q, want %q", a.Replaced, running.Session.ClaudeSession)
	}
	if a := b.accept(t, command); !a.Duplicate || a.Replaced != "" {
		t.Errorf("the same again: %+v", a)
	}
	b.accept(t, inbound("anna", 3))
	if err := b.Complete(b.ctx, running.ID, domain.Completion{State: domain.RunDone}); err != nil {
		t.Fatal(err)
	}
	if next := b.claim(t); next.Session.ClaudeSession == running.Session.ClaudeSession || next.Session.ClaudeStarted {
		t.Errorf("the message after the reset runs in %+v", next.Session)
	}
}

// A turn of a plugin, or of the host, is in a chat that they only think is there: it says nothing of where a session is.
// Behaviour: heartbeat-route.
func TestRouteIsWherePeopleWrite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := func(n int, in chat.ID, origin domain.Origin) chat.Address {
		t.Helper()
		m := inbound("anna", n)
		m.Message.Chat.ID, m.Message.Origin = in, origin
		b.accept(t, m)
		s, err := b.Session(b.ctx, m.Session)
		if err != nil {
			t.Fatal(err)
		}
		return s.Route
	}
	there := chat.Address{Channel: "telegram", Chat: "there"}
	for n, step := range []struct {
		in     chat.ID
		origin domain.Origin
		want   chat.Address
	}{
		{"nowhere", domain.OriginHeartbeat, chat.Address{}},
		{"there", "", there},
		{"nowhere", domain.OriginHeartbeat, there},
		{"nowhere", domain.OriginPlugin, there},
		{"nowhere", domain.OriginFlush, there},
		{"elsewhere", domain.OriginCompact, chat.Address{Channel: "telegram", Chat: "elsewhere"}},
	} {
		if got := at(n, step.in, step.origin); got != step.want {
			t.Errorf("%d: %+v, want %+v", n, got, step.want)
		}
	}
}

// A command that comes in the same millisecond as a message of another session is later, too: /stop stops all agents of a chat.
// Behaviour: stop.
func TestACommandIsLaterThanMessagesOfOtherSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("berta", 1))
	stop := inbound("anna", 2)
	stop.Lane, stop.Message.Command = domain.ControlLane, &domain.Command{Name: "stop"}
	b.accept(t, stop)
	run, _, err := b.ClaimNow(b.ctx, domain.ControlLane)
	if err != nil || run == nil {
		t.Fatal(run, err)
	}
	if n, err := b.Clear(b.ctx, "telegram:berta", domain.TurnLane, run.Head.ReceivedAt); n != 1 || err != nil {
		t.Errorf("%d messages were dropped, %v; want the one before the command", n, err)
	}
}

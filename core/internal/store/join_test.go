package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// steered is the nth message of anna, to be steered into the running turn.
func steered(n int) domain.Inbound { return queued(n, domain.Queueing{Mode: domain.Steer}) }

func uuid(n int) string { return domain.MessageUUID("telegram", inbound("anna", n).EventID) }

// join joins what waits and returns their seqs.
func (b *bundle) join(t *testing.T, run *domain.Run) (list []int64) {
	t.Helper()
	joined, err := b.Join(b.ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range joined {
		list = append(list, m.Seq)
	}
	return list
}

// Behaviour: steer-same.
func TestJoin(t *testing.T) {
	t.Parallel()
	steer := func(*domain.Inbound) {}
	many := func(n int) (list []func(*domain.Inbound)) {
		for range n {
			list = append(list, steer)
		}
		return list
	}
	for name, test := range map[string]struct {
		messages []func(*domain.Inbound)
		joined   []int64
	}{
		"nothing waits": {nil, nil},
		"in order":      {many(2), []int64{2, 3}},
		"the other mode of the kind": {
			[]func(*domain.Inbound){func(in *domain.Inbound) { in.Queue.Mode = domain.SteerBacklog }}, []int64{2},
		},
		"20 at once":                      {many(25), []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}},
		"up to one that is no steering":   {[]func(*domain.Inbound){steer, func(in *domain.Inbound) { in.Queue.Mode = domain.Followup }, steer}, []int64{2}},
		"up to another authority":         {[]func(*domain.Inbound){func(in *domain.Inbound) { in.Message.Authority = chat.Owner }, steer}, nil},
		"up to another chat":              {[]func(*domain.Inbound){steer, func(in *domain.Inbound) { in.Message.Chat.ID = "group" }}, []int64{2}},
		"up to another thread":            {[]func(*domain.Inbound){func(in *domain.Inbound) { in.Message.Thread = "t" }}, nil},
		"up to one whose answer stays":    {[]func(*domain.Inbound){steer, func(in *domain.Inbound) { in.Message.Silent = true }}, []int64{2}},
		"up to one with its own settings": {[]func(*domain.Inbound){func(in *domain.Inbound) { in.Message.Overrides.Model = "opus" }, steer}, nil},
		"whatever says how it waits":      {[]func(*domain.Inbound){func(in *domain.Inbound) { in.Message.Overrides.Queue.Mode = domain.Steer }}, []int64{2}},
		"up to a fresh conversation":      {[]func(*domain.Inbound){steer, func(in *domain.Inbound) { in.Message.Fresh = true }}, []int64{2}},
		"up to what no one wrote":         {[]func(*domain.Inbound){steer, func(in *domain.Inbound) { in.Message.Origin = domain.OriginPlugin }, steer}, []int64{2}},
		"an open burst":                   {[]func(*domain.Inbound){func(in *domain.Inbound) { in.Burst = bursting(2).Burst }}, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			for i, change := range test.messages {
				in := steered(i + 2)
				change(&in)
				b.accept(t, in)
			}
			if diff := cmp.Diff(test.joined, b.join(t, run)); diff != "" {
				t.Errorf("joined (-want +got):\n%s", diff)
			}
			lanes, err := b.Lanes(b.ctx)
			if want := len(test.messages) - len(test.joined); err != nil || lanes[0].Waiting != want {
				t.Errorf("lanes %+v, %v; want %d waiting", lanes, err, want)
			}
		})
	}
}

func TestJoinedMessageIsAsItWasAccepted(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	in := steered(2)
	in.Message.ReplyTo = &chat.Quote{ID: "1", Text: "message 1"}
	b.accept(t, in)
	joined, err := b.Join(b.ctx, run.ID)
	want := []domain.Queued{{Seq: 2, Number: 2, Burst: 2, Message: in.Message, EventID: "anna-2", UUID: uuid(2), ReceivedAt: start}}
	if diff := cmp.Diff(want, joined); err != nil || diff != "" {
		t.Errorf("joined, %v (-want +got):\n%s", err, diff)
	}
	if again := b.join(t, run); len(again) != 0 {
		t.Errorf("joined again: %v", again)
	}
	b.accept(t, steered(3))
	if diff := cmp.Diff([]int64{3}, b.join(t, run)); diff != "" {
		t.Errorf("what came later (-want +got):\n%s", diff)
	}
}

// What a person allowed for one message, such as every tool, is not for what others write into its turn.
// Behaviour: steer-same.
func TestNothingJoinsARunWithItsOwnSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own := func(n int) domain.Inbound {
		in := steered(n)
		in.Message.Overrides.Permission = "bypassPermissions"
		return in
	}
	b.accept(t, own(1))
	run := b.claim(t)
	b.accept(t, own(2))
	b.accept(t, steered(3))
	if diff := cmp.Diff([]int64{2}, b.join(t, run)); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
}

// Messages that come after the start of a new conversation do not join the old one's running turn. Messages that came
// before it do.
// Behaviour: new-while-running, steer-same.
func TestNothingJoinsARunOfAReplacedConversation(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, steered(2))
	reset := inbound("anna", 3)
	reset.Lane, reset.Message.Command, reset.Reset = domain.ControlLane, &domain.Command{Name: "new"}, true
	if b.accept(t, reset).Replaced != run.Head.ClaudeSession {
		t.Fatal("the running turn's conversation goes on")
	}
	b.accept(t, steered(4))
	if diff := cmp.Diff([]int64{2}, b.join(t, run)); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Covered: []string{uuid(2)}}); err != nil {
		t.Fatal(err)
	}
	if next := b.claim(t); next.Head.Seq != 3 || next.Head.ClaudeSession == run.Head.ClaudeSession || next.Session.Replaced {
		t.Errorf("then runs %+v", next.Head)
	}
}

// What waits when a new conversation is begun is answered in the one that it was written for.
// Behaviour: new-while-running.
func TestResetOfWaitingMessages(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	old := run.Head.ClaudeSession
	collect := domain.Queueing{Mode: domain.Collect}
	b.accept(t, queued(2, collect))
	fresh := queued(3, collect)
	fresh.Message.Fresh = true
	b.accept(t, fresh)
	b.accept(t, queued(4, collect))
	reset := inbound("anna", 5)
	reset.Lane, reset.Message.Command, reset.Reset = domain.ControlLane, &domain.Command{Name: "new"}, true
	if got := b.accept(t, reset).Replaced; got != old {
		t.Fatalf("replaced %q, want the one that runs", got)
	}
	b.accept(t, queued(6, collect))
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	b.complete(t, b.claim(t))
	seen := map[string]string{old: "the first"}
	for _, want := range []struct {
		asked, of string
		replaced  bool
	}{{"2", "the first", true}, {"3 4", "the second", true}, {"6", "the third", false}} {
		next := b.claim(t)
		claude := next.Session.ClaudeSession
		if seen[claude] == "" {
			seen[claude] = want.of
		}
		if asked(next) != want.asked || seen[claude] != want.of || next.Session.Replaced != want.replaced {
			t.Errorf("%s runs in %s, replaced %t; want %+v", asked(next), seen[claude], next.Session.Replaced, want)
		}
		if want.asked == "2" { // whose record is gone: another one takes its place, and not the newest one's
			session, err := b.ReplaceSession(b.ctx, next.ID)
			if err != nil || seen[session.ClaudeSession] != "" || !session.Replaced {
				t.Errorf("bound to %+v, %v", session, err)
			}
			seen[session.ClaudeSession] = "another"
		}
		b.complete(t, next)
	}
	b.idle(t)
}

// What a run has covered is over with it; the rest waits again, in its order.
func TestCovered(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	for n := 2; n <= 5; n++ {
		b.accept(t, steered(n))
	}
	b.join(t, run)
	b.accept(t, queued(6, domain.Queueing{}))
	b.accept(t, queued(7, domain.Queueing{}))
	watch, stop := b.Watch("telegram", inbound("anna", 3).EventID)
	defer stop()
	if err := b.Complete(b.ctx, run.ID, domain.Completion{
		State: domain.RunFailed, Error: "overloaded", Answer: "sorry",
		Covered: []string{uuid(3), uuid(5), uuid(6), uuid(1), "nobody's"}, // 6 was not joined
	}); err != nil {
		t.Fatal(err)
	}
	if !poked(watch) {
		t.Error("no one is notified of a covered message")
	}
	for _, n := range []int{1, 3, 5, 6} {
		o, err := b.Outcome(b.ctx, "telegram", inbound("anna", n).EventID)
		if err != nil || o != (domain.Outcome{State: domain.RunFailed, Answer: "sorry", Error: "overloaded"}) {
			t.Errorf("message %d: %+v, %v", n, o, err)
		}
	}
	entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	var said []string
	for _, e := range entries {
		said = append(said, e.Text)
	}
	if diff := cmp.Diff([]string{"message 1", "message 3", "message 5", "message 6"}, said); err != nil || diff != "" {
		t.Errorf("transcript, %v (-want +got):\n%s", err, diff)
	}
	lanes, err := b.Lanes(b.ctx)
	if err != nil || len(lanes) != 1 || lanes[0].Waiting != 3 || lanes[0].Running {
		t.Errorf("lanes %+v, %v", lanes, err)
	}
	var w work
	b.do(t, &w, time.Hour)
	if diff := cmp.Diff([][]int64{{2}, {4}, {7}}, w.runs); diff != "" {
		t.Errorf("the others (-want +got):\n%s", diff)
	}
}

// A run that comes to no end gives back what was joined to it; the next attempt may get it again.
// Behaviour: steer-once.
func TestJoinedMessagesOfALostRun(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(b *bundle, run *domain.Run) error{
		"released":  func(b *bundle, run *domain.Run) error { return b.Release(b.ctx, run.ID, time.Time{}, "") },
		"reclaimed": func(b *bundle, _ *domain.Run) error { _, _, err := b.Reclaim(b.ctx); return err },
		"reopened": func(b *bundle, _ *domain.Run) error {
			b.reopen(t)
			_, _, err := b.Reclaim(b.ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			b.accept(t, steered(2))
			b.accept(t, steered(3))
			b.join(t, run)
			if err := lose(b, run); err != nil {
				t.Fatal(err)
			}
			lanes, err := b.Lanes(b.ctx)
			if err != nil || len(lanes) != 1 || lanes[0].Waiting != 3 || lanes[0].Running {
				t.Errorf("lanes %+v, %v", lanes, err)
			}
			again := b.claim(t)
			if diff := cmp.Diff([]int64{1}, seqs(again)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]int64{2, 3}, b.join(t, again)); diff != "" {
				t.Errorf("joined (-want +got):\n%s", diff)
			}
			b.complete(t, again)
			var w work
			b.do(t, &w, time.Hour)
			if diff := cmp.Diff([][]int64{{2}, {3}}, w.runs); diff != "" {
				t.Errorf("the others (-want +got):\n%s", diff)
			}
		})
	}
}

// What was joined to a run is dropped at its end when it was cleared, but for what the run has covered: that was said. What
// came after the stop waits again.
// Behaviour: stop.
func TestClearOfJoinedMessages(t *testing.T) {
	t.Parallel()
	stop := start.Add(time.Second)
	for name, test := range map[string]struct {
		end  func(b *bundle, run *domain.Run) error
		said []string
		runs [][]int64
	}{
		"stopped": {
			func(b *bundle, run *domain.Run) error {
				return b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunCancelled, Covered: []string{uuid(2)}})
			},
			[]string{"message 1", "message 2"},
			[][]int64{{5}},
		},
		"given back": {
			func(b *bundle, run *domain.Run) error { return b.Release(b.ctx, run.ID, time.Time{}, "") },
			nil,
			[][]int64{{1}, {5}},
		},
		"lost with the host": {
			func(b *bundle, _ *domain.Run) error { _, _, err := b.Reclaim(b.ctx); return err },
			nil,
			[][]int64{{1}, {5}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			b.accept(t, steered(2))
			b.accept(t, steered(3))
			b.join(t, run)
			b.accept(t, queued(4, domain.Queueing{}))
			b.clock.Advance(time.Minute)
			b.accept(t, steered(5))
			b.join(t, run)
			for _, want := range []int{3, 0} {
				if dropped, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, stop); dropped != want || err != nil {
					t.Errorf("dropped %d, %v; want %d", dropped, err, want)
				}
			}
			b.wantOutcome(t, 3, "")
			b.wantOutcome(t, 4, domain.RunCancelled)
			if err := test.end(b, run); err != nil {
				t.Fatal(err)
			}
			b.wantOutcome(t, 3, domain.RunCancelled)
			entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
			var said []string
			for _, e := range entries {
				said = append(said, e.Text)
			}
			if diff := cmp.Diff(test.said, said); err != nil || diff != "" {
				t.Errorf("transcript, %v (-want +got):\n%s", err, diff)
			}
			var w work
			b.do(t, &w, time.Hour)
			if diff := cmp.Diff(test.runs, w.runs); diff != "" {
				t.Errorf("then runs (-want +got):\n%s", diff)
			}
			b.idle(t)
		})
	}
}

// A run is over for the chat once it is completed, however long what is left of its work takes.
func TestLaneShowsWhatRunsAndWaits(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	want := func(session string, runs bool, waiting int) {
		t.Helper()
		since, n, err := b.Lane(b.ctx, session, domain.TurnLane)
		if since.IsZero() == runs || n != waiting || err != nil {
			t.Errorf("running since %v, %d wait, %v; want running %t, %d", since, n, err, runs, waiting)
		}
	}
	want("telegram:anna", true, 0)
	b.accept(t, steered(2))
	b.accept(t, queued(3, domain.Queueing{}))
	want("telegram:anna", true, 2)
	b.join(t, run)
	want("telegram:anna", true, 1)
	b.complete(t, run)
	want("telegram:anna", false, 2)
	want("telegram:never", false, 0)
}

// Messages that a run holds are not among those that may be too many, and are not dropped for others.
func TestCapCountsWhatWaits(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	limited := func(n int) domain.Inbound {
		return queued(n, domain.Queueing{Mode: domain.Steer, Cap: 1, Drop: domain.DropOld})
	}
	b.accept(t, limited(2))
	b.join(t, run)
	b.accept(t, limited(3))
	b.wantOutcome(t, 2, "")
	b.accept(t, limited(4))
	b.wantOutcome(t, 2, "")
	b.wantOutcome(t, 3, domain.RunCancelled)
	b.complete(t, run)
	var w work
	b.do(t, &w, time.Hour)
	if diff := cmp.Diff([][]int64{{2}, {4}}, w.runs); diff != "" {
		t.Error(diff)
	}
}

// Behaviour: memory-flush.
func TestCompletionThenRunsBeforeWaitingMessages(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, steered(2))
	b.accept(t, queued(3, domain.Queueing{Mode: domain.Collect}))
	b.clock.Advance(time.Minute)
	b.accept(t, queued(4, domain.Queueing{Mode: domain.Collect}))
	b.join(t, run)
	flush := inbound("anna", 9)
	flush.Message.Origin, flush.Message.Text, flush.Message.Sender = domain.OriginFlush, "flush", chat.Sender{}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Then: &flush}); err != nil {
		t.Fatal(err)
	}
	next := b.claim(t)
	if next.Head.Message.Text != "flush" || len(next.More) != 0 || next.Head.UUID != uuid(9) || !next.PreviousAt.Equal(start.Add(time.Minute)) {
		t.Errorf("claimed %+v", next)
	}
	// Claimed again, and with the same message to come behind it once more, it is the same.
	if err := b.Release(b.ctx, next.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	next = b.claim(t)
	if next.Head.Message.Text != "flush" || next.Head.Attempts != 2 {
		t.Errorf("claimed again: %+v", next)
	}
	if err := b.Complete(b.ctx, next.ID, domain.Completion{State: domain.RunDone, Then: &flush}); err != nil {
		t.Fatal(err)
	}
	b.wantOutcome(t, 9, domain.RunDone)
	var w work
	b.do(t, &w, time.Hour)
	if diff := cmp.Diff([][]int64{{2}, {3, 4}}, w.runs); diff != "" {
		t.Errorf("the others (-want +got):\n%s", diff)
	}
	entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	if err != nil || len(entries) != 4 {
		t.Errorf("the flush is told in the transcript: %+v, %v", entries, err)
	}
}

// What comes next is for the conversation of the run, not for one that has taken its place.
// Behaviour: memory-flush-when.
func TestThenIsDroppedWithItsConversation(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	reset := inbound("anna", 2)
	reset.Lane, reset.Message.Command, reset.Reset = domain.ControlLane, &domain.Command{Name: "new"}, true
	b.accept(t, reset)
	flush := inbound("anna", 3)
	flush.Message.Origin = domain.OriginFlush
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Then: &flush}); err != nil {
		t.Fatal(err)
	}
	if next, _, err := b.ClaimNow(b.ctx, domain.TurnLane); next != nil || err != nil {
		t.Errorf("claimed %+v, %v", next, err)
	}
}

func TestCompletionThenWakesAnIdleLane(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	poked(b.pokes.Turns)
	flush := inbound("anna", 2)
	flush.Message.Origin = domain.OriginFlush
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Then: &flush}); err != nil {
		t.Fatal(err)
	}
	if !poked(b.pokes.Turns) {
		t.Error("no one is notified")
	}
	b.complete(t, b.claim(t))
	b.idle(t)
	b.accept(t, inbound("anna", 3))
	run = b.claim(t)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Then: &domain.Inbound{}}); err == nil {
		t.Error("a message without an event comes next")
	}
	b.complete(t, run)
}

package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// turns runs what is ready now, run for run, and returns the messages of each.
func (b *bundle) turns(t *testing.T) (runs []string) {
	t.Helper()
	for {
		run, _, err := b.ClaimNow(b.ctx, domain.TurnLane)
		if err != nil {
			t.Fatal(err)
		}
		if run == nil {
			return runs
		}
		runs = append(runs, asked(run))
		b.complete(t, run)
	}
}

// asked is what the messages of a run say.
func asked(run *domain.Run) string {
	list := []string{strings.TrimPrefix(run.Head.Message.Text, "message ")}
	for _, m := range run.More {
		list = append(list, strings.TrimPrefix(m.Message.Text, "message "))
	}
	return strings.Join(list, " ")
}

func (b *bundle) next(t *testing.T, seqs ...int64) {
	t.Helper()
	for _, seq := range seqs {
		if err := b.Next(b.ctx, "telegram:anna", seq); err != nil {
			t.Fatalf("next is %d: %v", seq, err)
		}
	}
}

// listed are the numbers of what waits, in order. As each message says its number, they are what is said, too.
func (b *bundle) listed(t *testing.T) (list []string) {
	t.Helper()
	waiting, err := b.WaitingMessages(b.ctx, "telegram:anna", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range waiting {
		if number := strings.TrimPrefix(w.Message.Text, "message "); number != fmt.Sprint(w.Seq) || w.ReceivedAt.IsZero() {
			t.Errorf("%+v is listed as %d", w.Message, w.Seq)
		}
		list = append(list, fmt.Sprint(w.Seq))
	}
	return list
}

// Behaviour: queue-list, queue-next.
func TestNext(t *testing.T) {
	t.Parallel()
	quiet := domain.Queueing{Mode: domain.Followup, Quiet: time.Minute}
	collect := domain.Queueing{Mode: domain.Collect, Quiet: time.Minute}
	for name, test := range map[string]struct {
		wait []domain.Inbound // as messages 2, 3 and so on, behind 1, which runs
		next []int64
		runs []string // before a minute has passed
		late []string
	}{
		"one of several":          {[]domain.Inbound{queued(2, quiet), queued(3, quiet), queued(4, quiet)}, []int64{3}, []string{"3"}, []string{"2", "4"}},
		"the first":               {[]domain.Inbound{queued(2, quiet), queued(3, quiet)}, []int64{2}, []string{"2"}, []string{"3"}},
		"the last wish first":     {[]domain.Inbound{queued(2, quiet), queued(3, quiet), queued(4, quiet)}, []int64{3, 4}, []string{"4", "3"}, []string{"2"}},
		"wished twice":            {[]domain.Inbound{queued(2, quiet), queued(3, quiet), queued(4, quiet)}, []int64{4, 3, 4}, []string{"4", "3"}, []string{"2"}},
		"one that others collect": {[]domain.Inbound{queued(2, collect), queued(3, collect), queued(4, collect)}, []int64{3}, []string{"3"}, []string{"2 4"}},
		"a burst":                 {[]domain.Inbound{queued(2, quiet), bursting(3), bursting(4)}, []int64{4}, []string{"3 4"}, []string{"2"}},
		"a burst of two":          {[]domain.Inbound{bursting(2), bursting(3), queued(4, quiet)}, []int64{4, 3}, []string{"2 3", "4"}, nil},
	} {
		for when, busyLane := range map[string]bool{"behind a run": true, "in a lane that rests": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				b, run := busy(t)
				for _, in := range test.wait {
					b.accept(t, in)
				}
				listed := func() {
					t.Helper()
					want(t, "listed", strings.Fields(strings.Join(append(test.runs, test.late...), " ")), b.listed(t))
				}
				if busyLane {
					b.next(t, test.next...)
					listed()
					b.complete(t, run)
				} else {
					b.complete(t, run)
					b.next(t, test.next...)
					listed()
				}
				want(t, "at once", test.runs, b.turns(t))
				b.clock.Advance(time.Hour)
				want(t, "later", test.late, b.turns(t))
				b.idle(t)
			})
		}
	}
}

// A lane whose first message waits still has no seqs below it that are not negative.
func TestNextInAFreshLane(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 4 {
		in := inbound("anna", n+1)
		in.ReadyAt = start.Add(time.Minute)
		b.accept(t, in)
	}
	poked(b.pokes.Turns)
	b.next(t, 2, 4)
	if !poked(b.pokes.Turns) {
		t.Error("no one is notified that there is something to claim")
	}
	b.next(t, 3)
	if err := b.Withdraw(b.ctx, "telegram:anna", 4, nil); err != nil { // by its number still
		t.Fatal(err)
	}
	want(t, "at once", []string{"3", "2"}, b.turns(t))
	b.clock.Advance(time.Hour)
	b.accept(t, inbound("anna", 5))
	want(t, "later", []string{"1", "5"}, b.turns(t))
}

// Behaviour: queue-next.
func TestNextWaitsForWhatIsToBeTriedAgain(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, inbound("anna", 2))
	b.accept(t, inbound("anna", 3))
	if err := b.Release(b.ctx, run.ID, start.Add(time.Second), "overloaded"); err != nil {
		t.Fatal(err)
	}
	b.next(t, 3)
	want(t, "before the retry", []string(nil), b.turns(t))
	b.clock.Advance(time.Second)
	want(t, "then", []string{"1", "3", "2"}, b.turns(t))
}

func TestWhatTheHostDoesFirstComesBeforeTheNext(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, inbound("anna", 2))
	b.accept(t, inbound("anna", 3))
	b.next(t, 3)
	then := inbound("anna", 9)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Then: &then}); err != nil {
		t.Fatal(err)
	}
	want(t, "then", []string{"9", "3", "2"}, b.turns(t))
}

// What is next takes the place of a burst's first message, which was withdrawn. It is not answered with the rest of it.
// Behaviour: queue-next, burst.
func TestTheNextJoinsNoBurst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, bursting(1))
	b.accept(t, bursting(2))
	if err := b.Withdraw(b.ctx, "telegram:anna", 1, nil); err != nil {
		t.Fatal(err)
	}
	bobs := bursting(3)
	bobs.Burst.By, bobs.Message.Sender.ID = "bob", "bob"
	b.accept(t, bobs)
	b.next(t, 3)
	want(t, "the run", []string{"3"}, b.turns(t))
}

// A message that a turn leaves behind has a number that no other message has had.
func TestMessageNumbersAreNotReused(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, inbound("anna", 2))
	then := inbound("anna", 3)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Then: &then}); err != nil {
		t.Fatal(err)
	}
	want(t, "the list", []string{"3", "2"}, b.listed(t))
}

// Behaviour: queue-next.
func TestTheNextIsNotDroppedForTheCap(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	capped := domain.Queueing{Mode: domain.Queue, Cap: 2, Drop: domain.DropOld}
	b.accept(t, queued(2, capped))
	b.accept(t, queued(3, capped))
	b.next(t, 2)
	b.accept(t, queued(4, capped))
	b.complete(t, run)
	want(t, "left", []string{"2", "4"}, b.turns(t))
}

func TestOnlyWaitingMessagesCanBeNextOrWithdrawn(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, steered(2))
	b.join(t, run)
	for name, wish := range map[string]struct {
		session string
		seq     int64
	}{"what runs": {"telegram:anna", 1}, "what was joined": {"telegram:anna", 2}, "what is not there": {"telegram:anna", 3}, "of another": {"telegram:bob", 1}} {
		if err := b.Next(b.ctx, wish.session, wish.seq); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s is next: %v", name, err)
		}
		if err := b.Withdraw(b.ctx, wish.session, wish.seq, nil); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s is withdrawn: %v", name, err)
		}
	}
}

// Behaviour: queue-next.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	for n := 2; n < 5; n++ {
		b.accept(t, inbound("anna", n))
	}
	if err := b.Withdraw(b.ctx, "telegram:anna", 3, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Withdraw(b.ctx, "telegram:anna", 2, &domain.Author{Channel: "telegram", ID: "berta"}); !errors.Is(err, domain.ErrNotYours) {
		t.Errorf("what may not be withdrawn is: %v", err)
	}
	b.wantOutcome(t, 3, domain.RunCancelled)
	b.complete(t, run)
	if err := b.Withdraw(b.ctx, "telegram:anna", 2, nil); err != nil { // the head of a lane that rests
		t.Fatal(err)
	}
	want(t, "left", []string{"4"}, b.turns(t))
	b.idle(t)
}

// Behaviour: program-ask-key.
func TestWithdrawEvent(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, inbound("anna", 2))
	b.accept(t, inbound("anna", 3))
	for _, id := range []chat.EventID{inbound("anna", 1).EventID, "unknown"} { // one runs, the other is unknown
		if err := b.WithdrawEvent(b.ctx, "telegram:anna", "telegram", id); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s is withdrawn: %v", id, err)
		}
	}
	if err := b.WithdrawEvent(b.ctx, "telegram:anna", "telegram", inbound("anna", 2).EventID); err != nil {
		t.Fatal(err)
	}
	b.wantOutcome(t, 2, domain.RunCancelled)
	b.complete(t, run)
	want(t, "left", []string{"3"}, b.turns(t))
}

// edited is a message as its writer has edited it.
func edited(channel string, in chat.ID, id chat.MessageID) domain.Message {
	m := inbound("anna", 1).Message
	m.Channel, m.Chat.ID, m.ID, m.Text, m.Raw = channel, in, id, "new", "/now new"
	return m
}

// An edit may make of a message what is not answered with others, and begin a conversation with it.
// Behaviour: edit-waiting.
func TestAnEditedMessageOfABurst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*domain.Message)
		want   []string // the runs, each with its messages
	}{
		"a text":           {func(*domain.Message) {}, []string{"2 new 4"}},
		"a directive":      {func(m *domain.Message) { m.Overrides.Effort = "high" }, []string{"2", "new", "4"}},
		"how it waits":     {func(m *domain.Message) { m.Overrides.Queue.Mode = domain.Collect }, []string{"2 new 4"}},
		"a conversation":   {func(m *domain.Message) { m.Fresh = true }, []string{"2", "new 4"}},
		"no person's word": {func(m *domain.Message) { m.Origin = domain.OriginCompact }, []string{"2", "new", "4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			for n := 2; n <= 4; n++ {
				in := inbound("anna", n)
				in.Burst = domain.Burst{Gap: time.Minute, Pause: time.Minute, By: "anna"}
				b.accept(t, in)
			}
			m := edited("telegram", "anna", "3")
			test.change(&m)
			if got, err := b.Find(b.ctx, "telegram", "anna", "3"); err != nil || got.Standing != domain.StandingWaiting || got.Message.Text != "message 3" {
				t.Fatalf("found %+v, %v", got, err)
			}
			if standing, err := b.Amend(b.ctx, m, new("opus"), 0); err != nil || standing != domain.StandingWaiting {
				t.Fatal(standing, err)
			}
			b.complete(t, run)
			b.clock.Advance(time.Minute)
			want(t, "runs", test.want, b.turns(t))
			b.idle(t)
			if s, err := b.Session(b.ctx, "telegram:anna"); err != nil || s.Overrides.Model != "opus" {
				t.Errorf("chosen %+v, %v", s.Overrides, err)
			}
		})
	}
}

// Behaviour: edit-no-command.
func TestWithdrawnMessageIsReported(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, inbound("anna", 2))
	notice := domain.OutboxItem{To: chat.Address{Channel: "telegram", Chat: "anna"}, Text: "taken back"}
	for n, want := range []domain.Standing{domain.StandingWaiting, domain.StandingNone} {
		if got, err := b.WithdrawMessage(b.ctx, "telegram", "anna", "2", 0, notice); err != nil || got != want {
			t.Errorf("%d: %q, %v, want %q", n, got, err, want)
		}
	}
	b.complete(t, run)
	b.idle(t)
	if sent := b.deliveries(t, "telegram"); len(sent) != 1 || sent[0].Item.Text != "taken back" {
		t.Errorf("sent %+v", sent)
	}
}

// Behaviour: edit-waiting.
func TestAWaitingMessageThatIsEditedOrDeleted(t *testing.T) {
	t.Parallel()
	other := inbound("anna", 2)
	other.EventID, other.Session, other.Message.Chat.ID = "x", "telegram:group", "group"
	for name, test := range map[string]struct {
		channel string
		chat    chat.ID
		id      chat.MessageID
		want    domain.Standing
		amended []string // the runs after an edit
		left    []string // the runs after a deletion
	}{
		"one that waits":  {"telegram", "anna", "3", domain.StandingWaiting, []string{"1", "2", "new"}, []string{"1", "2"}},
		"what runs":       {"telegram", "anna", "1", domain.StandingRunning, []string{"1", "2", "3"}, []string{"1", "2", "3"}},
		"in another chat": {"telegram", "bob", "3", domain.StandingNone, []string{"1", "2", "3"}, []string{"1", "2", "3"}},
		"another channel": {"discord", "anna", "3", domain.StandingNone, []string{"1", "2", "3"}, []string{"1", "2", "3"}},
		"unknown":         {"telegram", "anna", "9", domain.StandingNone, []string{"1", "2", "3"}, []string{"1", "2", "3"}},
		"without an id":   {"telegram", "anna", "", domain.StandingNone, []string{"1", "2", "3"}, []string{"1", "2", "3"}},
	} {
		for what, runs := range map[string][]string{"edited": test.amended, "deleted": test.left} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				b, run := busy(t)
				b.accept(t, other) // has the id of another chat's
				b.complete(t, b.claim(t))
				b.accept(t, inbound("anna", 2))
				b.accept(t, inbound("anna", 3))
				unnamed := inbound("anna", 4)
				unnamed.Message.ID, unnamed.Lane = "", domain.ControlLane
				b.accept(t, unnamed)
				var got domain.Standing
				var err error
				if what == "edited" {
					got, err = b.Amend(b.ctx, edited(test.channel, test.chat, test.id), nil, 0)
				} else {
					got, err = b.WithdrawMessage(b.ctx, test.channel, test.chat, test.id, 0)
				}
				if got != test.want || err != nil {
					t.Errorf("it stands %q, %v; want %q", got, err, test.want)
				}
				if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
					t.Fatal(err)
				}
				want(t, "runs", runs, b.turns(t))
			})
		}
	}
}

// A message that was steered and is known to be unread can be changed like a waiting one; it is then steered again with another id.
// Behaviour: edit-waiting.
func TestSteeredMessageThatWasNotRead(t *testing.T) {
	t.Parallel()
	steeredRun := func(t *testing.T) (*bundle, *domain.Run, domain.Found) {
		t.Helper()
		b, run := busy(t)
		b.accept(t, steered(2))
		b.accept(t, steered(3))
		want(t, "told", []int64{2, 3}, b.join(t, run))
		found, err := b.Find(b.ctx, "telegram", "anna", "2")
		if err != nil || found.Standing != domain.StandingSteered || found.Session != "telegram:anna" || found.UUID != uuid(2) ||
			found.Run != run.ID || found.ClaudeSession != run.Head.ClaudeSession {
			t.Fatalf("found %+v, %v", found, err)
		}
		return b, run, found
	}
	t.Run("edited", func(t *testing.T) {
		t.Parallel()
		b, run, found := steeredRun(t)
		found.Message.Text, found.Message.Edition = "new", "edit-1"
		for _, other := range []int64{0, run.ID + 1} {
			if got, err := b.Amend(b.ctx, found.Message, nil, other); err != nil || got != domain.StandingSteered {
				t.Errorf("it stands %q, %v", got, err)
			}
		}
		if got, err := b.Amend(b.ctx, found.Message, nil, run.ID); err != nil || got != domain.StandingWaiting {
			t.Errorf("it stands %q, %v", got, err)
		}
		again, err := b.Join(b.ctx, run.ID)
		edition := domain.MessageUUID("telegram", "edit-1")
		if err != nil || len(again) != 1 || again[0].Message.Text != "new" || again[0].UUID != edition {
			t.Errorf("got %+v, %v", again, err)
		}
		if found, err := b.Find(b.ctx, "telegram", "anna", "2"); err != nil || found.UUID != edition || found.Standing != domain.StandingSteered {
			t.Errorf("found %+v, %v", found, err)
		}
		if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Covered: []string{edition, uuid(3)}}); err != nil {
			t.Fatal(err)
		}
		entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
		if err != nil || len(entries) != 3 || entries[1].Text != "new" {
			t.Errorf("the transcript is %+v, %v", entries, err)
		}
		b.idle(t)
	})
	t.Run("edited, and not told again", func(t *testing.T) {
		t.Parallel()
		b, run, found := steeredRun(t)
		found.Message.Text, found.Message.Edition = "new", "edit-1"
		if got, err := b.Amend(b.ctx, found.Message, nil, run.ID); err != nil || got != domain.StandingWaiting {
			t.Errorf("it stands %q, %v", got, err)
		}
		if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Covered: []string{uuid(2), uuid(3)}}); err != nil {
			t.Fatal(err)
		}
		if next := b.claim(t); next.Head.Message.Text != "new" || next.Head.UUID != domain.MessageUUID("telegram", "edit-1") {
			t.Errorf("then runs %+v", next.Head)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		b, run, _ := steeredRun(t)
		if got, err := b.WithdrawMessage(b.ctx, "telegram", "anna", "2", 0); err != nil || got != domain.StandingSteered {
			t.Errorf("it stands %q, %v", got, err)
		}
		if got, err := b.WithdrawMessage(b.ctx, "telegram", "anna", "2", run.ID); err != nil || got != domain.StandingWaiting {
			t.Errorf("it stands %q, %v", got, err)
		}
		if lanes, err := b.Lanes(b.ctx); err != nil || lanes[0].Waiting != 0 {
			t.Errorf("lanes %+v, %v", lanes, err)
		}
		b.complete(t, run)
		want(t, "runs", []string{"3"}, b.turns(t))
		b.idle(t)
	})
	t.Run("cleared", func(t *testing.T) {
		t.Parallel()
		b, run, _ := steeredRun(t)
		if _, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, start.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if got, err := b.WithdrawMessage(b.ctx, "telegram", "anna", "2", run.ID); err != nil || got != domain.StandingNone {
			t.Errorf("it stands %q, %v", got, err)
		}
	})
}

// Behaviour: edit-waiting.
func TestAnEditedMessageIsInTheTranscriptAsItWasRead(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, inbound("anna", 2))
	if _, err := b.Amend(b.ctx, edited("telegram", "anna", "2"), nil, 0); err != nil {
		t.Fatal(err)
	}
	b.complete(t, run)
	b.turns(t)
	entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	if err != nil || len(entries) != 2 || entries[1].Text != "/now new" {
		t.Errorf("the transcript is %+v, %v", entries, err)
	}
}

// The receipt of a waiting message is in the chat as long as it waits.
// Behaviour: receipt.
func TestReceipts(t *testing.T) {
	t.Parallel()
	with := func(in domain.Inbound, change func(*domain.Inbound)) domain.Inbound {
		change(&in)
		return in
	}
	plain, steering := queued(2, domain.Queueing{}), domain.Queueing{Mode: domain.Steer}
	for name, test := range map[string]struct {
		in   []domain.Inbound
		end  func(b *bundle, run *domain.Run) error
		gone bool // the receipt is, after that
		none bool // there is no receipt
	}{
		"as long as it waits": {in: []domain.Inbound{plain}, end: func(*bundle, *domain.Run) error { return nil }},
		"even first":          {in: []domain.Inbound{plain}, end: func(b *bundle, _ *domain.Run) error { return b.Next(b.ctx, "telegram:anna", 2) }},
		"and when it is free": {in: []domain.Inbound{plain}, end: func(b *bundle, run *domain.Run) error {
			return b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone})
		}},
		"claimed": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, run *domain.Run) error {
			if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil {
				return err
			}
			_, _, err := b.ClaimNow(b.ctx, domain.TurnLane)
			return err
		}},
		"steered into the run": {in: []domain.Inbound{inbound("anna", 2), queued(3, steering)}, gone: true, end: func(b *bundle, run *domain.Run) error {
			if err := b.Withdraw(b.ctx, "telegram:anna", 2, nil); err != nil {
				return err
			}
			_, err := b.Join(b.ctx, run.ID)
			return err
		}},
		"covered": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, run *domain.Run) error {
			return b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Covered: []string{uuid(2)}})
		}},
		"withdrawn": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, _ *domain.Run) error { return b.Withdraw(b.ctx, "telegram:anna", 2, nil) }},
		"deleted": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, _ *domain.Run) error {
			_, err := b.WithdrawMessage(b.ctx, "telegram", "anna", "2", 0)
			return err
		}},
		"cleared": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, _ *domain.Run) error {
			_, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, start.Add(time.Second))
			return err
		}},
		"interrupted": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, _ *domain.Run) error {
			_, err := b.Accept(b.ctx, queued(3, domain.Queueing{Mode: domain.Interrupt}))
			return err
		}},
		"dropped for another": {in: []domain.Inbound{plain}, gone: true, end: func(b *bundle, _ *domain.Run) error {
			_, err := b.Accept(b.ctx, queued(3, domain.Queueing{Mode: domain.Queue, Cap: 1, Drop: domain.DropOld}))
			return err
		}},
		"not to be steered into the run":   {in: []domain.Inbound{with(queued(2, steering), func(in *domain.Inbound) { in.Message.Authority = chat.Owner })}},
		"of another thread":                {in: []domain.Inbound{with(queued(2, steering), func(in *domain.Inbound) { in.Message.Thread = "t" })}},
		"with directives":                  {in: []domain.Inbound{with(queued(2, steering), func(in *domain.Inbound) { in.Message.Overrides.Effort = "high" })}},
		"of a new conversation":            {in: []domain.Inbound{with(queued(2, steering), func(in *domain.Inbound) { in.Message.Fresh = true })}},
		"behind one that is not told":      {in: []domain.Inbound{inbound("anna", 2), queued(3, steering)}},
		"that interrupts nothing":          {in: []domain.Inbound{with(queued(2, steering), func(in *domain.Inbound) { in.Message.Authority = chat.Owner }), queued(3, domain.Queueing{Mode: domain.Interrupt})}},
		"it is to be steered into the run": {in: []domain.Inbound{queued(2, steering)}, none: true},
		"so is the one before":             {in: []domain.Inbound{queued(2, steering), queued(3, steering)}, none: true},
		"it ends the run":                  {in: []domain.Inbound{queued(2, domain.Queueing{Mode: domain.Interrupt})}, none: true},
		"not taken":                        {in: []domain.Inbound{inbound("anna", 2), queued(3, domain.Queueing{Cap: 1, Drop: domain.DropNew})}, none: true},
		"behind its burst":                 {in: []domain.Inbound{bursting(2), bursting(3)}, end: func(*bundle, *domain.Run) error { return nil }},
		"it waits for no one": {none: true, end: func(b *bundle, run *domain.Run) error {
			if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil {
				return err
			}
			_, err := b.Accept(b.ctx, bursting(2))
			if err == nil {
				_, err = b.Accept(b.ctx, bursting(3))
			}
			return err
		}},
	} {
		for when, sent := range map[string]bool{"sent": true, "unsent": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				b, run := busy(t)
				for i, in := range test.in {
					if i == len(test.in)-1 {
						b.receipt = aReceipt
					}
					b.accept(t, in)
				}
				var texts []string
				if sent {
					texts = b.texts(t)
				}
				if test.end != nil {
					if err := test.end(b, run); err != nil {
						t.Fatal(err)
					}
				}
				texts = append(texts, b.texts(t)...)
				var expected []string
				switch {
				case test.none, test.gone && !sent:
				case test.gone:
					expected = []string{"r", "m-r="}
				default:
					expected = []string{"r"}
				}
				want(t, "in the chat", expected, texts)
			})
		}
	}
}

// aReceipt is the receipt of any message.
func aReceipt(domain.Acceptance) domain.OutboxItem { return item("anna", "r") }

// What cannot be steered into the running turn for that turn's sake waits visibly, too.
// Behaviour: receipt.
func TestReceiptsOfMessagesThatCannotBeSteered(t *testing.T) {
	t.Parallel()
	reset := inbound("anna", 9)
	reset.Lane, reset.Message.Command, reset.Reset = domain.ControlLane, &domain.Command{Name: "new"}, true
	fresh := steered(2)
	fresh.Message.Fresh = true
	for name, test := range map[string]struct {
		origin domain.Origin // of what runs
		in     []domain.Inbound
		want   []string
	}{
		"a person's turn":                         {},
		"a plugin's turn":                         {origin: domain.OriginPlugin, want: []string{"r"}},
		"a memory flush":                          {origin: domain.OriginFlush, want: []string{"r"}},
		"a turn of a conversation that was left":  {in: []domain.Inbound{reset}, want: []string{"r"}},
		"a turn before another conversation":      {in: []domain.Inbound{fresh}, want: []string{"r"}},
		"a turn that is told what is before this": {in: []domain.Inbound{steered(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			head := inbound("anna", 1)
			head.Message.Origin = test.origin
			b.accept(t, head)
			b.claim(t)
			for _, in := range test.in {
				b.accept(t, in)
			}
			in := steered(3)
			b.receipt = aReceipt
			b.accept(t, in)
			want(t, "in the chat", test.want, b.texts(t))
		})
	}
	t.Run("no turn", func(t *testing.T) {
		t.Parallel()
		b, run := busy(t)
		if err := b.Release(b.ctx, run.ID, start.Add(time.Hour), "overloaded"); err != nil {
			t.Fatal(err)
		}
		in := steered(3)
		in.Message.Authority = chat.Owner
		b.receipt = aReceipt
		b.accept(t, in)
		want(t, "in the chat", []string(nil), b.texts(t))
	})
}

// What an interrupted run has shown of its answer is taken back, as no run will finish it.
// Behaviour: preview-left.
func TestInterruptTakesBackThePreview(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]bool{"of what runs": false, "of what was to be tried again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			preview := item("anna", "p")
			b.early(t, run, domain.Early{Items: []domain.OutboxItem{item("anna", "one")}, Said: "one", Preview: &preview})
			want(t, "early", []string{"one", "p"}, b.texts(t))
			if release {
				if err := b.Release(b.ctx, run.ID, start.Add(time.Hour), "overloaded"); err != nil {
					t.Fatal(err)
				}
			}
			b.accept(t, queued(2, domain.Queueing{Mode: domain.Interrupt}))
			want(t, "then", []string{"m-p="}, b.texts(t))
			if run = b.claim(t); run.Said != "" || run.Preview != 0 || asked(run) != "2" {
				t.Errorf("the next run is %+v", run)
			}
		})
	}
}

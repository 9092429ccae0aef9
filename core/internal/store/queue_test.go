package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// queued is the nth message of anna, that waits in a mode.
func queued(n int, q domain.Queueing) domain.Inbound {
	in := inbound("anna", n)
	in.Queue = q
	return in
}

// busy is a store in which anna's message 1 runs.
func busy(t *testing.T) (*bundle, *domain.Run) {
	t.Helper()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	return b, b.claim(t)
}

// wantOutcome compares how the nth message of anna has ended; "": not yet.
func (b *bundle) wantOutcome(t *testing.T, n int, want domain.RunState) {
	t.Helper()
	o, err := b.Outcome(b.ctx, "telegram", inbound("anna", n).EventID)
	if o.State != want || err != nil {
		t.Errorf("message %d ended as %+v, %v; want %q", n, o, err, want)
	}
}

// TestCollect has messages wait behind a run and looks at the runs that they become.
// Behaviour: queue-collect.
func TestCollect(t *testing.T) {
	t.Parallel()
	plain := func(*domain.Inbound) {}
	many := func(n int, change func(*domain.Inbound)) (list []func(*domain.Inbound)) {
		for range n {
			list = append(list, change)
		}
		return list
	}
	counted := func(from, to int64) (list []int64) {
		for n := from; n <= to; n++ {
			list = append(list, n)
		}
		return list
	}
	long := func(in *domain.Inbound) { in.Message.Text = strings.Repeat("x", 100<<10) }
	for name, test := range map[string]struct {
		messages []func(*domain.Inbound)
		runs     [][]int64
	}{
		"in one run":      {many(3, plain), [][]int64{{2, 3, 4}}},
		"up to 50":        {many(52, plain), [][]int64{counted(2, 51), {52, 53}}},
		"up to 256 KiB":   {many(4, long), [][]int64{{2, 3}, {4, 5}}},
		"a long one last": {[]func(*domain.Inbound){long, long, long, plain}, [][]int64{{2, 3}, {4, 5}}},
		"one authority": {
			[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Message.Authority = chat.Owner }, plain, plain},
			[][]int64{{2}, {3}, {4, 5}},
		},
		"one chat": {
			[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Message.Chat.ID = "group" }, plain},
			[][]int64{{2}, {3}, {4}},
		},
		"one thread": {[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Message.Thread = "t" }}, [][]int64{{2}, {3}}},
		"one kind of settings": {
			[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Message.Overrides.Effort = "high" }},
			[][]int64{{2}, {3}},
		},
		"one conversation": {
			[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Message.Fresh = true }, plain},
			[][]int64{{2}, {3, 4}},
		},
		"people": {
			[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Message.Origin = domain.OriginCompact }, plain},
			[][]int64{{2}, {3}, {4}},
		},
		"not another mode": {
			[]func(*domain.Inbound){plain, func(in *domain.Inbound) { in.Queue.Mode = domain.Followup }, plain, plain},
			[][]int64{{2}, {3}, {4, 5}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			for i, change := range test.messages {
				in := queued(i+2, domain.Queueing{Mode: domain.Collect})
				change(&in)
				b.accept(t, in)
			}
			b.complete(t, run)
			var w work
			b.do(t, &w, time.Hour)
			if diff := cmp.Diff(test.runs, w.runs); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// What was collected once is the same in each attempt.
// Behaviour: queue-collect.
func TestCollectionStaysTheSame(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	collect := domain.Queueing{Mode: domain.Collect}
	b.accept(t, queued(2, collect))
	b.accept(t, queued(3, collect))
	b.complete(t, run)
	first := b.claim(t)
	if len(first.Head.Message.Text) == 0 || first.More[0].ClaudeSession != first.Session.ClaudeSession {
		t.Errorf("run %+v", first)
	}
	b.accept(t, queued(4, collect))
	if err := b.Release(b.ctx, first.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	again := b.claim(t)
	if diff := cmp.Diff([]int64{2, 3}, seqs(again)); diff != "" || again.Head.UUID != first.Head.UUID {
		t.Errorf("the second attempt (-want +got):\n%s", diff)
	}
	fresh, err := b.ReplaceSession(b.ctx, again.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(b.ctx, again.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	again = b.claim(t)
	if again.Session.ClaudeSession != fresh.ClaudeSession || again.More[0].ClaudeSession != fresh.ClaudeSession {
		t.Errorf("after a replacement: %+v", again)
	}
	b.complete(t, again, "both")
	for n := 2; n <= 3; n++ {
		b.wantOutcome(t, n, domain.RunDone)
	}
	b.wantOutcome(t, 4, "")
	entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	var said []string
	for _, e := range entries {
		said = append(said, e.Text)
	}
	if diff := cmp.Diff([]string{"message 1", "message 2", "message 3"}, said); diff != "" || err != nil {
		t.Errorf("transcript, %v (-want +got):\n%s", err, diff)
	}
}

// TestQuiet has messages come to a lane that runs until the first has come, each two seconds after the one before.
// Behaviour: queue-followup, queue-plain, queue-collect.
func TestQuiet(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, test := range map[string]struct {
		modes []domain.Mode
		work  work
	}{
		"a followup waits for it":            {[]domain.Mode{domain.Followup}, work{[][]int64{{2}}, []time.Duration{3 * s}}},
		"the zero mode is one":               {[]domain.Mode{""}, work{[][]int64{{2}}, []time.Duration{3 * s}}},
		"a queued one does not":              {[]domain.Mode{domain.Queue}, work{[][]int64{{2}}, []time.Duration{0}}},
		"one that was not told does not":     {[]domain.Mode{domain.Steer}, work{[][]int64{{2}}, []time.Duration{0}}},
		"a followup waits for no later one":  {[]domain.Mode{domain.Followup, domain.Followup}, work{[][]int64{{2}, {3}}, []time.Duration{3 * s, 5 * s}}},
		"what is collected waits for it all": {[]domain.Mode{domain.Collect, domain.Collect}, work{[][]int64{{2, 3}}, []time.Duration{5 * s}}},
		"but not forever": {
			[]domain.Mode{domain.Collect, domain.Collect, domain.Collect, domain.Collect, domain.Collect, domain.Collect, domain.Collect, domain.Collect, domain.Collect},
			work{[][]int64{{2, 3, 4, 5, 6, 7, 8, 9}, {10}}, []time.Duration{15 * s, 16 * s}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			var w work
			for i, mode := range test.modes {
				if i == 1 {
					b.complete(t, run)
				}
				if i > 0 {
					b.do(t, &w, 2*s)
				}
				b.accept(t, queued(i+2, domain.Queueing{Mode: mode, Quiet: 3 * s}))
			}
			if len(test.modes) == 1 {
				b.complete(t, run)
			}
			b.do(t, &w, time.Hour)
			if diff := cmp.Diff(test.work, w, cmp.AllowUnexported(work{})); diff != "" {
				t.Errorf("work (-want +got):\n%s", diff)
			}
		})
	}
}

// Nothing has to be waited for in a lane that does nothing.
func TestIdleLaneDoesNotWaitForQuiet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, queued(1, domain.Queueing{Mode: domain.Collect, Quiet: time.Minute}))
	b.complete(t, b.claim(t))
	for n := 2; n <= 3; n++ { // nor for the burst that it is a part of
		in := bursting(n)
		in.Queue = domain.Queueing{Mode: domain.Collect, Quiet: time.Minute}
		b.accept(t, in)
	}
	b.clock.Advance(time.Second)
	if diff := cmp.Diff([]int64{2, 3}, seqs(b.claim(t))); diff != "" {
		t.Error(diff)
	}
}

// TestCap has messages 2 to 6 come to a lane that runs and may have three waiting.
// Behaviour: queue-cap, queue-cap-other.
func TestCap(t *testing.T) {
	t.Parallel()
	for _, mode := range []domain.Mode{domain.Followup, domain.Queue, domain.Collect, domain.Steer, domain.SteerBacklog, ""} {
		for _, test := range []struct {
			drop  domain.Drop
			keeps []int
			notes []domain.Note
		}{
			{domain.DropOld, []int{4, 5, 6}, nil},
			{domain.DropNew, []int{2, 3, 4}, nil},
			{domain.DropSummarize, []int{4, 5, 6}, []domain.Note{
				{Kind: domain.NoteOverflow, At: start, Sender: "anna", Text: "message 2", Count: 1},
				{Kind: domain.NoteOverflow, At: start, Sender: "anna", Text: "message 3", Count: 1},
			}},
		} {
			t.Run(fmt.Sprintf("%s, %s", mode, test.drop), func(t *testing.T) {
				t.Parallel()
				b, run := busy(t)
				for n := 2; n <= 6; n++ {
					a := b.accept(t, queued(n, domain.Queueing{Mode: mode, Cap: 3, Drop: test.drop}))
					dropped := n > 4 && test.drop == domain.DropNew
					if (a.Seq == 0) != dropped || !dropped && a.Waiting != min(n-1, 3) {
						t.Errorf("message %d: %+v", n, a)
					}
				}
				lanes, err := b.Lanes(b.ctx)
				if err != nil || len(lanes) != 1 || lanes[0].Waiting != 3 {
					t.Errorf("lanes %+v, %v", lanes, err)
				}
				kept := map[int]bool{}
				for _, n := range test.keeps {
					kept[n] = true
				}
				for n := 2; n <= 6; n++ {
					if kept[n] {
						b.wantOutcome(t, n, "")
					} else {
						b.wantOutcome(t, n, domain.RunCancelled)
					}
				}
				if a := b.accept(t, queued(2, domain.Queueing{})); !a.Duplicate {
					t.Errorf("what was dropped comes again: %+v", a)
				}
				b.complete(t, run)
				next := b.claim(t)
				if diff := cmp.Diff(test.notes, next.Notes); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
				if next.Head.Message.Text != inbound("anna", test.keeps[0]).Message.Text {
					t.Errorf("claimed %+v", next.Head)
				}
			})
		}
	}
}

// Who watches a message that is dropped is notified, and a cap that is exceeded by many drops them all.
// Behaviour: queue-cap.
func TestCapDropsAsManyAsAreTooMany(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	for n := 2; n <= 9; n++ {
		b.accept(t, queued(n, domain.Queueing{}))
	}
	watch, stop := b.Watch("telegram", inbound("anna", 4).EventID)
	defer stop()
	a := b.accept(t, queued(10, domain.Queueing{Cap: 2, Drop: domain.DropSummarize}))
	if a.Waiting != 2 || !a.Running || !poked(watch) {
		t.Errorf("acceptance %+v", a)
	}
	b.complete(t, run)
	next := b.claim(t)
	// Of seven that were dropped the newest two have a line; the older one stands for the rest.
	want := []domain.Note{
		{Kind: domain.NoteOverflow, At: start, Sender: "anna", Text: "message 7", Count: 6},
		{Kind: domain.NoteOverflow, At: start, Sender: "anna", Text: "message 8", Count: 1},
	}
	if diff := cmp.Diff(want, next.Notes); diff != "" || next.Head.Message.Text != "message 9" {
		t.Errorf("the next turn has %q and notes (-want +got):\n%s", next.Head.Message.Text, diff)
	}
}

// A plugin waits for its turn: it is not dropped, whatever people write.
// Behaviour: queue-cap.
func TestCapSparesTurnsWithoutASender(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	plugin, odd := queued(2, domain.Queueing{}), queued(3, domain.Queueing{})
	plugin.Message.Origin, odd.Message.Text = domain.OriginPlugin, `"origin":"plugin"`
	b.accept(t, plugin)
	b.accept(t, odd)
	b.accept(t, queued(4, domain.Queueing{Cap: 2, Drop: domain.DropOld}))
	b.wantOutcome(t, 3, domain.RunCancelled)
	b.accept(t, queued(5, domain.Queueing{Cap: 1, Drop: domain.DropOld}))
	b.complete(t, run)
	var texts []string
	for range 2 {
		next := b.claim(t)
		texts = append(texts, next.Head.Message.Text)
		b.complete(t, next)
	}
	if diff := cmp.Diff([]string{"message 2", "message 5"}, texts); diff != "" {
		t.Error(diff)
	}
}

// A lane that does not run has no head for a moment while another one replaces its only message.
func TestCapOfALaneThatDoesNotRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := domain.Queueing{Cap: 1, Drop: domain.DropOld}
	b.accept(t, queued(1, one))
	if a := b.accept(t, queued(2, one)); a.Waiting != 0 {
		t.Errorf("acceptance %+v", a)
	}
	if run := b.claim(t); run.Head.Seq != 2 {
		t.Errorf("claimed %d", run.Head.Seq)
	}
	b.accept(t, queued(3, one)) // what runs does not wait
	b.wantOutcome(t, 2, "")
}

// A burst is one message to the cap: what belongs to it is kept, or is dropped, as a whole.
// Behaviour: queue-cap.
func TestCapCountsBursts(t *testing.T) {
	t.Parallel()
	burst := func(b *bundle, t *testing.T, from int, q domain.Queueing) (seqs []int64) {
		t.Helper()
		for n := from; n < from+3; n++ {
			in := bursting(n)
			in.Queue = q
			seqs = append(seqs, b.accept(t, in).Seq)
		}
		b.clock.Advance(time.Second)
		return seqs
	}
	t.Run("where nothing runs", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		burst(b, t, 1, domain.Queueing{Cap: 1, Drop: domain.DropNew})
		if diff := cmp.Diff([]int64{1, 2, 3}, seqs(b.claim(t))); diff != "" {
			t.Error(diff)
		}
	})
	for drop, test := range map[domain.Drop]struct {
		runs  [][]int64
		notes []domain.Note
	}{
		domain.DropOld:       {[][]int64{{5, 6, 7}, {8, 9, 10}}, nil},
		domain.DropNew:       {[][]int64{{2, 3, 4}, {5, 6, 7}}, nil},
		domain.DropSummarize: {[][]int64{{5, 6, 7}, {8, 9, 10}}, []domain.Note{{Kind: domain.NoteOverflow, At: start, Sender: "anna", Text: "message 2\nmessage 3\nmessage 4", Count: 1}}},
	} {
		t.Run(string(drop), func(t *testing.T) {
			t.Parallel()
			b, run := busy(t)
			for _, from := range []int{2, 5, 8} {
				burst(b, t, from, domain.Queueing{Mode: domain.Queue, Cap: 2, Drop: drop})
			}
			b.complete(t, run)
			for i, want := range test.runs {
				run := b.claim(t)
				if diff := cmp.Diff(want, seqs(run)); diff != "" {
					t.Errorf("run %d (-want +got):\n%s", i, diff)
				}
				if i == 0 {
					if diff := cmp.Diff(test.notes, run.Notes); diff != "" {
						t.Errorf("notes (-want +got):\n%s", diff)
					}
				}
				b.complete(t, run)
			}
			b.idle(t)
		})
	}
}

// A burst that is begun is not cut short by a cap that has become lower; what waits before it goes.
// Behaviour: queue-cap.
func TestCapWithinABurst(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, queued(2, domain.Queueing{}))
	for n := 3; n <= 5; n++ {
		in := bursting(n)
		in.Queue = domain.Queueing{Mode: domain.Followup, Quiet: 4 * time.Second, Cap: 7 - n, Drop: domain.DropOld}
		if n == 5 {
			in.Queue.Cap = 1
		}
		b.accept(t, in)
	}
	b.complete(t, run)
	var w work
	b.do(t, &w, time.Hour)
	if diff := cmp.Diff(work{[][]int64{{3, 4, 5}}, []time.Duration{4 * time.Second}}, w, cmp.AllowUnexported(work{})); diff != "" {
		t.Error(diff)
	}
}

// A head that was given back until later holds its lane, whatever comes or goes behind it.
func TestBackoffHolds(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	later := start.Add(time.Minute)
	if err := b.Release(b.ctx, run.ID, later, "overloaded"); err != nil {
		t.Fatal(err)
	}
	b.accept(t, queued(2, domain.Queueing{Mode: domain.Collect, Quiet: time.Second}))
	b.accept(t, queued(3, domain.Queueing{Mode: domain.Collect, Quiet: time.Second}))
	b.accept(t, bursting(4))
	b.accept(t, bursting(5))
	b.accept(t, queued(6, domain.Queueing{Cap: 5, Drop: domain.DropNew}))
	if run, next, err := b.ClaimNow(b.ctx, domain.TurnLane); run != nil || !next.Equal(later) || err != nil {
		t.Errorf("claimed %+v, next %v, %v; want it at %v", run, next, err, later)
	}
	b.clock.Advance(time.Minute)
	if diff := cmp.Diff([]int64{1}, seqs(b.claim(t))); diff != "" {
		t.Error(diff)
	}
}

// A message that is refused does not send its lane behind others.
func TestDroppedMessageCostsNoPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.clock.Advance(time.Second)
	b.accept(t, inbound("bert", 1))
	b.clock.Advance(time.Second)
	b.accept(t, queued(2, domain.Queueing{Cap: 1, Drop: domain.DropNew}))
	if run := b.claim(t); run.Session.Key != "telegram:anna" {
		t.Errorf("claimed of %s", run.Session.Key)
	}
}

// Behaviour: queue-interrupt.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, queued(2, domain.Queueing{Mode: domain.Steer}))
	b.accept(t, queued(3, domain.Queueing{}))
	if joined, err := b.Join(b.ctx, run.ID); err != nil || len(joined) != 1 {
		t.Fatalf("joined %+v, %v", joined, err)
	}
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.Note(b.ctx, "telegram:anna", domain.Note{Kind: domain.NoteEvent, Text: "pinned"}); err != nil {
		t.Fatal(err)
	}
	watch, stop := b.Watch("telegram", inbound("anna", 1).EventID)
	defer stop()
	b.clock.Advance(time.Minute)
	poked(b.TranscriptAppended())
	in := queued(4, domain.Queueing{Mode: domain.Interrupt, Quiet: time.Hour})
	in.Hint = &domain.Note{Kind: domain.NoteHint, Text: "the one before was interrupted"}
	want := domain.Acceptance{Seq: 4}
	if diff := cmp.Diff(want, b.accept(t, in)); diff != "" {
		t.Errorf("acceptance (-want +got):\n%s", diff)
	}
	if !poked(watch) || !poked(b.TranscriptAppended()) {
		t.Error("no one is notified of the end")
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("the run is not lost: %v", err)
	}
	for n := 1; n <= 3; n++ {
		b.wantOutcome(t, n, domain.RunCancelled)
	}
	entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	wantEntries := []chat.TranscriptEntry{
		{Role: chat.User, Text: "message 1", At: start},
		{Role: chat.User, Text: "message 2", At: start}, // it was steered into the run
		{Role: chat.System, Text: "interrupted by a later message", At: start.Add(time.Minute)},
	}
	if diff := cmp.Diff(wantEntries, entries, cmpopts.IgnoreFields(chat.TranscriptEntry{}, "ID")); diff != "" || err != nil {
		t.Errorf("transcript, %v (-want +got):\n%s", err, diff)
	}
	b.reopen(t)
	if runs, _, err := b.Reclaim(b.ctx); runs != 0 || err != nil {
		t.Errorf("reclaimed %d, %v", runs, err)
	}
	next := b.claim(t)
	if diff := cmp.Diff([]int64{4}, seqs(next)); diff != "" {
		t.Error(diff)
	}
	if len(next.Notes) != 2 || next.Notes[0].Text != "pinned" || next.Notes[1].Text != "the one before was interrupted" {
		t.Errorf("notes %+v", next.Notes)
	}
	b.complete(t, next)
	b.idle(t)
}

// A person cannot end what a person with more authority has asked for.
// Behaviour: queue-interrupt.
func TestInterruptOfAHigherAuthority(t *testing.T) {
	t.Parallel()
	of := func(n int, authority chat.Authority, mode domain.Mode) domain.Inbound {
		in := queued(n, domain.Queueing{Mode: mode})
		in.Message.Authority = authority
		return in
	}
	for name, test := range map[string]struct {
		running, waiting, new chat.Authority
		interrupts            bool
	}{
		"the same":             {chat.Other, chat.Other, chat.Other, true},
		"a higher one":         {chat.Other, chat.Authorised, chat.Owner, true},
		"a lower one":          {chat.Owner, chat.Other, chat.Authorised, false},
		"lower than one waits": {chat.Other, chat.Authorised, chat.Other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, of(1, test.running, domain.Queue))
			run := b.claim(t)
			b.accept(t, of(2, test.waiting, domain.Queue))
			want := domain.Acceptance{Seq: 3, Waiting: 2, Running: true, Behind: true}
			if test.interrupts {
				want = domain.Acceptance{Seq: 3}
			}
			if diff := cmp.Diff(want, b.accept(t, of(3, test.new, domain.Interrupt))); diff != "" {
				t.Errorf("acceptance (-want +got):\n%s", diff)
			}
			if lost := b.lost(t, run); lost != test.interrupts {
				t.Errorf("the run has lost its lane: %t", lost)
			}
		})
	}
}

func TestInterruptOfWhatOnlyWaits(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	if err := b.Release(b.ctx, run.ID, start.Add(time.Minute), ""); err != nil {
		t.Fatal(err)
	}
	b.accept(t, queued(2, domain.Queueing{}))
	in := queued(3, domain.Queueing{Mode: domain.Interrupt})
	in.Hint = &domain.Note{Kind: domain.NoteHint, Text: "interrupted"}
	if diff := cmp.Diff(domain.Acceptance{Seq: 3}, b.accept(t, in)); diff != "" {
		t.Errorf("acceptance (-want +got):\n%s", diff)
	}
	next := b.claim(t)
	if diff := cmp.Diff([]int64{3}, seqs(next)); diff != "" || len(next.Notes) != 0 {
		t.Errorf("notes %+v, messages (-want +got):\n%s", next.Notes, diff)
	}
	b.complete(t, next)
	b.idle(t)
}

// Of a burst the first message interrupts; the others join it.
// Behaviour: queue-interrupt.
func TestInterruptByABurst(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	interrupt := func(n int) domain.Inbound {
		in := bursting(n)
		in.Queue = domain.Queueing{Mode: domain.Interrupt}
		return in
	}
	if b.accept(t, interrupt(2)); !b.lost(t, run) {
		t.Error("the run has its lane still")
	}
	if diff := cmp.Diff(domain.Acceptance{Seq: 3, Waiting: 1}, b.accept(t, interrupt(3))); diff != "" {
		t.Errorf("acceptance (-want +got):\n%s", diff)
	}
	b.clock.Advance(time.Second)
	next := b.claim(t)
	if diff := cmp.Diff([]int64{2, 3}, seqs(next)); diff != "" {
		t.Error(diff)
	}
	b.accept(t, bursting(4))
	// A burst that waits behind a run is kept, and the run is ended all the same.
	if diff := cmp.Diff(domain.Acceptance{Seq: 5, Waiting: 1}, b.accept(t, interrupt(5))); diff != "" || !b.lost(t, next) {
		t.Errorf("acceptance (-want +got):\n%s", diff)
	}
	b.clock.Advance(time.Second)
	if diff := cmp.Diff([]int64{4, 5}, seqs(b.claim(t))); diff != "" {
		t.Error(diff)
	}
}

// What a run got and claude has not consumed goes to the next one.
// Behaviour: prompt-notes.
func TestInterruptKeepsUnreadNotes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Note(b.ctx, "telegram:anna", domain.Note{Kind: domain.NoteHistory, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	b.accept(t, inbound("anna", 1))
	if run := b.claim(t); len(run.Notes) != 1 {
		t.Errorf("notes %+v", run.Notes)
	}
	b.accept(t, queued(2, domain.Queueing{Mode: domain.Interrupt}))
	run := b.claim(t)
	if len(run.Notes) != 1 || run.Notes[0].Text != "hello" {
		t.Errorf("notes %+v", run.Notes)
	}
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.accept(t, queued(3, domain.Queueing{Mode: domain.Interrupt}))
	if run := b.claim(t); len(run.Notes) != 0 {
		t.Errorf("notes %+v", run.Notes)
	}
}

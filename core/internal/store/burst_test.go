package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// seqs are the messages of a run.
func seqs(run *domain.Run) []int64 {
	list := []int64{run.Head.Seq}
	for _, m := range run.More {
		list = append(list, m.Seq)
	}
	return list
}

// work is what was claimed and completed: the messages of each run, and when it was claimed after the start.
type work struct {
	runs [][]int64
	at   []time.Duration
}

// do claims and completes what becomes ready within a time, as it does.
func (b *bundle) do(t *testing.T, w *work, within time.Duration) {
	t.Helper()
	for end := b.clock.Now().Add(within); ; {
		run, next, err := b.ClaimNow(b.ctx, domain.TurnLane)
		switch {
		case err != nil:
			t.Fatal(err)
		case run != nil:
			w.runs, w.at = append(w.runs, seqs(run)), append(w.at, b.clock.Now().Sub(start))
			b.complete(t, run)
		case next.IsZero() || next.After(end):
			b.clock.Advance(end.Sub(b.clock.Now()))
			return
		default:
			b.clock.Advance(next.Sub(b.clock.Now()))
		}
	}
}

// bursting is the nth message of anna, of a burst with a window of a second.
func bursting(n int) domain.Inbound {
	in := inbound("anna", n)
	in.Burst = domain.Burst{Gap: time.Second, Pause: time.Second, By: "anna", Messages: 3, Bytes: 30, Wait: 2500 * time.Millisecond}
	return in
}

// TestBurst accepts messages half a second apart, or as far apart as they say.
// Behaviour: burst, burst-bounds, burst-ends.
func TestBurst(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type message struct {
		change func(*domain.Inbound)
		after  time.Duration // of the one before; zero: half a second
	}
	plain := message{}
	by := func(sender string) func(*domain.Inbound) {
		return func(in *domain.Inbound) { in.Burst.By, in.Message.Sender.ID = sender, chat.UserID(sender) }
	}
	text := func(n int) func(*domain.Inbound) {
		return func(in *domain.Inbound) { in.Message.Text = strings.Repeat("x", n) }
	}
	for name, test := range map[string]struct {
		messages []message
		runs     [][]int64
		at       []time.Duration
	}{
		"alone":                {[]message{plain}, [][]int64{{1}}, []time.Duration{1000 * ms}},
		"each extends it":      {[]message{plain, plain, plain}, [][]int64{{1, 2, 3}}, []time.Duration{2000 * ms}},
		"at the window's end":  {[]message{plain, {after: 1000 * ms}}, [][]int64{{1}, {2}}, []time.Duration{1000 * ms, 2000 * ms}},
		"within the window":    {[]message{plain, {after: 999 * ms}}, [][]int64{{1, 2}}, []time.Duration{1999 * ms}},
		"too many":             {[]message{plain, plain, plain, plain}, [][]int64{{1, 2, 3}, {4}}, []time.Duration{2000 * ms, 2500 * ms}},
		"too much":             {[]message{{change: text(20)}, {change: text(10)}, {change: text(1)}}, [][]int64{{1, 2}, {3}}, []time.Duration{1500 * ms, 2000 * ms}},
		"too long":             {[]message{plain, {after: 900 * ms}, {after: 900 * ms}}, [][]int64{{1, 2, 3}}, []time.Duration{2500 * ms}},
		"a file ends it":       {[]message{plain, {change: func(in *domain.Inbound) { in.Burst.Now = true }}}, [][]int64{{1, 2}}, []time.Duration{500 * ms}},
		"a file alone":         {[]message{{change: func(in *domain.Inbound) { in.Burst.Now = true }}}, [][]int64{{1}}, []time.Duration{0}},
		"another between":      {[]message{plain, {change: by("bert"), after: 400 * ms}, {after: 400 * ms}}, [][]int64{{1, 3}, {2}}, []time.Duration{1800 * ms, 1800 * ms}},
		"another's":            {[]message{plain, {change: by("bert")}}, [][]int64{{1}, {2}}, []time.Duration{1000 * ms, 1500 * ms}},
		"nobody's":             {[]message{{change: by("")}, {change: by("")}}, [][]int64{{1}, {2}}, []time.Duration{0, 500 * ms}},
		"other authority":      {[]message{plain, {change: func(in *domain.Inbound) { in.Message.Authority = chat.Owner }}}, [][]int64{{1}, {2}}, []time.Duration{1000 * ms, 1500 * ms}},
		"other thread":         {[]message{plain, {change: func(in *domain.Inbound) { in.Message.Thread = "t" }}}, [][]int64{{1}, {2}}, []time.Duration{1000 * ms, 1500 * ms}},
		"other settings":       {[]message{plain, {change: func(in *domain.Inbound) { in.Message.Overrides.Model = "opus" }}}, [][]int64{{1}, {2}}, []time.Duration{1000 * ms, 1500 * ms}},
		"the same settings":    {[]message{{change: func(in *domain.Inbound) { in.Message.Overrides.Model = "opus" }}, {change: func(in *domain.Inbound) { in.Message.Overrides.Model = "opus" }}}, [][]int64{{1, 2}}, []time.Duration{1500 * ms}},
		"a fresh conversation": {[]message{plain, {change: func(in *domain.Inbound) { in.Message.Fresh = true }}, plain}, [][]int64{{1}, {2, 3}}, []time.Duration{1000 * ms, 2000 * ms}},
		"without a window":     {[]message{plain, {change: func(in *domain.Inbound) { in.Burst = domain.Burst{} }}}, [][]int64{{1}, {2}}, []time.Duration{1000 * ms, 1000 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var w work
			for i, m := range test.messages {
				switch {
				case m.after > 0:
					b.do(t, &w, m.after)
				case i > 0:
					b.do(t, &w, 500*ms)
				}
				in := bursting(i + 1)
				if m.change != nil {
					m.change(&in)
				}
				b.accept(t, in)
			}
			b.do(t, &w, time.Hour)
			if diff := cmp.Diff(test.runs, w.runs); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.at, w.at); diff != "" {
				t.Errorf("claimed (-want +got):\n%s", diff)
			}
		})
	}
}

// A burst whose window is over takes nothing in, even though it waits for a turn still.
func TestBurstThatIsOver(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(b *bundle){
		"its window":    func(b *bundle) { b.clock.Advance(time.Second) },
		"by its bounds": func(b *bundle) { b.clock.Advance(900 * time.Millisecond) },
		"by a file": func(b *bundle) {
			file := bursting(4)
			file.Burst.Now = true
			b.accept(t, file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, inbound("anna", 1))
			run := b.claim(t)
			first := bursting(2)
			first.Burst.Wait = 900 * time.Millisecond
			first.Burst.Messages = 9
			b.accept(t, first)
			over(b)
			last := bursting(5)
			last.Burst.Wait = 900 * time.Millisecond
			b.accept(t, last)
			b.complete(t, run)
			var w work
			b.do(t, &w, time.Hour)
			if len(w.runs) != 2 || len(w.runs[1]) != 1 {
				t.Errorf("runs %v, want the last message alone", w.runs)
			}
		})
	}
}

// A burst stays together, under the same uuid, whatever becomes of its run; what comes meanwhile is not added.
// Behaviour: burst-durable.
func TestBurstStaysTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 3; n++ {
		b.accept(t, bursting(n))
	}
	b.clock.Advance(time.Second)
	run := b.claim(t)
	if diff := cmp.Diff([]int64{1, 2, 3}, seqs(run)); diff != "" {
		t.Fatal(diff)
	}
	again := func(how string, attempts int) {
		t.Helper()
		next := b.claim(t)
		if diff := cmp.Diff([]int64{1, 2, 3}, seqs(next)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
		for i, m := range append([]domain.Queued{next.Head}, next.More...) {
			uuid := domain.MessageUUID("telegram", inbound("anna", i+1).EventID)
			if m.Burst != 1 || m.Attempts != attempts || m.ClaudeSession != run.Session.ClaudeSession || m.UUID != uuid {
				t.Errorf("%s: %+v", how, m)
			}
		}
		run = next
	}
	b.accept(t, bursting(4))
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	again("released", 2)
	b.accept(t, bursting(5))
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	again("reclaimed", 3)
	if lanes, err := b.Lanes(b.ctx); err != nil || len(lanes) != 1 || lanes[0].Waiting != 2 || !lanes[0].Running {
		t.Errorf("lanes %+v, %v; want two waiting", lanes, err)
	}
	b.complete(t, run)
	b.clock.Advance(time.Second)
	if diff := cmp.Diff([]int64{4, 5}, seqs(b.claim(t))); diff != "" {
		t.Errorf("what came meanwhile (-want +got):\n%s", diff)
	}
}

// A burst that is open when the host dies is answered at once by the next one, and whole.
// Behaviour: burst-durable.
func TestOpenBurstOutlivesTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, bursting(1))
	b.accept(t, bursting(2))
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 2}, seqs(b.claim(t))); diff != "" {
		t.Error(diff)
	}
}

// Messages without a known sender are not joined, not even with each other.
func TestBurstWithoutASender(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	for n := 2; n <= 3; n++ {
		in := bursting(n)
		in.Burst.By = ""
		b.accept(t, in)
	}
	b.complete(t, run)
	var w work
	b.do(t, &w, time.Hour)
	if diff := cmp.Diff([][]int64{{2}, {3}}, w.runs); diff != "" {
		t.Error(diff)
	}
}

// TestLinger has a burst wait longer than it would by itself, or shorter.
// Behaviour: burst-typing.
func TestLinger(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		by    string
		at    time.Duration // of Linger, after the message
		until time.Duration // after the message
		want  time.Duration // when it is claimed
	}{
		"longer":         {"anna", 400 * ms, 3000 * ms, 3000 * ms},
		"shorter":        {"anna", 400 * ms, 600 * ms, 600 * ms},
		"at once":        {"anna", 400 * ms, 100 * ms, 400 * ms},
		"of another one": {"bert", 400 * ms, 3000 * ms, 1000 * ms},
		"of nobody":      {"", 400 * ms, 3000 * ms, 1000 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var w work
			b.accept(t, bursting(1))
			b.do(t, &w, test.at)
			if err := b.Linger(b.ctx, bursting(1).Session, test.by, start.Add(test.until)); err != nil {
				t.Fatal(err)
			}
			b.do(t, &w, time.Hour)
			if want := []time.Duration{test.want}; !slices.Equal(w.at, want) {
				t.Errorf("claimed at %v, want %v", w.at, want)
			}
		})
	}
}

// TestLingerOfWhatIsTaken neither holds back what waits for a running turn, nor what waits for another try.
func TestLingerOfWhatIsTaken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(b *bundle, run *domain.Run) error // of the first message's run, before which the second one waits
		runs [][]int64
	}{
		"behind a turn": {
			func(b *bundle, run *domain.Run) error {
				return b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone})
			},
			[][]int64{{2}},
		},
		"for another try": {
			func(b *bundle, run *domain.Run) error {
				return b.Release(b.ctx, run.ID, b.clock.Now().Add(5*time.Second), "again")
			},
			[][]int64{{1}, {2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			linger := func() {
				t.Helper()
				if err := b.Linger(b.ctx, bursting(1).Session, "anna", b.clock.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			b.accept(t, bursting(1))
			b.clock.Advance(time.Second)
			run := b.claim(t)
			b.accept(t, bursting(2))
			linger()
			b.clock.Advance(2 * time.Second) // the second one waits for no more
			if err := test.end(b, run); err != nil {
				t.Fatal(err)
			}
			linger()
			var w work
			b.do(t, &w, time.Minute)
			if diff := cmp.Diff(test.runs, w.runs); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

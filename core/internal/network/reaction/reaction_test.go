package reaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// reacting is a store with messages that do not show their stages, and what their networks, a and b, are to show.
type reacting struct {
	*store.Store

	plugins *plugins.Registry
	began   time.Time
	mu      sync.Mutex
	errs    map[string][]error // of each channel's next reactions; the last one stays
	put     []string           // with the seconds since the beginning
}

func newReacting(t *testing.T, errs map[string][]error) *reacting {
	t.Helper()
	return &reacting{Store: storetest.Open(t), plugins: plugintest.Registry("a", "b"), errs: errs, began: time.Now()}
}

// channel is a network of a reacting store.
type channel struct {
	plugintest.Idle

	reacting *reacting
}

func (c channel) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	r := c.reacting
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if errs := r.errs[to.Channel]; len(errs) > 0 {
		if err = errs[0]; len(errs) > 1 {
			r.errs[to.Channel] = errs[1:]
		}
	}
	r.put = append(r.put, fmt.Sprintf("%d %s %s%s", int(time.Since(r.began).Seconds()), to.Channel, id, emoji))
	return err
}

// connect has a channel run.
func (r *reacting) connect(t *testing.T, name string) {
	t.Helper()
	plugintest.Run(t, r.plugins, name, plugintest.Channel(chat.Limits{}, channel{reacting: r}))
}

// accept accepts a message, whose turn comes to a stage.
func (r *reacting) accept(t *testing.T, channel string, id chat.MessageID, stage domain.Stage) {
	t.Helper()
	in := domain.Inbound{
		EventID: chat.EventID(id), Session: channel + string(id), Lane: domain.TurnLane, MaxWaiting: 1, Reacts: true,
		Message: domain.Message{ID: id, Channel: channel, Chat: chat.Chat{ID: "c"}, Text: "hi"},
	}
	if stage == domain.StageWaiting {
		in.Burst = domain.Burst{Gap: time.Hour, Pause: time.Hour, By: "anna", Wait: time.Hour, Messages: 2, Bytes: 100} // more is to come
	}
	if _, err := r.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if stage == domain.StageWaiting {
		return
	}
	var run int64
	err := r.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(claimed *domain.Run) { run = claimed.ID })
	if state, ends := map[domain.Stage]domain.RunState{
		domain.StageDone: domain.RunDone, domain.StageFailed: domain.RunFailed, domain.StageDropped: domain.RunCancelled,
	}[stage]; err == nil && ends {
		err = r.Complete(t.Context(), run, domain.Completion{State: state})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// left returns how many messages of the channel a do not show their stage.
func (r *reacting) left(t *testing.T) int {
	t.Helper()
	list, err := r.Reactions(t.Context(), "a", 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Behaviour: reaction.
func TestReactor(t *testing.T) {
	t.Parallel()
	down, limited := &chat.Failure{Reason: chat.NotConnected}, &chat.Failure{Reason: chat.RateLimited, RetryAfter: 30 * time.Second}
	for name, test := range map[string]struct {
		errs  map[string][]error
		start func(t *testing.T, r *reacting) // nil: the channel a runs from the beginning
		after func(t *testing.T, r *reacting) // what happens to it after a minute
		want  []string
		left  int
	}{
		"each shows its stage":             {want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍"}},
		"a network that is away":           {errs: map[string][]error{"a": {down, down, nil}}, want: []string{"0 a 1👀", "0 b 6👍", "5 a 1👀", "10 a 1👀", "10 a 2✍", "10 a 3👍", "10 a 4💔", "10 a 5"}},
		"a network that wants to be left":  {errs: map[string][]error{"b": {limited, nil}}, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍", "30 b 6👍"}},
		"an outcome that no one knows":     {errs: map[string][]error{"b": {errors.New("the pipe broke"), nil}}, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍", "5 b 6👍"}},
		"a message that is gone":           {errs: map[string][]error{"b": {&chat.Failure{Reason: chat.TargetGone}}}, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍"}},
		"a channel that has none":          {start: runsPlain, want: []string{"0 b 6👍"}},
		"a channel that does not run":      {start: runsNot, want: []string{"0 b 6👍"}, left: 5},
		"a channel that runs after a time": {start: runsNot, after: runs, want: []string{"0 b 6👍", "60 a 1👀", "60 a 2✍", "60 a 3👍", "60 a 4💔", "60 a 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newReacting(t, test.errs)
				if test.start == nil {
					test.start = runs
				}
				test.start(t, s)
				s.connect(t, "b")
				for i, stage := range []domain.Stage{domain.StageWaiting, domain.StageRunning, domain.StageDone, domain.StageFailed, domain.StageDropped} {
					s.accept(t, "a", chat.MessageID(fmt.Sprint(i+1)), stage)
				}
				s.accept(t, "b", "6", domain.StageDone)
				s.run(t)
				time.Sleep(time.Minute)
				if test.after != nil {
					test.after(t, s)
				}
				synctest.Wait()
				if diff := cmp.Diff(test.want, s.put); diff != "" {
					t.Error(diff)
				}
				if left := s.left(t); left != test.left {
					t.Errorf("%d are left, want %d", left, test.left)
				}
			})
		})
	}
}

// How the channel a runs.
func runs(t *testing.T, r *reacting) {
	t.Helper()
	r.connect(t, "a")
}

func runsPlain(t *testing.T, r *reacting) {
	t.Helper()
	plugintest.Run(t, r.plugins, "a", plugintest.Channel(chat.Limits{}, plugintest.Idle{}))
}

func runsNot(*testing.T, *reacting) {}

// run has a reactor work until the test ends, after it was to acknowledge messages of the channel b.
func (r *reacting) run(t *testing.T, acknowledged ...chat.MessageID) {
	t.Helper()
	worker := New(r.Store, r.plugins, hclog.NewNullLogger())
	worker.taken = make(chan reaction, 1)
	for _, id := range acknowledged {
		worker.Acknowledge(chat.Address{Channel: "b", Chat: "c"}, id, "🫡")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { worker.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
	synctest.Wait()
}

// A reaction that a network never takes is not tried forever, and what comes later is put.
// Behaviour: reaction.
func TestReactorGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newReacting(t, map[string][]error{"a": {&chat.Failure{Reason: chat.Temporary}}})
		s.connect(t, "a")
		s.accept(t, "a", "1", domain.StageDone)
		s.run(t)
		time.Sleep(patience + time.Minute)
		synctest.Wait()
		if left := s.left(t); left != 0 || len(s.put) != int(patience/pause)+1 {
			t.Errorf("tried %d times, and %d are left", len(s.put), left)
		}
		s.errs, s.put = nil, nil
		s.accept(t, "a", "2", domain.StageDone)
		synctest.Wait()
		if len(s.put) == 0 || s.put[len(s.put)-1] != "660 a 2👍" {
			t.Errorf("put %q", s.put)
		}
	})
}

// Reactions beyond one batch are set as well, including an acknowledgement; one that exceeds the queue is dropped.
func TestReactorPutsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newReacting(t, nil)
		s.connect(t, "a")
		s.connect(t, "b")
		for i := range 3 * atOnce {
			s.accept(t, "a", chat.MessageID(fmt.Sprint(i)), domain.StageDone)
		}
		s.run(t, "m", "n")
		if len(s.put) != 3*atOnce+1 || !slices.Contains(s.put, "0 b m🫡") {
			t.Errorf("put %d: %q", len(s.put), s.put)
		}
	})
}

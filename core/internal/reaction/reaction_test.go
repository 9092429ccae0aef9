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

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// reacting is a store with messages that do not show their stages, and what their networks, a and b, are to show.
type reacting struct {
	mu      sync.Mutex
	due     []domain.Reaction
	ready   chan struct{}
	plugins *plugins.Registry
	errs    map[string][]error // of each channel's next reactions; the last one stays
	put     []string           // with the seconds since the beginning
	began   time.Time
}

func newReacting(errs map[string][]error) *reacting {
	return &reacting{ready: make(chan struct{}, 1), plugins: plugintest.Registry("a", "b"), errs: errs, began: time.Now()}
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

func (r *reacting) Reactions(_ context.Context, channel string, limit int) (list []domain.Reaction, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.due {
		if d.To.Channel == channel && len(list) < limit {
			list = append(list, d)
		}
	}
	return list, nil
}

func (r *reacting) Reacted(_ context.Context, done domain.Reaction) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = slices.DeleteFunc(r.due, func(d domain.Reaction) bool { return d == done })
	return nil
}

func (r *reacting) ReactionsReady() <-chan struct{} { return r.ready }

func (r *reacting) accept(channel string, id chat.MessageID, stage domain.Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = append(r.due, domain.Reaction{To: chat.Address{Channel: channel, Chat: "c"}, Message: id, Stage: stage, ChangedAt: time.Now()})
	select {
	case r.ready <- struct{}{}:
	default:
	}
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
		"an outcome that nobody knows":     {errs: map[string][]error{"b": {errors.New("the pipe broke"), nil}}, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍", "5 b 6👍"}},
		"a message that is gone":           {errs: map[string][]error{"b": {&chat.Failure{Reason: chat.TargetGone}}}, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍"}},
		"a channel that has none":          {start: runsPlain, want: []string{"0 b 6👍"}},
		"a channel that does not run":      {start: runsNot, want: []string{"0 b 6👍"}, left: 5},
		"a channel that runs after a time": {start: runsNot, after: runs, want: []string{"0 b 6👍", "60 a 1👀", "60 a 2✍", "60 a 3👍", "60 a 4💔", "60 a 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newReacting(test.errs)
				if test.start == nil {
					test.start = runs
				}
				test.start(t, s)
				s.connect(t, "b")
				for i, stage := range []domain.Stage{domain.StageWaiting, domain.StageRunning, domain.StageDone, domain.StageFailed, domain.StageDropped} {
					s.accept("a", chat.MessageID(fmt.Sprint(i+1)), stage)
				}
				s.accept("b", "6", domain.StageDone)
				s.run(t)
				time.Sleep(time.Minute)
				if test.after != nil {
					test.after(t, s)
				}
				synctest.Wait()
				if diff := cmp.Diff(test.want, s.put); diff != "" {
					t.Error(diff)
				}
				if len(s.due) != test.left {
					t.Errorf("%d are left: %+v", len(s.due), s.due)
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

// run has a reactor work until the test ends.
func (r *reacting) run(t *testing.T) *Reactor {
	t.Helper()
	worker := New(r, r.plugins, hclog.NewNullLogger())
	worker.taken = make(chan reaction, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { worker.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
	synctest.Wait()
	return worker
}

// A reaction that a network never takes is not tried forever, and what comes later is put.
// Behaviour: reaction.
func TestReactorGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newReacting(map[string][]error{"a": {&chat.Failure{Reason: chat.Temporary}}})
		s.connect(t, "a")
		s.run(t)
		s.accept("a", "1", domain.StageDone)
		time.Sleep(patience + time.Minute)
		synctest.Wait()
		if len(s.due) != 0 || len(s.put) != int(patience/pause)+1 {
			t.Errorf("tried %d times, and %+v is left", len(s.put), s.due)
		}
		s.errs, s.put = nil, nil
		s.accept("a", "2", domain.StageDone)
		synctest.Wait()
		if diff := cmp.Diff([]string{"660 a 2👍"}, s.put); diff != "" {
			t.Error(diff)
		}
	})
}

// Reactions beyond one batch are set as well, including an acknowledgement; one that exceeds the queue is dropped.
func TestReactorPutsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newReacting(nil)
		s.connect(t, "a")
		s.connect(t, "b")
		worker := s.run(t)
		for i := range 3 * atOnce {
			s.accept("a", chat.MessageID(fmt.Sprint(i)), domain.StageDone)
		}
		worker.Acknowledge(chat.Address{Channel: "b", Chat: "c"}, "m", "🫡")
		worker.Acknowledge(chat.Address{Channel: "b", Chat: "c"}, "n", "🫡")
		synctest.Wait()
		if len(s.put) != 3*atOnce+1 || !slices.Contains(s.put, "0 b m🫡") {
			t.Errorf("put %d: %q", len(s.put), s.put)
		}
	})
}

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
	"github.com/clawhost/clawhost/sdk/chat"
)

// reacting is a store with messages that do not show their stages, and the networks that are to show them.
type reacting struct {
	mu      sync.Mutex
	due     []domain.Reaction
	ready   chan struct{}
	changed chan struct{}
	errs    map[string][]error // of each channel's next reactions; the last one stays
	put     []string           // with the seconds since the beginning
	began   time.Time
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

func (r *reacting) Changed() <-chan struct{} {
	select {
	case <-r.changed:
		return nil // it was heard
	default:
		return r.changed
	}
}

func (r *reacting) ReactionsReady() <-chan struct{} { return r.ready }

func (r *reacting) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if errs := r.errs[to.Channel]; len(errs) > 0 {
		if err = errs[0]; len(errs) > 1 {
			r.errs[to.Channel] = errs[1:]
		}
	}
	if !errors.Is(err, ErrNoChannel) {
		r.put = append(r.put, fmt.Sprintf("%d %s %s%s", int(time.Since(r.began).Seconds()), to.Channel, id, emoji))
	}
	return err
}

func (r *reacting) accept(channel string, id chat.MessageID, stage domain.Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = append(r.due, domain.Reaction{To: chat.Address{Channel: channel}, Message: id, Stage: stage, ChangedAt: time.Now()})
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
		after time.Duration
		want  []string
		left  int
	}{
		"each shows its stage":             {want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍"}},
		"a network that is away":           {errs: map[string][]error{"a": {down, down, nil}}, after: time.Minute, want: []string{"0 a 1👀", "0 b 6👍", "5 a 1👀", "10 a 1👀", "10 a 2✍", "10 a 3👍", "10 a 4💔", "10 a 5"}},
		"a network that wants to be left":  {errs: map[string][]error{"b": {limited, nil}}, after: time.Minute, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍", "30 b 6👍"}},
		"an outcome that nobody knows":     {errs: map[string][]error{"b": {errors.New("the pipe broke"), nil}}, after: time.Minute, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍", "5 b 6👍"}},
		"a message that is gone":           {errs: map[string][]error{"b": {&chat.Failure{Reason: chat.TargetGone}}}, after: time.Minute, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍"}},
		"a channel that has none":          {errs: map[string][]error{"a": {errors.ErrUnsupported}}, after: time.Minute, want: []string{"0 a 1👀", "0 a 2✍", "0 a 3👍", "0 a 4💔", "0 a 5", "0 b 6👍"}},
		"a channel that does not run":      {errs: map[string][]error{"a": {ErrNoChannel}}, after: time.Minute, want: []string{"0 b 6👍"}, left: 5},
		"a channel that runs after a time": {errs: map[string][]error{"a": {ErrNoChannel, ErrNoChannel, nil}}, after: time.Minute, want: []string{"0 b 6👍", "60 a 1👀", "60 a 2✍", "60 a 3👍", "60 a 4💔", "60 a 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &reacting{ready: make(chan struct{}, 1), changed: make(chan struct{}), errs: test.errs, began: time.Now()}
				for i, stage := range []domain.Stage{domain.StageWaiting, domain.StageRunning, domain.StageDone, domain.StageFailed, domain.StageDropped} {
					s.accept("a", chat.MessageID(fmt.Sprint(i+1)), stage)
				}
				s.accept("b", "6", domain.StageDone)
				s.runs(t)
				time.Sleep(test.after)
				close(s.changed)
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

// runs has a reactor work until the test ends.
func (r *reacting) runs(t *testing.T) *Reactor {
	t.Helper()
	worker := New(r, r, []string{"a", "b"}, hclog.NewNullLogger())
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
		s := &reacting{ready: make(chan struct{}, 1), changed: make(chan struct{}), errs: map[string][]error{"a": {&chat.Failure{Reason: chat.Temporary}}}, began: time.Now()}
		s.runs(t)
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
		s := &reacting{ready: make(chan struct{}, 1), changed: make(chan struct{}), began: time.Now()}
		worker := s.runs(t)
		for i := range 3 * atOnce {
			s.accept("a", chat.MessageID(fmt.Sprint(i)), domain.StageDone)
		}
		worker.Acknowledge(chat.Address{Channel: "b"}, "m", "🫡")
		worker.Acknowledge(chat.Address{Channel: "b"}, "n", "🫡")
		synctest.Wait()
		if len(s.put) != 3*atOnce+1 || !slices.Contains(s.put, "0 b m🫡") {
			t.Errorf("put %d: %q", len(s.put), s.put)
		}
	})
}

package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// lanes is a store in memory: a lane gives its next run once the one before has ended.
type lanes struct {
	mu       sync.Mutex
	waiting  []*domain.Run
	taken    map[string]bool
	released []int64
	held     []int64         // of those, without an attempt
	again    []time.Duration // until the released ones are ready
	next     time.Time       // when something will be ready that is not yet
	failing  int             // claims that fail
	full     int             // releases that fail
	ready    map[domain.Lane]chan struct{}
	changed  engine.Hub     // by the sessions of turns
	behind   bool           // messages wait behind each run
	lost     map[int64]bool // runs that have lost their lanes
	looks    int            // at runs
	unsure   int            // looks that fail
}

func newLanes(runs ...*domain.Run) *lanes {
	l := &lanes{taken: map[string]bool{}, ready: map[domain.Lane]chan struct{}{
		domain.TurnLane: make(chan struct{}, 1), domain.ControlLane: make(chan struct{}, 1), domain.CommandLane: make(chan struct{}, 1),
		domain.ShellLane: make(chan struct{}, 1),
	}}
	l.waiting, l.lost = runs, map[int64]bool{}
	return l
}

func run(id int64, session string, lane domain.Lane) *domain.Run {
	return &domain.Run{ID: id, Lane: lane, Session: domain.Session{Key: session}}
}

func (l *lanes) Claim(ctx context.Context, lane domain.Lane, whose domain.Whose, take func(*domain.Run)) error {
	for {
		found, err := l.claim(lane, whose, take)
		if found || err != nil {
			return err
		}
		var due <-chan time.Time
		if wait := time.Until(l.next); wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-l.ready[lane]:
		case <-due:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *lanes) claim(lane domain.Lane, whose domain.Whose, take func(*domain.Run)) (found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing > 0 {
		l.failing--
		return false, errors.New("disk full")
	}
	if time.Now().Before(l.next) {
		return false, nil
	}
	for i, r := range l.waiting {
		if name := r.Session.Key + string(r.Lane); r.Lane == lane && !l.taken[name] && (whose == domain.Anybodys || r.Head.Message.Authority == chat.Owner) {
			l.waiting, l.taken[name] = slices.Delete(l.waiting, i, i+1), true
			take(r)
			return true, nil
		}
	}
	return false, nil
}

func (l *lanes) Release(_ context.Context, id int64, again time.Time, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full > 0 {
		l.full--
		return errors.New("disk full")
	}
	l.released = append(l.released, id)
	l.again = append(l.again, time.Until(again))
	return nil
}

func (l *lanes) Hold(ctx context.Context, id int64, h domain.Hold) error {
	err := l.Release(ctx, id, h.Until, h.Cause)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = append(l.held, id)
	}
	return err
}

func (l *lanes) WatchTurn(session string) (<-chan struct{}, func()) {
	return l.changed.Watch(engine.Topic(session))
}

func (l *lanes) MessagesWait(_ context.Context, id int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	switch {
	case l.unsure > 0:
		l.unsure--
		return false, errors.New("disk full")
	case l.lost[id]:
		return false, domain.ErrFenced
	}
	return l.behind, nil
}

// change changes something that concerns the turn of a session, and announces that.
func (l *lanes) change(session string, what func()) {
	l.mu.Lock()
	what()
	l.mu.Unlock()
	l.changed.Announce([]engine.Topic{engine.Topic(session)})
}

// free lets a lane go on, as completing its run does.
func (l *lanes) free(r *domain.Run) {
	l.mu.Lock()
	delete(l.taken, r.Session.Key+string(r.Lane))
	l.mu.Unlock()
	select {
	case l.ready[r.Lane] <- struct{}{}:
	default:
	}
}

// handler is a function that handles runs.
type handler func(ctx context.Context, run *domain.Run, nudged <-chan struct{}) error

func (h handler) Handle(ctx context.Context, run *domain.Run, nudged <-chan struct{}) error {
	return h(ctx, run, nudged)
}

// begin runs a dispatcher until the returned function is called, which waits for it.
func begin(t *testing.T, l *lanes, options dispatch.Options, handle handler) (*dispatch.Dispatcher, func()) {
	t.Helper()
	d := dispatch.New(l, options, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { d.Run(ctx, handle) })
	return d, func() { cancel(); done.Wait() }
}

func options() dispatch.Options {
	return dispatch.Options{Turns: 2, Commands: 2, Grace: time.Minute}
}

// Behaviour: one-turn-a-session.
func TestOneAtATimeInALaneAndALimitOverAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane), run(2, "a", domain.TurnLane), run(3, "b", domain.TurnLane), run(4, "c", domain.TurnLane))
		var mu sync.Mutex
		var order []int64
		now, most := 0, 0
		_, stop := begin(t, l, options(), func(_ context.Context, r *domain.Run, _ <-chan struct{}) error {
			mu.Lock()
			order = append(order, r.ID)
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second) // the bubble's clock
			mu.Lock()
			now--
			mu.Unlock()
			l.free(r)
			return nil
		})
		time.Sleep(time.Minute)
		stop()
		if most != 2 {
			t.Errorf("%d runs at once, want the limit of 2", most)
		}
		if slices.Index(order, 1) > slices.Index(order, 2) || len(order) != 4 {
			t.Errorf("order %v", order)
		}
	})
}

// Behaviour: command-lane.
func TestCommandsGoAroundATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane), run(2, "a", domain.ControlLane))
		answered := make(chan struct{})
		_, stop := begin(t, l, dispatch.Options{Turns: 1, Commands: 1, Grace: time.Minute}, func(ctx context.Context, r *domain.Run, _ <-chan struct{}) error {
			if r.Lane == domain.ControlLane {
				close(answered)
				return nil
			}
			<-answered // the turn ends only after the command
			return nil
		})
		<-answered
		stop()
	})
}

func TestStopReturnsWhenTheTurnHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane))
		ended := false
		d, stop := begin(t, l, options(), func(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
			<-ctx.Done()
			time.Sleep(time.Second) // its tools die
			ended = errors.Is(context.Cause(ctx), agent.ErrStopped)
			return agent.ErrStopped
		})
		defer stop()
		synctest.Wait()
		if d.Count() != 1 {
			t.Error("the turn does not count as running")
		}
		if stopped, err := d.Stop(t.Context(), time.Time{}, "a"); stopped || err != nil {
			t.Errorf("stopping what came before a turn: %v, %v", stopped, err)
		}
		stopped, err := d.Stop(t.Context(), time.Now(), "a")
		if err != nil || !stopped || !ended {
			t.Errorf("stopped %v, ended %v, error %v", stopped, ended, err)
		}
		if len(l.released) != 0 {
			t.Error("a stopped turn was given back")
		}
		if stopped, err := d.Stop(t.Context(), time.Now(), "a"); stopped || err != nil {
			t.Errorf("stopping nothing: %v, %v", stopped, err)
		}
	})
}

// Behaviour: bash.
func TestStopEndsTheTurnAndTheLineOfTheShell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan int64, 4)
		l := newLanes(run(1, "a", domain.TurnLane), run(2, "a", domain.ShellLane), run(3, "b", domain.ShellLane), run(4, "a", domain.CommandLane))
		d, stop := begin(t, l, options(), func(ctx context.Context, r *domain.Run, _ <-chan struct{}) error {
			<-ctx.Done()
			ended <- r.ID
			return agent.ErrStopped
		})
		synctest.Wait()
		if stopped, err := d.Stop(t.Context(), time.Now(), "a"); !stopped || err != nil {
			t.Errorf("%v, %v", stopped, err)
		}
		if one, other := <-ended, <-ended; one+other != 3 || len(ended) > 0 {
			t.Errorf("runs %d and %d were stopped", one, other)
		}
		stop()
	})
}

// The lane is free once a run is completed; its handler may take a while longer to return.
func TestStopAppliesToTheRunningTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane), run(2, "a", domain.TurnLane))
		d, stop := begin(t, l, options(), func(ctx context.Context, r *domain.Run, _ <-chan struct{}) error {
			if r.ID == 1 {
				l.free(r)
				<-ctx.Done() // it takes its typing signal back
				return nil
			}
			<-ctx.Done()
			return agent.ErrStopped
		})
		defer stop()
		synctest.Wait()
		if d.Count() != 2 {
			t.Fatal("the second turn has not begun")
		}
		if stopped, err := d.Stop(t.Context(), time.Now(), "a"); !stopped || err != nil {
			t.Errorf("%v, %v", stopped, err)
		}
		if d.Count() != 0 {
			t.Error("the turn runs still")
		}
	})
}

// Behaviour: clock-set-back.
func TestStopAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(1, "a", domain.TurnLane)
		r.Head.ReceivedAt = time.Now().Add(time.Hour)
		d, stop := begin(t, newLanes(r), options(), func(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
			<-ctx.Done()
			return agent.ErrStopped
		})
		defer stop()
		synctest.Wait()
		if stopped, err := d.Stop(t.Context(), time.Now(), "a"); !stopped || err != nil {
			t.Errorf("%v, %v", stopped, err)
		}
	})
}

func TestAnAnsweredTurnWasNotStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, stop := begin(t, newLanes(run(1, "a", domain.TurnLane)), options(), func(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
			<-ctx.Done()
			return nil // the answer was there before
		})
		defer stop()
		synctest.Wait()
		if stopped, err := d.Stop(t.Context(), time.Now(), "a"); stopped || err != nil {
			t.Errorf("%v, %v", stopped, err)
		}
	})
}

func TestStopGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane))
		d, stop := begin(t, l, options(), func(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
			time.Sleep(time.Hour) // deaf
			return nil
		})
		defer stop()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if stopped, err := d.Stop(ctx, time.Now(), "a"); stopped || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", stopped, err)
		}
	})
}

func TestAFailedRunGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		often := run(3, "c", domain.TurnLane)
		often.Head.Attempts = 4
		l := newLanes(run(1, "a", domain.TurnLane), run(2, "b", domain.TurnLane), often)
		_, stop := begin(t, l, options(), func(_ context.Context, r *domain.Run, _ <-chan struct{}) error {
			if r.ID == 2 {
				return domain.ErrFenced // not ours any more: nothing to give back
			}
			return errors.New("the store is full")
		})
		synctest.Wait()
		stop()
		slices.Sort(l.released)
		if diff := cmp.Diff([]int64{1, 3}, l.released); diff != "" {
			t.Error(diff)
		}
		slices.Sort(l.again)
		if diff := cmp.Diff([]time.Duration{50 * time.Millisecond, 400 * time.Millisecond}, l.again); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAStoreThatCannotTakeARunBackIsAskedUntilItCan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane))
		l.full = 100
		_, stop := begin(t, l, options(), func(context.Context, *domain.Run, <-chan struct{}) error { return errors.New("disk full") })
		time.Sleep(time.Hour)
		stop()
		if diff := cmp.Diff([]int64{1}, l.released); diff != "" {
			t.Error(diff)
		}
	})
}

func TestShutdownOfTheDispatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "quick", domain.TurnLane), run(2, "slow", domain.TurnLane), run(3, "quick", domain.TurnLane))
		var finished, cut []int64
		_, stop := begin(t, l, options(), func(ctx context.Context, r *domain.Run, _ <-chan struct{}) error {
			take := time.Second
			if r.ID == 2 {
				take = time.Hour
			}
			select {
			case <-time.After(take):
				finished = append(finished, r.ID)
				l.free(r)
				return nil
			case <-ctx.Done():
				cut = append(cut, r.ID)
				return context.Cause(ctx)
			}
		})
		synctest.Wait()
		stop() // at once: 3 still waits behind 1
		if diff := cmp.Diff([]int64{1}, finished); diff != "" {
			t.Error("finished", diff)
		}
		if diff := cmp.Diff([]int64{2}, cut); diff != "" {
			t.Error("cut", diff)
		}
		if diff := cmp.Diff([]int64{2}, l.released); diff != "" {
			t.Error("released", diff)
		}
		if len(l.waiting) != 1 {
			t.Errorf("%d runs wait, want the one that was not begun", len(l.waiting))
		}
	})
}

func TestClaimsGoOnAfterFailuresAndInDueTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane))
		l.failing = 4
		l.next = time.Now().Add(time.Minute)
		done := make(chan time.Duration, 1)
		begun := time.Now()
		_, stop := begin(t, l, options(), func(_ context.Context, _ *domain.Run, _ <-chan struct{}) error {
			done <- time.Since(begun)
			return nil
		})
		if after := <-done; after != time.Minute {
			t.Errorf("claimed after %v, want a minute", after)
		}
		stop()
	})
}

// A turn hears of messages that wait behind it, also of those that came right after its claim, and is not looked at for nothing.
func TestATurnHearsOfMessagesThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nudged := make(chan string, 10)
		l := newLanes(run(1, "a", domain.TurnLane), run(2, "b", domain.TurnLane), run(3, "c", domain.ControlLane))
		l.behind = true
		_, stop := begin(t, l, options(), func(ctx context.Context, r *domain.Run, nudges <-chan struct{}) error {
			for {
				select {
				case <-nudges:
					nudged <- r.Session.Key
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		})
		synctest.Wait()
		if l.looks != 0 {
			t.Errorf("%d looks before something is announced", l.looks)
		}
		l.change("a", func() {})
		synctest.Wait()
		l.change("nobody", func() {})
		l.change("b", func() { l.behind = false }) // they have gone again
		synctest.Wait()
		if len(nudged) != 1 || <-nudged != "a" {
			t.Errorf("%d more nudges", len(nudged))
		}
		stop()
		looks := l.looks
		l.change("a", func() {})
		synctest.Wait()
		if l.looks != looks {
			t.Error("a turn that has ended is looked at")
		}
	})
}

// claimed is a store that does something between the claim of a run and its handing out.
type claimed struct {
	*lanes
	then func()
}

func (c claimed) Claim(ctx context.Context, lane domain.Lane, whose domain.Whose, take func(*domain.Run)) error {
	return c.lanes.Claim(ctx, lane, whose, func(r *domain.Run) {
		take(r)
		c.then()
	})
}

// What is claimed and not yet handled is stopped all the same.
// Behaviour: stop.
func TestARunIsStoppedFromItsClaimOn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*dispatch.Dispatcher, *lanes){
		"by a lost lane": func(_ *dispatch.Dispatcher, l *lanes) {
			l.lost[1] = true
			l.changed.Announce([]engine.Topic{"a"})
		},
		"by a stop": func(d *dispatch.Dispatcher, _ *lanes) {
			soon, cancel := context.WithCancel(context.Background())
			cancel() // It is not waited for.
			_, _ = d.Stop(soon, time.Now().Add(time.Hour), "a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var d *dispatch.Dispatcher
				l := newLanes(run(1, "a", domain.TurnLane))
				stopped := make(chan struct{})
				d = dispatch.New(claimed{l, func() { end(d, l) }}, options(), hclog.NewNullLogger())
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() {
					d.Run(ctx, handler(func(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
						defer close(stopped)
						<-ctx.Done()
						return context.Cause(ctx)
					}))
				})
				<-stopped // else all of the bubble is blocked
				cancel()
				done.Wait()
			})
		})
	}
}

// A turn that has lost its lane ends, with the cause that keeps its handler from completing it. A look that fails is taken again.
func TestATurnThatHasLostItsLaneEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 1)
		l := newLanes(run(1, "a", domain.TurnLane))
		_, stop := begin(t, l, options(), func(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return context.Cause(ctx)
		})
		synctest.Wait()
		l.change("b", func() { l.lost[7] = true })
		synctest.Wait()
		if len(causes) != 0 {
			t.Fatal("it ended with another one")
		}
		l.change("a", func() { l.lost[1], l.unsure = true, 3 })
		if cause := <-causes; !errors.Is(cause, domain.ErrFenced) {
			t.Errorf("cause %v, want that the lane is lost", cause)
		}
		stop()
		if len(l.released) != 0 {
			t.Error("a run that lost its lane was given back")
		}
	})
}

// A run that could not begin goes back when its handler says so, and without an attempt.
// Behaviour: claude-unavailable.
func TestAHeldRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(run(1, "a", domain.TurnLane))
		_, stop := begin(t, l, options(), func(context.Context, *domain.Run, <-chan struct{}) error {
			return &agent.HeldError{Wait: 17 * time.Second, Err: errors.New("no claude")}
		})
		synctest.Wait()
		stop()
		if !slices.Equal(l.held, []int64{1}) || !slices.Equal(l.again, []time.Duration{17 * time.Second}) {
			t.Errorf("held %v for %v", l.held, l.again)
		}
	})
}

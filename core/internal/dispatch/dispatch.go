// Package dispatch claims runs and has them handled: one at a time in each lane, which the store ensures, and at most a
// limit over all lanes of a kind. It owns every running turn, so turns are stopped here.
package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/sdk/chat"
)

// tryAgain is the wait after a failed claim, such as with a full disk, and after a failed look at a run.
const tryAgain = time.Second

// Store is what the dispatcher needs of the store.
type Store interface {
	Claim(ctx context.Context, lane domain.Lane, whose domain.Whose, take func(*domain.Run)) error
	Release(ctx context.Context, run int64, again time.Time, cause string) error
	Hold(ctx context.Context, run int64, h domain.Hold) error
	// WatchTurn returns a channel that receives a value when a session's running turn may have lost its lane, or when messages may wait that
	// can be steered into it. It may be called when a run is handed out, and misses nothing then. The func ends the watch.
	WatchTurn(session string) (<-chan struct{}, func())
	// MessagesWait reports whether messages wait behind a run. The error is [domain.ErrFenced] for a run that has lost its lane.
	MessagesWait(ctx context.Context, run int64) (bool, error)
}

// Handler answers claimed messages: turn.Handler.
type Handler interface {
	// Handle does a run and completes it in the store. After an error the run returns to its lane, except after
	// [domain.ErrFenced], and after [agent.ErrStopped], which means that the run was completed as stopped. An
	// [*agent.HeldError] does not count as an attempt. The context's cause is [agent.ErrStopped], [agent.ErrShutdown]
	// or [domain.ErrFenced]. Nudged fires when messages may wait that can be steered into the run; one signal may stand
	// for several.
	Handle(ctx context.Context, run *domain.Run, nudged <-chan struct{}) error
}

// Options are a dispatcher's settings.
type Options struct {
	Turns    int           // turns that work at the same time, over all sessions, not counting those that wait for people
	Commands int           // commands of the host at the same time, over all sessions; the same number again for plugins
	Owners   bool          // there are owners: the last place for turns and for each kind of command is theirs
	Grace    time.Duration // how long runs may continue after the dispatcher's context has ended
	Fleet    *fleet.Fleet  // when the lease is lost, runs end at once; nil: this host is alone
}

// Dispatcher claims runs and has them handled.
type Dispatcher struct {
	store   Store
	options Options
	log     hclog.Logger
	turns   *places

	mu      sync.Mutex
	running map[int64]*running // registered when claimed, before the handler starts
}

type running struct {
	run    *domain.Run
	ctx    context.Context // of the handler
	cancel context.CancelCauseFunc
	nudge  chan struct{}

	changed <-chan struct{} // of a turn: it may have lost its lane, or messages may wait
	unwatch func()

	done    chan struct{}
	stopped bool // it was stopped; written before done is closed

	// The places guard the fields below.
	places    *places
	questions int           // open questions to people
	paused    bool          // it has given up its place
	resumed   chan struct{} // closed once it has a place again, or has asked again and stays paused; nil: it waits for none
}

func (r *running) owner() bool { return r.run.Head.Message.Authority == chat.Owner }

// New returns a dispatcher. Run starts it.
func New(s Store, options Options, log hclog.Logger) *Dispatcher {
	return &Dispatcher{store: s, options: options, log: log, turns: newPlaces(options.Turns, options.Owners), running: map[int64]*running{}}
}

// Run claims runs and has them handled until ctx ends, then waits for running ones, at most for the grace.
func (d *Dispatcher) Run(ctx context.Context, handler Handler) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(d.options.Fleet.Context(), func() { cancel(domain.ErrFenced) })()

	var runs, loops sync.WaitGroup
	handle := func(r *running) { runs.Go(func() { d.handle(work, r, handler) }) }
	for lane, places := range map[domain.Lane]*places{
		domain.TurnLane:    d.turns,
		domain.ControlLane: newPlaces(d.options.Commands, d.options.Owners),
		domain.CommandLane: newPlaces(d.options.Commands, d.options.Owners),
		domain.ShellLane:   newPlaces(d.options.Commands, d.options.Owners),
	} {
		loops.Go(func() { d.claim(ctx, work, lane, places, handle) })
	}

	loops.Wait()
	grace := time.AfterFunc(d.options.Grace, func() { cancel(agent.ErrShutdown) })
	runs.Wait()
	grace.Stop()
}

// claim starts the ready runs of one kind of lane as places become free.
func (d *Dispatcher) claim(ctx, work context.Context, lane domain.Lane, places *places, handle func(*running)) {
	for {
		looking, whose, ok := places.claim(ctx)
		if !ok {
			return
		}
		var r *running
		err := d.store.Claim(looking, lane, whose, func(run *domain.Run) { r = d.begin(work, run, places) })
		restarted := looking.Err() != nil
		places.claimed(r)
		switch {
		case r != nil:
			handle(r)
			continue
		case ctx.Err() != nil:
			return
		case restarted:
			continue
		}
		d.log.Error("cannot claim a run", "lane", lane, "error", err)
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return
		}
	}
}

// begin registers a claimed run, so that it can be stopped.
func (d *Dispatcher) begin(work context.Context, run *domain.Run, places *places) *running {
	r := &running{run: run, places: places, nudge: make(chan struct{}, 1), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(work)
	if run.Lane == domain.TurnLane {
		r.changed, r.unwatch = d.store.WatchTurn(run.Session.Key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[run.ID] = r
	return r
}

// handle has one run handled and ensures that its lane continues.
func (d *Dispatcher) handle(work context.Context, r *running, handler Handler) {
	run := r.run
	defer r.places.end(r)
	var watch sync.WaitGroup
	if run.Lane == domain.TurnLane {
		watch.Go(func() { d.watch(r) })
	}
	defer func() {
		r.cancel(nil)
		watch.Wait()
		d.mu.Lock()
		delete(d.running, run.ID)
		d.mu.Unlock()
		close(r.done)
	}()

	err := handler.Handle(r.ctx, run, r.nudge)
	r.stopped = errors.Is(err, agent.ErrStopped)
	if err == nil || r.stopped || errors.Is(err, domain.ErrFenced) {
		return
	}
	var held *agent.HeldError
	if errors.As(err, &held) {
		hold := domain.Hold{Until: time.Now().Add(held.Wait), Firm: held.Firm, Cause: err.Error(), Notice: held.Notice, Lift: held.Lift}
		d.giveBack(work, run, func(ctx context.Context) error { return d.store.Hold(ctx, run.ID, hold) })
		return
	}
	var again time.Time
	if cause := context.Cause(r.ctx); cause == nil || !errors.Is(err, cause) {
		wait := backoff(run.Head.Attempts)
		again = time.Now().Add(wait)
		d.log.Error("a run failed and goes back to its lane", "run", run.ID, "session", run.Session.Key,
			"attempt", run.Head.Attempts, "again_in", wait.Round(time.Millisecond), "error", err)
	}
	d.giveBack(work, run, func(ctx context.Context) error { return d.store.Release(ctx, run.ID, again, err.Error()) })
}

// watch signals to a turn that messages wait that may be steered into it, and ends it if it has lost its lane, until it has ended.
func (d *Dispatcher) watch(r *running) {
	defer r.unwatch()
	var again <-chan time.Time
	for {
		select {
		case <-r.changed:
		case <-again:
		case <-r.ctx.Done():
			return
		}
		again = nil
		waiting, err := d.store.MessagesWait(r.ctx, r.run.ID)
		switch {
		case errors.Is(err, domain.ErrFenced):
			r.cancel(domain.ErrFenced)
			return
		case err != nil && r.ctx.Err() == nil:
			d.log.Warn("cannot look whether messages wait for a running turn", "run", r.run.ID, "session", r.run.Session.Key, "error", err)
			again = time.After(tryAgain)
		case waiting:
			select {
			case r.nudge <- struct{}{}:
			default:
			}
		}
	}
}

// backoff doubles from 50 ms to 30 s.
func backoff(attempts int) time.Duration {
	const first, most = 50 * time.Millisecond, 30 * time.Second
	if attempts > 10 {
		return most
	}
	return min(first<<max(attempts-1, 0), most)
}

// giveBack returns a run to its lane by the store step give. If the store fails, such as with a full disk, it is asked
// again until it succeeds; the lane is blocked meanwhile. Once work has ended, the run is reclaimed at the next start.
func (d *Dispatcher) giveBack(work context.Context, run *domain.Run, give func(ctx context.Context) error) {
	const first, most = 100 * time.Millisecond, 10 * time.Second
	for wait := first; ; wait = min(2*wait, most) {
		err := give(context.WithoutCancel(work))
		if err == nil || errors.Is(err, domain.ErrFenced) {
			return
		}
		d.log.Error("cannot give a run back", "run", run.ID, "error", err)
		select {
		case <-time.After(wait):
		case <-work.Done():
			return
		}
	}
}

// Stop ends the running turns of sessions and their lines for the shell, as far as their messages came before the given time,
// and returns once they and what they have started have ended. It reports whether it stopped one: false if none was
// running or if it completed first. The error is ctx's, if that ends first.
func (d *Dispatcher) Stop(ctx context.Context, before time.Time, sessions ...string) (bool, error) {
	var ending []*running
	for _, session := range sessions {
		ending = append(append(ending, d.turnsOf(session)...), d.inLane(session, domain.ShellLane)...)
	}
	return stop(ctx, slices.DeleteFunc(ending, func(r *running) bool { return !r.run.Head.CameBefore(before) }))
}

// StopMessage ends the session's running turn as Stop does, if it is that of a message, by its id for Claude.
func (d *Dispatcher) StopMessage(ctx context.Context, session, message string) (bool, error) {
	return stop(ctx, slices.DeleteFunc(d.turnsOf(session), func(r *running) bool { return r.run.Head.UUID != message }))
}

// stop ends runs, and returns once they have ended. It reports whether it stopped one.
func stop(ctx context.Context, ending []*running) (stopped bool, err error) {
	for _, r := range ending {
		r.cancel(agent.ErrStopped)
	}
	for _, r := range ending {
		select {
		case <-r.done:
			stopped = stopped || r.stopped
		case <-ctx.Done():
			return stopped, ctx.Err()
		}
	}
	return stopped, nil
}

// Pause records that a turn waits for one more answer from people; another run may have its place meanwhile. False: it
// may not wait, because too many do. An owner's turn always may.
func (d *Dispatcher) Pause(run int64) bool {
	r := d.find(run)
	return r == nil || r.places.pause(r)
}

// Resume records that a paused turn waits for one answer less, and returns once it has a place to continue, or when ctx
// ends.
func (d *Dispatcher) Resume(ctx context.Context, run int64) {
	r := d.find(run)
	if r == nil {
		return
	}
	resumed := r.places.resume(r)
	if resumed == nil {
		return
	}
	select {
	case <-resumed:
	case <-r.ctx.Done():
	case <-ctx.Done():
	}
}

func (d *Dispatcher) find(run int64) *running {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[run]
}

// Full reports whether a turn of an owner, or of another person, has to wait for a place.
func (d *Dispatcher) Full() (owners, others bool) { return d.turns.full() }

// Busy reports whether a turn of a session runs.
func (d *Dispatcher) Busy(session string) bool { return len(d.turnsOf(session)) > 0 }

// Count returns the number of running turns.
func (d *Dispatcher) Count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, r := range d.running {
		if r.run.Lane == domain.TurnLane {
			n++
		}
	}
	return n
}

// turnsOf returns the session's turns: usually none or one. There are two if the next one has begun while the handler
// of the completed one has not returned.
func (d *Dispatcher) turnsOf(session string) []*running { return d.inLane(session, domain.TurnLane) }

// inLane returns what runs in a session's lane.
func (d *Dispatcher) inLane(session string, lane domain.Lane) []*running {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*running
	for _, r := range d.running {
		if r.run.Lane == lane && r.run.Session.Key == session {
			found = append(found, r)
		}
	}
	return found
}

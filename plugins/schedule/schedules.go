package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// schedules are the schedules of all chats. They are in the host's state, and here as they are there.
type schedules struct {
	env    sdk.Env
	log    *slog.Logger
	zone   *time.Location
	onMiss string
	now    func() time.Time

	rows      store[row]
	proposals store[proposal]

	mu       sync.Mutex // held during changes, so that each is made on what the one before it has left
	all      map[int]*keyed[row]
	proposed map[int]*keyed[proposal]
	waiting  map[int]string // the keys of the turns that are waited for, by their schedules
	unready  error          // why not all wake-ups are set; nil: they are

	work   chan struct{} // says that there is a turn to wait for
	broken chan struct{} // says that something of a schedule is to be done again
}

// open reads the schedules.
func open(ctx context.Context, env sdk.Env, c config, now func() time.Time) (*schedules, error) {
	zone, err := c.zone()
	if err != nil {
		return nil, err
	}
	s := &schedules{
		env: env, log: env.Log, zone: zone, onMiss: c.OnMiss, now: now,
		rows: store[row]{env.State, schedulePrefix}, proposals: store[proposal]{env.State, proposalPrefix},
		all: map[int]*keyed[row]{}, proposed: map[int]*keyed[proposal]{}, waiting: map[int]string{},
		unready: errStarting, work: make(chan struct{}, 1), broken: make(chan struct{}, 1),
	}
	rows, err := s.rows.load(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range rows {
		s.all[k.value.ID] = k
	}
	proposals, err := s.proposals.load(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range proposals {
		s.proposed[k.value.ID] = k
	}
	return s, nil
}

var errStarting = errors.New("the schedules are not set up yet")

// clock returns the time in the zone, in whole seconds.
func (s *schedules) clock() time.Time { return s.now().In(s.zone).Truncate(time.Second) }

// wakeKey is the key of a schedule's wake-up.
func wakeKey(id int) string { return strconv.Itoa(id) }

// grace is how late a run may be without being one that was missed.
const grace = 5 * time.Minute

// WakeUp does what is due. The wake-up says that its time has come, whatever the clock says.
//
// The order of the writes decides what a crash between two of them does. First the row says what will be done, and accounts for all due
// times that have passed. Then that is done, under a key, so that it can be repeated. Then the row says that it is done. The next
// wake-up is set last: until then, the host repeats this one.
func (s *schedules) WakeUp(ctx context.Context, w sdk.WakeUp) error {
	id, err := strconv.Atoi(w.Key)
	if err != nil {
		return nil // it is not of this version, and nothing would make it so
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.all[id]
	if k == nil {
		return nil
	}
	now := s.clock()
	if at := w.At.In(s.zone).Truncate(time.Second); at.After(now) {
		now = at
	}
	return s.advance(ctx, k, now)
}

// advance does what is due of a schedule, and sets its next wake-up. The lock is held.
func (s *schedules) advance(ctx context.Context, k *keyed[row], now time.Time) error {
	if err := s.carryOut(ctx, k); err != nil {
		return err
	}
	if s.all[k.value.ID] != k || k.value.Paused != "" {
		return nil
	}
	due, err := k.value.Rule.times(s.zone)
	if err != nil {
		return err
	}
	if last, count := passed(due, k.value.After, now); count > 0 {
		if err := s.rows.change(ctx, k, func(r *row) { s.decide(r, last, count, now) }); err != nil {
			return err
		}
		if err := s.carryOut(ctx, k); err != nil {
			return err
		}
		if s.all[k.value.ID] != k || k.value.Paused != "" {
			return nil
		}
	}
	next := due.after(k.value.After)
	if !next.IsZero() {
		return s.env.WakeUps.WakeAt(ctx, wakeKey(k.value.ID), next)
	}
	return s.drop(ctx, k)
}

// decide says what is done for due times that have passed.
func (s *schedules) decide(r *row, last time.Time, count int, now time.Time) {
	if !r.After.Before(last) {
		return // it was decided, and the answer of the host was lost
	}
	r.After = last
	late := now.Sub(last) > grace
	if r.Run != nil {
		r.miss(last, now, count, "the run before it was not over")
		return
	}
	if r.Asked != nil {
		r.miss(r.Asked.Due, now, r.Asked.Count, "nobody has said whether to run it late")
		r.Asked = nil
	}
	switch {
	case late && r.Ask && s.onMiss == missSkip:
		r.miss(last, now, count, "the host was not running")
	case late && r.Ask && s.onMiss == missAsk:
		r.Asked = &asked{Due: last, Count: count}
	default:
		r.miss(last, now, count-1, "the host was not running; one run is for all")
		r.begin(last, now, late)
	}
}

// begin decides on a run for a due time.
func (r *row) begin(due, now time.Time, late bool) {
	r.Ran++
	r.Run = &run{Key: fmt.Sprintf("schedule:%d:%d", r.ID, due.Unix()), Due: due, At: now, Late: late}
}

// carryOut does what the row says. After each step the row says that it is done, so that a crash repeats a step at most, and each has a
// key. The lock is held.
func (s *schedules) carryOut(ctx context.Context, k *keyed[row]) error {
	if r := k.value; r.Run != nil && !r.Ask {
		err := s.env.Outbox.Post(ctx, r.Run.Key, r.To, r.reminder(s.clock()))
		if err != nil && !permanent(err) {
			return err
		}
		if err := s.settle(ctx, k, sent, err); err != nil {
			return err
		}
	} else if r.Run != nil && s.waiting[r.ID] != r.Run.Key {
		err := s.env.Turns.Begin(ctx, r.turn())
		switch {
		case permanent(err):
			err = s.settle(ctx, k, answered, err)
		case err == nil:
			signal(s.work)
		}
		if err != nil {
			return err
		}
	}
	if r := k.value; r.Asked != nil && !r.Asked.Posted {
		key := fmt.Sprintf("schedule:%d:%d:missed", r.ID, r.Asked.Due.Unix())
		if err := s.env.Outbox.PostMessage(ctx, key, r.To, r.question(s.clock())); err != nil && !permanent(err) {
			return err
		}
		if err := s.rows.change(ctx, k, func(r *row) {
			if r.Asked != nil {
				r.Asked.Posted = true
			}
		}); err != nil {
			return err
		}
	}
	if r := k.value; r.Tell != "" {
		if err := s.env.Outbox.PostMessage(ctx, r.Tell, r.To, r.pausedNotice()); err != nil && !permanent(err) {
			return err
		}
		return s.rows.change(ctx, k, func(r *row) { r.Tell = "" })
	}
	return nil
}

// permanent reports whether an error stays whatever is done again.
func permanent(err error) bool {
	return errors.Is(err, sdk.ErrNotGranted) || errors.Is(err, errors.ErrUnsupported)
}

// settle records the outcome of the run. The lock is held.
func (s *schedules) settle(ctx context.Context, k *keyed[row], outcome string, failure error) error {
	now := s.clock()
	err := s.rows.change(ctx, k, func(r *row) {
		if r.Run == nil {
			return
		}
		e := entry{Due: r.Run.Due, At: r.Run.At, Outcome: outcome}
		r.Failures++
		if failure == nil {
			r.Failures = 0
		} else {
			e.Outcome, e.Detail = failed, failure.Error()
			if errors.Is(failure, sdk.ErrNotGranted) {
				e.Detail = grantNeeded(r.To.Channel)
			}
		}
		r.note(e)
		if r.Failures >= maxFailures && r.Paused == "" {
			r.Paused, r.Tell = byFailures, fmt.Sprintf("schedule:%d:paused:%d", r.ID, now.UnixNano())
		}
		r.Run = nil
	})
	if err != nil {
		return err
	}
	return s.drop(ctx, k)
}

// drop deletes a schedule that is not due again and has nothing left to do. The lock is held.
func (s *schedules) drop(ctx context.Context, k *keyed[row]) error {
	r := k.value
	due, err := r.Rule.times(s.zone)
	if err != nil || r.Run != nil || r.Asked != nil || r.Tell != "" || r.Paused != "" || !due.after(r.After).IsZero() {
		return err
	}
	return s.remove(ctx, k)
}

// remove deletes a schedule, first the row: a wake-up without one does nothing. The lock is held.
func (s *schedules) remove(ctx context.Context, k *keyed[row]) error {
	if err := s.env.State.Delete(ctx, k.key); err != nil {
		return err
	}
	delete(s.all, k.value.ID)
	return s.env.WakeUps.Cancel(ctx, wakeKey(k.value.ID))
}

// turn returns the turn of the run.
func (r *row) turn() sdk.Turn {
	t := sdk.Turn{Key: r.Run.Key, To: r.To, Kind: r.Kind, Prompt: r.Text, Deliver: true, Untrusted: r.Untrusted}
	if r.Own {
		t.Conversation = "schedule-" + strconv.Itoa(r.ID)
	}
	return t
}

// add makes a schedule, or nothing if that fails. The lock is held.
func (s *schedules) add(ctx context.Context, r row) (*keyed[row], error) {
	k := &keyed[row]{key: keyOf(schedulePrefix, r.ID, r.Person)}
	due, err := r.Rule.times(s.zone)
	if err == nil {
		err = s.rows.change(ctx, k, func(kept *row) { *kept = r })
	}
	if err == nil {
		err = s.env.WakeUps.WakeAt(ctx, wakeKey(r.ID), due.after(r.After))
	}
	if err != nil {
		_ = s.env.State.Delete(context.WithoutCancel(ctx), k.key) // if that fails, too, the schedule is there after a restart
		return nil, err
	}
	s.all[r.ID] = k
	return k, nil
}

// sorted returns the schedules that are wanted, by their numbers. The lock is held.
func (s *schedules) sorted(wanted func(row) bool) (list []*keyed[row]) {
	for _, k := range s.all {
		if wanted(k.value) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *keyed[row]) int { return a.value.ID - b.value.ID })
	return list
}

// next returns when a schedule is due next; zero: it is not.
func (s *schedules) next(r row) time.Time {
	due, err := r.Rule.times(s.zone)
	if err != nil || r.Paused != "" {
		return time.Time{}
	}
	next := due.after(r.After)
	if next.IsZero() {
		return next
	}
	return next.In(s.zone)
}

// sameChat reports whether a schedule is of the chat of a call.
func (r row) sameChat(c chat.Caller) bool { return r.To == c.Address }

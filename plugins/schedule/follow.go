package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

const (
	// maxWaiting is the maximum number of turns that are waited for at a time.
	maxWaiting = 16
	// Waits before something that failed is tried again.
	firstWait, longestWait = time.Second, 5 * time.Minute
	// oldRun is the age of a run whose turn the host may have forgotten.
	oldRun = 20 * 24 * time.Hour
)

// Run sets all wake-ups, and learns how turns end.
func (s *schedules) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		for ctx.Err() == nil {
			_ = retry(ctx, func() error { return s.reconcile(ctx) })
			select {
			case <-ctx.Done():
			case <-s.broken:
			}
		}
	})
	free := make(chan struct{}, maxWaiting)
	for {
		for _, id := range s.toFollow() {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			running.Go(func() {
				defer func() { <-free }()
				s.follow(ctx, id)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.work:
		}
	}
}

// retry calls f until it succeeds or ctx ends.
func retry(ctx context.Context, f func() error) error {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		if err := f(); err == nil {
			return nil
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		}
	}
}

// signal has the one who waits look, now or when it waits again.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reconcile sets the wake-ups of all schedules, and finishes what a crash has interrupted.
func (s *schedules) reconcile(ctx context.Context) error {
	s.mu.Lock()
	list := s.sorted(func(row) bool { return true })
	s.mu.Unlock()
	var errs []error
	for _, k := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, s.setUp(ctx, k))
	}
	errs = append(errs, s.expire(ctx))
	err := errors.Join(errs...)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("not all schedules are set up; this is tried again", "error", err)
	}
	s.mu.Lock()
	s.unready = err
	s.mu.Unlock()
	return err
}

// setUp has a schedule wait for its time, also if that has passed: the host then calls at once.
func (s *schedules) setUp(ctx context.Context, k *keyed[row]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[k.value.ID] != k {
		return nil
	}
	if r := k.value; r.Run != nil && s.clock().Sub(r.Run.At) > oldRun {
		if err := s.settle(ctx, k, failed, errors.New("it is unknown how it ended")); err != nil {
			return err
		}
	}
	if err := s.carryOut(ctx, k); err != nil {
		return fmt.Errorf("schedule %d: %w", k.value.ID, err)
	}
	if s.all[k.value.ID] != k || k.value.Paused != "" {
		return nil
	}
	next := s.next(k.value)
	if next.IsZero() {
		return s.drop(ctx, k)
	}
	return s.env.WakeUps.WakeAt(ctx, wakeKey(k.value.ID), next)
}

// expire deletes proposals that nobody has agreed to for a day, and those that became schedules.
func (s *schedules) expire(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expireIn(ctx)
}

// expireIn is expire while the lock is held.
func (s *schedules) expireIn(ctx context.Context) error {
	var errs []error
	for id, k := range s.proposed {
		if s.all[id] != nil || s.clock().Sub(k.value.Made) > proposalLife {
			errs = append(errs, s.withdraw(ctx, k))
		}
	}
	return errors.Join(errs...)
}

// withdraw deletes a proposal. The lock is held.
func (s *schedules) withdraw(ctx context.Context, k *keyed[proposal]) error {
	if err := s.env.State.Delete(ctx, k.key); err != nil {
		return err
	}
	delete(s.proposed, k.value.ID)
	return nil
}

// toFollow returns the schedules whose turns are to be waited for, and notes that they are.
func (s *schedules) toFollow() (ids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.all {
		if k.value.Run != nil && k.value.Ask && s.waiting[id] == "" {
			s.waiting[id] = k.value.Run.Key
			ids = append(ids, id)
		}
	}
	return ids
}

// follow waits for the end of a schedule's turn and records it.
func (s *schedules) follow(ctx context.Context, id int) {
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
		signal(s.work) // another run may have begun meanwhile
	}()
	_ = retry(ctx, func() error { // its error is that ctx has ended
		s.mu.Lock()
		k := s.all[id]
		if k == nil || k.value.Run == nil {
			defer s.mu.Unlock()
			return s.finish(ctx, k)
		}
		turn := k.value.turn()
		s.mu.Unlock()
		_, err := s.env.Turns.Run(ctx, turn)
		if _, ended := errors.AsType[*sdk.TurnError](err); err != nil && !ended && !permanent(err) {
			if ctx.Err() == nil {
				s.log.Warn("the end of a turn is not known yet; this is tried again", "schedule", id, "error", err)
			}
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all[id] != k || k.value.Run == nil || k.value.Run.Key != turn.Key {
			return nil
		}
		if err := s.settle(ctx, k, answered, err); err != nil {
			return err
		}
		return s.finish(ctx, k)
	})
}

// finish does what is left to do after a run, if the schedule is still there. The lock is held.
func (s *schedules) finish(ctx context.Context, k *keyed[row]) error {
	if k == nil || s.all[k.value.ID] != k {
		return nil
	}
	if err := s.carryOut(ctx, k); err != nil {
		return err
	}
	return s.drop(ctx, k)
}

// Health reports that wake-ups are missing.
func (s *schedules) Health(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unready != nil && !errors.Is(s.unready, errStarting) {
		return fmt.Errorf("not all schedules are set up: %w", s.unready)
	}
	return nil
}

// Status says how many schedules there are.
func (s *schedules) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first time.Time
	for _, k := range s.all {
		if next := s.next(k.value); first.IsZero() || !next.IsZero() && next.Before(first) {
			first = next
		}
	}
	said := plural(len(s.all), "schedule")
	if !first.IsZero() {
		said += ", the next " + dayWords(first, s.clock())
	}
	return said
}

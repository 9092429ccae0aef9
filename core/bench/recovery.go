package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// recovery kills hosts during a turn, restarts them at once, and measures the time from the kill to the answer. It
// includes claude's own time for a turn.
func (b *bench) recovery(ctx context.Context) error {
	const kills, turn, into = 7, 200 * time.Millisecond, 100 * time.Millisecond
	r, err := newRig(b.bin, setup{
		plugins: three, processes: 4,
		env: map[string]string{"CLAUDE_STUB_DELAY_MS": fmt.Sprint(turn.Milliseconds())},
	})
	if err != nil {
		return err
	}
	defer r.remove()
	var answers, readies []time.Duration
	h, err := r.start(ctx)
	if err != nil {
		return err
	}
	number := 0
	for range kills {
		next, ready, answered, err := r.interrupted(ctx, h, &number, into)
		if err != nil {
			return err
		}
		h, readies, answers = next, append(readies, ready), append(answers, answered)
	}
	line("measured", fmt.Sprintf("%d kills, each %s into a turn that takes claude %s; started again at once", kills, into, turn))
	line("kill -9 → ready again", spread(readies))
	judged("kill -9 → answer", spread(answers), "< 3 s", median(answers) < 3*time.Second)
	return h.stop()
}

// interrupted kills a host during a turn and starts the next one. It returns that host, its start time, and the time to
// the answer.
func (r *rig) interrupted(
	ctx context.Context, h *host, number *int, into time.Duration,
) (next *host, ready, answered time.Duration, err error) {
	c, err := dial(r.address, "anna")
	if err != nil {
		return nil, 0, 0, err
	}
	*number++ // a first message, so that claude is warm
	if _, err = c.send(*number); err == nil {
		_, err = c.answered(*number)
	}
	if err != nil {
		return nil, 0, 0, err
	}
	*number++
	if _, err = c.send(*number); err == nil {
		_, err = c.accepted(*number)
	}
	if err != nil {
		return nil, 0, 0, err
	}
	<-time.After(into)
	killed := time.Now()
	h.kill()
	c.leave()
	var back sync.WaitGroup
	var at time.Time
	var missed error
	back.Go(func() { at, missed = comeBack(r.address, "anna", *number) })
	next, err = r.start(ctx)
	ready = time.Since(killed)
	back.Wait()
	return next, ready, at.Sub(killed), errors.Join(err, missed)
}

// comeBack rejoins the chat as soon as the channel is there, and again whenever it disconnects (the plugin of the
// killed host survives for a moment), and waits for the answer.
func comeBack(address, chat string, number int) (time.Time, error) {
	for began := time.Now(); ; {
		c, err := dial(address, chat)
		if err != nil {
			return time.Time{}, err
		}
		at, err := c.answered(number)
		c.leave()
		if err == nil || !errors.Is(err, errHungUp) || time.Since(began) > patience {
			return at, err
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// throughput has people in 1 and in 50 chats write as fast as they are answered, to a claude that answers at once and
// to one that takes 200 ms. Each has two messages in flight, so that a lane never waits for the client.
func (b *bench) throughput(ctx context.Context) error {
	const repeats, window = 3, 4 * time.Second
	line("measured", fmt.Sprintf("%d × %s", repeats, window))
	for _, delay := range []time.Duration{0, 200 * time.Millisecond} {
		for _, sessions := range []int{1, 50} {
			err := b.with(ctx, setup{
				plugins: []string{"echo"}, processes: sessions,
				env: map[string]string{"CLAUDE_STUB_DELAY_MS": strconv.FormatInt(delay.Milliseconds(), 10)},
			}, func(h *host) error {
				return b.rates(h, sessions, delay, repeats, window)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// rates measures the messages answered per second.
func (b *bench) rates(h *host, sessions int, delay time.Duration, repeats int, window time.Duration) (err error) {
	clients := make([]*client, sessions)
	numbers := make([]int, sessions)
	for i := range clients {
		if clients[i], err = dial(h.rig.address, fmt.Sprintf("chat%d", i)); err != nil {
			return err
		}
		defer clients[i].leave()
	}
	if _, err := answeredBy(clients, numbers, 0); err != nil { // each has a claude afterwards
		return err
	}
	var rates []float64
	var costs []time.Duration
	for range repeats {
		before, err := cpu(h.cmd.Process.Pid)
		if err != nil {
			return err
		}
		began := time.Now()
		answers, err := answeredBy(clients, numbers, window)
		if err != nil {
			return err
		}
		rates = append(rates, float64(answers)/time.Since(began).Seconds())
		after, err := cpu(h.cmd.Process.Pid)
		if err != nil {
			return err
		}
		costs = append(costs, (after-before)/time.Duration(max(1, answers)))
	}
	name := fmt.Sprintf("sessions: %d, claude takes %s", sessions, delay)
	value := fmt.Sprintf("%.0f messages/s, host %s each", median(rates), millis(median(costs)))
	if sessions == 50 && delay > 0 {
		judged(name, value, "≥ 200 messages/s", median(rates) >= 200)
	} else {
		line(name, value)
	}
	return nil
}

// answeredBy has each client write for a period, at least twice, and returns the number of answers, and the time of the
// last.
func answeredBy(clients []*client, numbers []int, window time.Duration) (int, error) {
	errs := make([]error, len(clients))
	counts := make([]int, len(clients))
	var talks sync.WaitGroup
	deadline := time.Now().Add(window)
	for i, c := range clients {
		talks.Go(func() { counts[i], errs[i] = talk(c, &numbers[i], deadline) })
	}
	talks.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(errs...)
}

// talk keeps two messages in flight until the deadline, and then waits for their answers, which come in order.
func talk(c *client, number *int, deadline time.Time) (answers int, err error) {
	const onTheWay = 2
	first := *number
	for range onTheWay {
		*number++
		if _, err := c.send(*number); err != nil {
			return 0, err
		}
	}
	for first+answers < *number {
		if _, err := c.answered(first + answers + 1); err != nil {
			return answers, err
		}
		answers++
		if time.Now().Before(deadline) {
			*number++
			if _, err := c.send(*number); err != nil {
				return answers, err
			}
		}
	}
	return answers, nil
}

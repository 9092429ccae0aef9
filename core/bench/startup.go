package main

import (
	"context"
	"fmt"
	"time"
)

// three are plugins of all kinds that a typical host has.
var three = []string{"webchat", "echo", "clock"}

// startup starts hosts with three plugins: on a folder with a database, as in each start but the first, and on an empty
// one.
func (b *bench) startup(ctx context.Context) error {
	const starts = 10
	var again, first []time.Duration
	r, err := newRig(b.bin, setup{plugins: three, processes: 4})
	if err != nil {
		return err
	}
	defer r.remove()
	for range starts + 1 {
		took, err := r.ready(ctx)
		if err != nil {
			return err
		}
		again = append(again, took)
	}
	for range starts {
		fresh, err := newRig(b.bin, setup{plugins: three, processes: 4})
		if err != nil {
			return err
		}
		took, err := fresh.ready(ctx)
		fresh.remove()
		if err != nil {
			return err
		}
		first = append(first, took)
	}
	again = again[1:]
	line("measured", fmt.Sprintf("%d starts each; the files are in memory", starts))
	judged("exec → ready, three plugins", spread(again), "< 300 ms", median(again) < 300*time.Millisecond)
	line("the same, the first start of all (no database yet)", spread(first))
	return nil
}

// ready measures how long a host takes to be ready.
func (r *rig) ready(ctx context.Context) (time.Duration, error) {
	h, err := r.start(ctx)
	if err != nil {
		return 0, err
	}
	return h.took, h.stop()
}

// spread describes a few durations.
func spread(s sample) string {
	return fmt.Sprintf("%d ms (%d to %d)", s.median().Milliseconds(), s.quantile(0).Milliseconds(), s.quantile(1).Milliseconds())
}

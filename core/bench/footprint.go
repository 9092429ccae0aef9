package main

import (
	"context"
	"fmt"
	"time"
)

// footprint measures the memory of an idle host and its plugins: some seconds after the start, and some seconds after a
// thousand messages.
func (b *bench) footprint(ctx context.Context) error {
	const repeats, messages, rest = 3, 1000, 4 * time.Second
	idle, used := map[string][]memory{}, map[string][]memory{}
	for range repeats {
		err := b.with(ctx, setup{plugins: three, processes: 4}, func(h *host) error {
			<-time.After(rest)
			if err := h.weigh(ctx, idle); err != nil {
				return err
			}
			c, err := dial(h.rig.address, "anna")
			if err != nil {
				return err
			}
			defer c.leave()
			number := 0
			if _, err := exchange(c, &number, messages); err != nil {
				return err
			}
			<-time.After(rest)
			return h.weigh(ctx, used)
		})
		if err != nil {
			return err
		}
	}
	line("measured", fmt.Sprintf("%d hosts, %s after the start and after %d messages", repeats, rest, messages))
	for _, name := range append([]string{"host"}, three...) {
		target := 25
		if name == "host" {
			target = 40
		}
		rss, pss := medians(idle[name])
		judged(name+", idle: RSS", fmt.Sprintf("%s (PSS %s)", megabytes(rss), megabytes(pss)),
			fmt.Sprintf("< %d MB", target), rss < target*1000*1000/1024)
		rss, pss = medians(used[name])
		line(fmt.Sprintf("%s, after %d messages: RSS", name, messages), fmt.Sprintf("%s (PSS %s)", megabytes(rss), megabytes(pss)))
	}
	return nil
}

// weigh adds the memory of the host and its plugins, by name.
func (h *host) weigh(ctx context.Context, to map[string][]memory) error {
	pids, err := h.plugins(ctx)
	if err != nil {
		return err
	}
	pids["host"] = h.cmd.Process.Pid
	for name, pid := range pids {
		m, err := memoryOf(pid)
		if err != nil {
			return fmt.Errorf("memory of %s: %w", name, err)
		}
		to[name] = append(to[name], m)
	}
	return nil
}

func medians(of []memory) (rss, pss int) {
	var all, share []int
	for _, m := range of {
		all, share = append(all, m.rss), append(share, m.pss)
	}
	return median(all), median(share)
}

// megabytes converts kilobytes of 1024 to megabytes of a million.
func megabytes(kilobytes int) string { return fmt.Sprintf("%.1f MB", float64(kilobytes)*1024/1e6) }

package main

import (
	"context"
	"fmt"
	"time"
)

// passage is the timing of one message, all by the same clock.
type passage struct {
	written  time.Time // to the plugin's socket
	accepted time.Time // the client has read that the host has it
	asked    time.Time // on claude's stdin
	result   time.Time // written towards claude's stdout
	answered time.Time // the client has read the answer
}

func (p passage) in() time.Duration       { return p.asked.Sub(p.written) }
func (p passage) out() time.Duration      { return p.answered.Sub(p.result) }
func (p passage) overhead() time.Duration { return p.in() + p.out() }

// overhead sends messages one at a time in one chat, whose claude is warm, and measures everything except claude's
// time: first with answers that come at once and complete, then with answers that come word by word.
func (b *bench) overhead(ctx context.Context) error {
	const repeats = 5
	var whole, streamed crossing
	err := b.with(ctx, setup{plugins: []string{"echo"}, processes: 1, traced: true}, func(h *host) (err error) {
		whole, err = cross(ctx, h, repeats, 300)
		return err
	})
	if err != nil {
		return err
	}
	script := map[string]string{"CLAUDE_STUB_SCRIPT": `{"token_delay_ms": 2}`}
	err = b.with(ctx, setup{plugins: []string{"echo"}, processes: 1, traced: true, env: script}, func(h *host) (err error) {
		streamed, err = cross(ctx, h, repeats, 20)
		return err
	})
	if err != nil {
		return err
	}
	line("measured", fmt.Sprintf("%d × 300 messages, one at a time", repeats))
	line("written → accepted (on disk)", whole.spread(func(p passage) time.Duration { return p.accepted.Sub(p.written) }))
	line("accepted → on claude's stdin", whole.spread(func(p passage) time.Duration { return p.asked.Sub(p.accepted) }))
	line("written → on claude's stdin", whole.spread(passage.in))
	line("result → answer read", whole.spread(passage.out))
	p50, _ := whole.quantiles(passage.overhead)
	judged("both: overhead of a message", whole.spread(passage.overhead), "p50 < 5 ms", p50 < 5*time.Millisecond)
	judged("processor time of the host, a message", millis(whole.host), "< 5 ms", whole.host < 5*time.Millisecond)
	line("processor time of the plugin, a message", millis(whole.plugin))
	line("answers in some 30 pieces: overhead of a message", streamed.spread(passage.overhead))
	line("answers in some 30 pieces: the host's time", millis(streamed.host))
	return nil
}

// crossing is the timings of messages, by run, and the processor time of each.
type crossing struct {
	runs         []map[int]passage
	host, plugin time.Duration
}

// cross sends messages to a host, after some to warm it up.
func cross(ctx context.Context, h *host, repeats, messages int) (crossing, error) {
	const warmup = 50
	pids, err := h.plugins(ctx)
	if err != nil {
		return crossing{}, err
	}
	c, err := dial(h.rig.address, "anna")
	if err != nil {
		return crossing{}, err
	}
	defer c.leave()
	number := 0
	if _, err := exchange(c, &number, warmup); err != nil {
		return crossing{}, err
	}
	var all crossing
	var hosts, plugins []time.Duration
	for range repeats {
		host, plugin, err := spent(h.cmd.Process.Pid, pids["echo"])
		if err != nil {
			return crossing{}, err
		}
		passages, err := exchange(c, &number, messages)
		if err != nil {
			return crossing{}, err
		}
		hostAfter, pluginAfter, err := spent(h.cmd.Process.Pid, pids["echo"])
		if err != nil {
			return crossing{}, err
		}
		all.runs = append(all.runs, passages)
		hosts = append(hosts, (hostAfter-host)/time.Duration(messages))
		plugins = append(plugins, (pluginAfter-plugin)/time.Duration(messages))
	}
	all.host, all.plugin = median(hosts), median(plugins)
	return all, all.join(h.rig.path("trace"))
}

// join adds what the stub traced.
func (c crossing) join(path string) error {
	trace, err := readTrace(path)
	if err != nil {
		return err
	}
	for _, passages := range c.runs {
		for n, p := range passages {
			p.asked, p.result = trace.in[n], trace.out[n]
			if p.asked.Before(p.written) || p.result.Before(p.asked) || p.answered.Before(p.result) {
				return fmt.Errorf("the trace lacks message %d, or its clock is not this one", n)
			}
			passages[n] = p
		}
	}
	return nil
}

// quantiles are the medians over the runs of their medians and 99th percentiles.
func (c crossing) quantiles(f func(passage) time.Duration) (p50, p99 time.Duration) {
	var middles, tails []time.Duration
	for _, passages := range c.runs {
		var s sample
		for _, p := range passages {
			s = append(s, f(p))
		}
		middles, tails = append(middles, s.median()), append(tails, s.quantile(0.99))
	}
	return median(middles), median(tails)
}

func (c crossing) spread(f func(passage) time.Duration) string {
	p50, p99 := c.quantiles(f)
	return fmt.Sprintf("p50 %s, p99 %s", millis(p50), millis(p99))
}

// exchange sends messages, each after the answer to the one before.
func exchange(c *client, number *int, messages int) (map[int]passage, error) {
	passages := map[int]passage{}
	for range messages {
		*number++
		var p passage
		var err error
		if p.written, err = c.send(*number); err != nil {
			return nil, err
		}
		for p.accepted.IsZero() || p.answered.IsZero() {
			e, err := c.next()
			switch {
			case err != nil:
				return nil, err
			case e.number != *number:
				return nil, fmt.Errorf("message %d was heard of while %d is", e.number, *number)
			case e.answer:
				p.answered = e.at
			default:
				p.accepted = e.at
			}
		}
		passages[*number] = p
	}
	return passages, nil
}

// spent is the processor time of the host and of a plugin.
func spent(host, plugin int) (time.Duration, time.Duration, error) {
	h, err := cpu(host)
	if err != nil {
		return 0, 0, err
	}
	p, err := cpu(plugin)
	return h, p, err
}

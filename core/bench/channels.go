package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
	"github.com/clawhost/clawhost/core/internal/operate/hostapi"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// channels measures what the plugins of channels and their connection add to a message, without the host: this program
// plays its part and accepts each message at once.
func (b *bench) channels(ctx context.Context) error {
	for _, n := range networks {
		if err := b.channel(ctx, n.name, n.most, n.open); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

func (b *bench) channel(ctx context.Context, name string, most int, open func() (*network, error)) error {
	const warmup, repeats, messages, rest = 50, 3, 300, 4 * time.Second
	n, err := open()
	if err != nil {
		return err
	}
	defer n.stop()
	r, err := newRig(b.bin, setup{plugins: []string{name}, blocks: map[string]string{name: n.block}, processes: 1})
	if err != nil {
		return err
	}
	defer r.remove()
	if n.login != nil {
		// The second process of the plugin is measured: the first has used memory for pairing.
		if err := pair(ctx, r, name, n); err != nil {
			return err
		}
	}
	p, err := r.plugin(ctx, name)
	if err != nil {
		return err
	}
	defer p.stop()
	<-time.After(rest)
	idle, err := memoryOf(p.pid)
	if err != nil {
		return err
	}
	number := 0
	if _, _, err := p.exchange(ctx, n, &number, warmup); err != nil {
		return err
	}
	var in, out, both, costs []time.Duration
	for range repeats {
		before, err := cpu(p.pid)
		if err != nil {
			return err
		}
		ins, outs, err := p.exchange(ctx, n, &number, messages)
		if err != nil {
			return err
		}
		after, err := cpu(p.pid)
		if err != nil {
			return err
		}
		in, out, both = append(in, ins.median()), append(out, outs.median()), append(both, ins.median()+outs.median())
		costs = append(costs, (after-before)/messages)
	}
	line(name+": written → with the host", "p50 "+millis(median(in)))
	line(name+": the host's sending → with the network", "p50 "+millis(median(out)))
	judged(name+": both, added to a message", "p50 "+millis(median(both)), "p50 < 3 ms", median(both) < 3*time.Millisecond)
	line(name+": processor time of the plugin, a message", millis(median(costs)))
	judged(name+", idle: RSS", fmt.Sprintf("%s (PSS %s)", megabytes(idle.rss), megabytes(idle.pss)),
		fmt.Sprintf("< %d MB", most), idle.rss < most*1000*1000/1024)
	return nil
}

// plugin is a channel's plugin that runs without a host.
type plugin struct {
	live      *plugins.Plugin
	pid       int
	submitted chan time.Time
	stop      func()
}

// pair runs the plugin once to log in.
func pair(ctx context.Context, r *rig, name string, n *network) error {
	p, err := r.plugin(ctx, name)
	if err != nil {
		return err
	}
	defer p.stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := n.login(ctx, p.live); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	return nil
}

func (r *rig) plugin(ctx context.Context, name string) (_ *plugin, err error) {
	cfg, err := config.Load(r.path("config.hcl"), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, r.path("plugin.db"), store.Options{})
	if err != nil {
		return nil, err
	}
	p := &plugin{submitted: make(chan time.Time, 1)}
	registry := plugins.New(cfg.Plugins[:1])
	api := hostapi.New(hostapi.Options{Inbox: p, Store: s, Plugins: registry, Closing: make(chan struct{})}, hclog.NewNullLogger())
	supervised := supervisor.New(supervisor.Options{
		Plugins:     registry,
		HostVersion: "bench", StateDir: r.path("state"), SocketDir: r.dir, Processes: s, Grace: patience,
	}, hclog.NewNullLogger())
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	gone := make(chan struct{})
	go func() { // ended by stop
		defer close(gone)
		supervised.Run(working, unattended{api})
	}()
	p.stop = func() {
		cancel()
		<-gone
		_ = s.Close()
	}
	wait, done := context.WithTimeout(ctx, patience)
	defer done()
	if p.live, err = registry.Await(wait, name); err != nil {
		p.stop()
		return nil, fmt.Errorf("the plugin does not start: %s", registry.List()[0].Detail)
	}
	p.pid = registry.List()[0].PID
	return p, nil
}

// Submit accepts an event.
func (p *plugin) Submit(_ context.Context, _ string, e chat.Event) (inbox.Outcome, error) {
	if _, ok := e.Body.(chat.Message); ok {
		p.submitted <- time.Now()
	}
	return inbox.Outcome{Verdict: chat.Accepted, Session: "bench"}, nil
}

// Typing is not measured.
func (p *plugin) Typing(context.Context, string, chat.Typing) error { return nil }

// Session is not used by channels.
func (p *plugin) Session(context.Context, string, chat.Address, chat.Chat) (string, error) {
	return "bench", nil
}

// exchange has a person write messages, and answers each.
func (p *plugin) exchange(ctx context.Context, n *network, number *int, messages int) (in, out sample, err error) {
	anna := n.person(1)
	for range messages {
		*number++
		at, err := anna.say(text(*number))
		if err != nil {
			return nil, nil, err
		}
		select {
		case submitted := <-p.submitted:
			in = append(in, submitted.Sub(at))
		case <-time.After(patience):
			return nil, nil, fmt.Errorf("message %d does not come", *number)
		}
		began := time.Now()
		if _, err := p.live.Send(ctx, chat.Outgoing{
			Key: fmt.Sprint("bench", *number),
			To:  chat.Address{Channel: p.live.Name, Chat: anna.chat}, Text: "echo: " + text(*number),
		}); err != nil {
			return nil, nil, err
		}
		if n.shown != nil {
			if err := n.shown(*number); err != nil {
				return nil, nil, err
			}
		}
		out = append(out, time.Since(began))
	}
	return in, out, nil
}

// unattended is a host without an operator for the measured plugins.
type unattended struct{ *hostapi.API }

func (unattended) Accept(string, remote.Description) error { return nil }

func (unattended) Opened(string, string) {}

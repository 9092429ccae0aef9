package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// accept compares how long it takes to accept a message with 10 and with 100,000 sessions: by the store alone, and by a
// host. Both run alternately, so that other load of the machine affects both.
func (b *bench) accept(ctx context.Context) error {
	const messages = 1000
	counts := []int{10, 100_000}
	rigs := make([]*rig, len(counts))
	for i, sessions := range counts {
		// The only claude is kept busy: messages are accepted and wait.
		r, err := newRig(b.bin, setup{plugins: []string{"echo"}, processes: 1})
		if err != nil {
			return err
		}
		defer r.remove()
		began := time.Now()
		if err := seed(ctx, r.database(), sessions); err != nil {
			return fmt.Errorf("make %d sessions: %w", sessions, err)
		}
		if took := time.Since(began); took > time.Second {
			line(fmt.Sprintf("made %d sessions", sessions), fmt.Sprintf("in %s", took.Round(time.Second)))
		}
		rigs[i] = r
	}
	line("measured", fmt.Sprintf("%d messages each, one at a time, in turns", messages))
	few, many, err := acceptedByStore(ctx, rigs, counts, messages)
	if err != nil {
		return err
	}
	compare("the store's Accept", few, many)
	few, many, err = acceptedByHost(ctx, rigs, counts, messages)
	if err != nil {
		return err
	}
	compare("written to the plugin → accepted", few, many)
	return nil
}

func compare(name string, few, many sample) {
	ratio := float64(many.median()) / float64(few.median())
	judged(name, fmt.Sprintf("%s and %s, ratio %.2f", millis(few.median()), millis(many.median()), ratio), "≤ 1.3", ratio <= 1.3)
}

func (r *rig) database() string { return r.path(filepath.Join("state", "clawhost.db")) }

// seed creates sessions with one message each.
func seed(ctx context.Context, path string, sessions int) (err error) {
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	const workers = 64 // they share the waits for the disk
	errs := make([]error, workers)
	var work sync.WaitGroup
	for w := range workers {
		work.Go(func() {
			for i := w; i < sessions && errs[w] == nil; i += workers {
				in := inbound(i, 0)
				_, err := s.Accept(ctx, in)
				if err == nil {
					_, err = s.Clear(ctx, in.Session, in.Lane, time.Now().Add(time.Hour))
				}
				errs[w] = err
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// inbound is a message of a session, as from the echo channel.
func inbound(session, number int) domain.Inbound {
	name := fmt.Sprintf("chat%d", session)
	return domain.Inbound{
		EventID: chat.EventID(fmt.Sprintf("echo:%s:seed%d", name, number)), Session: "echo:" + name, Lane: domain.TurnLane,
		Message: domain.Message{
			Channel: "echo", Chat: chat.Chat{ID: chat.ID(name), Kind: chat.Direct}, ID: chat.MessageID(fmt.Sprint("seed", number)),
			Sender: chat.Sender{ID: chat.UserID(name)}, Authority: chat.Authorised, SentAt: time.Now(), Text: text(number),
		},
	}
}

// acceptedByStore measures how long the store takes, with few and with many sessions.
func acceptedByStore(ctx context.Context, rigs []*rig, counts []int, messages int) (few, many sample, err error) {
	took := make([]sample, len(rigs))
	stores := make([]*store.Store, len(rigs))
	for i, r := range rigs {
		if stores[i], err = store.Open(ctx, r.database(), store.Options{}); err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, stores[i].Close()) }()
	}
	for n := range messages {
		for i, s := range stores {
			in := inbound(rand.IntN(counts[i]), n+1)
			began := time.Now()
			if _, err := s.Accept(ctx, in); err != nil {
				return nil, nil, err
			}
			took[i] = append(took[i], time.Since(began))
			if _, err := s.Clear(ctx, in.Session, in.Lane, time.Now().Add(time.Hour)); err != nil {
				return nil, nil, err
			}
		}
	}
	return took[0], took[1], nil
}

// acceptedByHost measures the time from a message to the plugin until the host has it.
func acceptedByHost(ctx context.Context, rigs []*rig, counts []int, messages int) (few, many sample, err error) {
	took := make([]sample, len(rigs))
	clients := make([]*client, len(rigs))
	for i, r := range rigs {
		h, err := r.start(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, h.stop()) }()
		if clients[i], err = occupy(h); err != nil {
			return nil, nil, err
		}
		defer clients[i].release()
	}
	for n := 2; n < messages+2; n++ {
		for i, c := range clients {
			c.chat = fmt.Sprintf("chat%d", rand.IntN(counts[i]))
			began, err := c.send(n)
			if err != nil {
				return nil, nil, err
			}
			at, err := c.accepted(n)
			if err != nil {
				return nil, nil, err
			}
			took[i] = append(took[i], at.Sub(began))
		}
	}
	return took[0], took[1], nil
}

// busy is the chat whose message keeps claude busy while the others wait.
const busy = "busy"

// occupy keeps a host's only claude busy until release is called.
func occupy(h *host) (*client, error) {
	c, err := dial(h.rig.address, busy)
	if err != nil {
		return nil, err
	}
	if _, err := c.say(1, `[[stub {"delay_ms": 86400000}]]`); err != nil {
		return nil, err
	}
	_, err = c.accepted(1)
	return c, err
}

// release stops the turn that keeps claude busy; otherwise the host would wait for it.
func (c *client) release() {
	c.chat = busy
	_, _ = c.say(0, "/stop")
	_, _ = c.accepted(0)
	c.leave()
}

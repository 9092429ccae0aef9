package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// sitting is people of one network, who talk with hosts that run one after the other.
type sitting struct {
	name    string
	setup   setup
	rig     *rig
	network *network
	model   model
	host    *host
	number  int // of the latest message
}

// waits is how long people waited, from their messages: until the model was asked, and until they saw the first word.
type waits struct{ asked, seen sample }

func (w waits) print(name string) {
	if len(w.asked) > 0 {
		line(name, fmt.Sprintf("asked after %s, first word after %s", spread(w.asked), spread(w.seen)))
	}
}

// step is a part of what happens while a host runs.
type step func(context.Context) error

// sit opens a network and a folder for hosts, for f.
func (b *bench) sit(ctx context.Context, name string, open func() (*network, error), f func(*sitting) error) error {
	n, err := open()
	if err != nil {
		return err
	}
	defer n.stop()
	m := newModel(b.cli)
	defer m.close()
	const most = 24 // conversations with a process
	s := &sitting{name: name, network: n, model: m, setup: m.equip(setup{
		plugins: []string{name}, blocks: map[string]string{name: n.block}, processes: most, usual: true,
	})}
	if s.rig, err = newRig(b.bin, s.setup); err != nil {
		return err
	}
	defer s.rig.remove()
	if n.login != nil {
		if err := pair(ctx, s.rig, name, n); err != nil {
			return err
		}
	}
	return f(s)
}

// during runs a host, with more in its block claude, for some steps.
func (s *sitting) during(ctx context.Context, claude string, steps ...step) error {
	s.setup.claude = claude
	err := s.rig.configure(s.setup)
	if err != nil {
		return err
	}
	if s.host, err = s.rig.start(ctx); err != nil {
		return err
	}
	for _, step := range steps {
		if err = step(ctx); err != nil {
			err = fmt.Errorf("%w; the end of the host's log:\n%s", err, s.rig.tail())
			break
		}
	}
	return errors.Join(err, s.host.stop())
}

// people are the first people of a network.
func (s *sitting) people(of func(int) person, count int) []person {
	all := make([]person, count)
	for i := range all {
		all[i] = of(i + 1)
	}
	return all
}

// passing lets time pass.
func passing(d time.Duration) step {
	return func(ctx context.Context) error { return pause(ctx, d) }
}

// begin has people do something one after the other.
func (s *sitting) begin(people []person, do func(context.Context, person) error) step {
	return func(ctx context.Context) error {
		for _, p := range people {
			if err := s.rest(ctx); err != nil {
				return err
			}
			if err := do(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// each prints how long people wait, of whom each does something first, if it is not nil.
func (s *sitting) each(name string, people []person, before func(context.Context, person) error) step {
	return func(ctx context.Context) error {
		var w waits
		err := s.hear(&w, people, before)(ctx)
		w.print(name)
		return err
	}
}

// hear adds how long people wait.
func (s *sitting) hear(w *waits, people []person, before func(context.Context, person) error) step {
	return s.begin(people, func(ctx context.Context, p person) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if before != nil {
			if err := before(ctx, p); err != nil {
				return err
			}
		}
		s.number++
		said, err := p.say(text(s.number))
		if err != nil {
			return err
		}
		seen, err := p.sees(ctx, mark(s.number))
		if err != nil {
			return fmt.Errorf("the answer to message %d: %w", s.number, err)
		}
		asked, err := s.model.asked(ctx, s.rig, s.number)
		if err != nil {
			return fmt.Errorf("the request of message %d: %w", s.number, err)
		}
		w.asked, w.seen = append(w.asked, asked.Sub(said)), append(w.seen, seen.Sub(said))
		return nil
	})
}

// client asks the host about itself.
func (s *sitting) client() *admin.Client {
	return admin.NewClient(s.rig.path(filepath.Join("state", "clawhost.sock")))
}

// rest waits until no turn runs and no process starts, and a little longer, for what comes behind.
func (s *sitting) rest(ctx context.Context) error {
	const little = 300 * time.Millisecond
	err := until(ctx, "the host comes to rest", func() (bool, error) {
		status, err := s.client().Status(ctx)
		return status.Running+status.Waiting+status.Pending+status.Claude.Running == 0, err
	})
	if err != nil {
		return err
	}
	return pause(ctx, little)
}

// parked waits until no conversation has a process.
func (s *sitting) parked(ctx context.Context) error {
	return until(ctx, "all processes are parked", func() (bool, error) {
		sessions, err := s.client().Sessions(ctx, "")
		if err != nil {
			return false, err
		}
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return false, err
		}
		for _, path := range lines {
			arguments, _ := os.ReadFile(path) // the process may have ended
			for _, session := range sessions {
				if strings.Contains(string(arguments), session.ClaudeSession) {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// until asks again and again until something is so.
func until(ctx context.Context, what string, is func() (bool, error)) error {
	const step = 20 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; {
		if done, err := is(); err != nil || done {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("not so after %s: %s", patience, what)
}

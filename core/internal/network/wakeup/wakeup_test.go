package wakeup_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/network/wakeup"
	"github.com/clawhost/clawhost/sdk"
)

// timers are the wake-ups of plugins in memory.
type timers struct {
	mu      sync.Mutex
	all     []*timer
	set     int64
	changed chan struct{}
}

type timer struct {
	domain.WakeUp
	next time.Time
}

func (s *timers) wakeAt(instance, key string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set++
	s.all = slices.DeleteFunc(s.all, func(t *timer) bool { return t.Instance == instance && t.Key == key })
	s.all = append(s.all, &timer{domain.WakeUp{Instance: instance, Key: key, At: at, Revision: s.set}, at})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *timers) DueWakeUp(ctx context.Context, instance string) (domain.WakeUp, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		slices.SortFunc(s.all, func(a, b *timer) int { return cmp.Or(a.next.Compare(b.next), cmp.Compare(a.Key, b.Key)) })
		i := slices.IndexFunc(s.all, func(t *timer) bool { return t.Instance == instance })
		wait := time.Hour
		if i >= 0 {
			wait = time.Until(s.all[i].next)
		}
		if i >= 0 && wait <= 0 {
			defer s.mu.Unlock()
			return s.all[i].WakeUp, nil
		}
		s.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-changed:
		case <-ctx.Done():
			return domain.WakeUp{}, ctx.Err()
		}
	}
}

func (s *timers) WokenUp(_ context.Context, w domain.WakeUp) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(t *timer) bool { return t.Instance == w.Instance && t.Revision == w.Revision })
	return nil
}

func (s *timers) PutOffWakeUp(_ context.Context, w domain.WakeUp, next time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		if t.Revision == w.Revision {
			t.Attempts, t.next = t.Attempts+1, next
		}
	}
	return nil
}

// sleeper is a plugin that fails for some keys, so often.
type sleeper struct {
	began time.Time
	fails map[string]int

	mu     sync.Mutex
	called []string
}

func (p *sleeper) WakeUp(_ context.Context, w sdk.WakeUp) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := ""
	if d := time.Since(w.At); d > 0 {
		late = fmt.Sprint(" late by ", d)
	}
	p.called = append(p.called, fmt.Sprint(w.Key, " at ", time.Since(p.began), late))
	if p.fails[w.Key]--; p.fails[w.Key] >= 0 {
		return errors.New("not now")
	}
	return nil
}

func (p *sleeper) calls() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.called = nil }()
	return p.called
}

// component is the plugin as the sdk serves it.
func (p *sleeper) component() sdk.Component {
	return sdk.Service(func(context.Context, sdk.Env, struct{}) (*sleeper, error) { return p, nil })
}

// run calls plugins until the test ends.
func run(t *testing.T, s *timers, r *plugins.Registry) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { wakeup.Run(ctx, s, r, hclog.NewNullLogger()) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
}

// Each is called at its time; a failed one again after a growing wait, without holding up others.
// Behaviour: wake-up.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := &timers{changed: make(chan struct{})}, plugintest.Registry("schedule", "other")
		p := &sleeper{began: time.Now(), fails: map[string]int{"sick": 12}}
		plugintest.Run(t, r, "schedule", p.component())
		run(t, s, r)
		for key, after := range map[string]time.Duration{"sick": time.Minute, "well": time.Minute, "later": 63 * time.Second, "past": -time.Hour} {
			s.wakeAt("schedule", key, p.began.Add(after))
		}
		s.wakeAt("other", "never", p.began)
		time.Sleep(65 * time.Second)
		want := []string{
			"past at 0s late by 1h0m0s", "sick at 1m0s", "well at 1m0s", "sick at 1m1s late by 1s", "later at 1m3s", "sick at 1m3s late by 3s",
		}
		if diff := gocmp.Diff(want, p.calls()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		if got := p.calls(); len(got) != 10 || got[9] != "sick at 24m31s late by 23m31s" {
			t.Errorf("called %q", got)
		}
		if left := len(s.all); left != 1 {
			t.Errorf("%d are left, want that of the plugin that does not run", left)
		}
	})
}

// A plugin that is down is called once it runs again.
// Behaviour: wake-up.
func TestAPluginThatIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := &timers{changed: make(chan struct{})}, plugintest.Registry("schedule")
		p := &sleeper{began: time.Now(), fails: map[string]int{}}
		process := plugintest.Run(t, r, "schedule", p.component())
		run(t, s, r)
		s.wakeAt("schedule", "missed", p.began.Add(time.Minute))
		s.wakeAt("schedule", "future", p.began.Add(3*time.Hour))
		process.Leave()
		time.Sleep(time.Hour)
		if got := p.calls(); len(got) > 0 {
			t.Fatalf("called while it does not run: %q", got)
		}
		process.Enter(r)
		if diff := gocmp.Diff([]string{"missed at 1h0m0s late by 59m0s"}, p.calls()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Hour)
		if diff := gocmp.Diff([]string{"future at 3h0m0s"}, p.calls()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
	})
}

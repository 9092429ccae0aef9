package wakeup_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/network/wakeup"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk"
)

// set sets a plugin's wake-up.
func set(t *testing.T, s *store.Store, plugin, key string, at time.Time) {
	t.Helper()
	if err := s.WakeAt(t.Context(), plugin, key, at); err != nil {
		t.Fatal(err)
	}
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
func run(t *testing.T, s *store.Store, r *plugins.Registry) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { wakeup.Run(ctx, s, r, nil, hclog.NewNullLogger()) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
}

// Each is called at its time; a failed one again after a growing wait, without holding up others.
// Behaviour: wake-up.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := storetest.Open(t), plugintest.Registry("schedule", "other")
		p := &sleeper{began: time.Now(), fails: map[string]int{"sick": 12}}
		plugintest.Run(t, r, "schedule", p.component())
		run(t, s, r)
		for key, after := range map[string]time.Duration{"sick": time.Minute, "well": time.Minute, "later": 63 * time.Second, "past": -time.Hour} {
			set(t, s, "schedule", key, p.began.Add(after))
		}
		set(t, s, "other", "never", p.began)
		time.Sleep(65 * time.Second)
		want := []string{
			"past at 0s late by 1h0m0s", "sick at 1m0s", "well at 1m0s", "sick at 1m1s late by 1s", "later at 1m3s", "sick at 1m3s late by 3s",
		}
		if diff := cmp.Diff(want, p.calls()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		if got := p.calls(); len(got) != 10 || got[9] != "sick at 24m31s late by 23m31s" {
			t.Errorf("called %q", got)
		}
		if w, err := s.DueWakeUp(t.Context(), "other"); err != nil || w.Key != "never" {
			t.Errorf("that of the plugin that does not run is %+v, %v", w, err)
		}
	})
}

// A plugin that is down is called once it runs again.
// Behaviour: wake-up.
func TestAPluginThatIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := storetest.Open(t), plugintest.Registry("schedule")
		p := &sleeper{began: time.Now(), fails: map[string]int{}}
		process := plugintest.Run(t, r, "schedule", p.component())
		run(t, s, r)
		set(t, s, "schedule", "missed", p.began.Add(time.Minute))
		set(t, s, "schedule", "future", p.began.Add(3*time.Hour))
		process.Leave()
		time.Sleep(time.Hour)
		if got := p.calls(); len(got) > 0 {
			t.Fatalf("called while it does not run: %q", got)
		}
		process.Enter(r)
		if diff := cmp.Diff([]string{"missed at 1h0m0s late by 59m0s"}, p.calls()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Hour)
		if diff := cmp.Diff([]string{"future at 3h0m0s"}, p.calls()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
	})
}

package reload_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/reload"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// host is a host that watches what is set.
type host struct {
	*reload.Reloader
	path    string
	current *config.Current
	reloads atomic.Int32 // that were shown
	refuse  atomic.Bool  // no config is good enough
	checked chan struct{}
}

func (h *host) Load(overrides []config.Override) (*config.Config, []config.Misfit, error) {
	return config.LoadWith(h.path, os.LookupEnv, overrides)
}

func (h *host) CheckPlugins(context.Context, *config.Config, []string) error {
	h.checked <- struct{}{}
	if h.refuse.Load() {
		return errors.New("a plugin does not work with it")
	}
	return nil
}

func (h *host) Restart(string) error { return nil }

func (h *host) Reloading() (done func()) {
	h.reloads.Add(1)
	return func() {}
}

// start starts a host. Meanwhile happens once it has read its config, before it watches.
func start(t *testing.T, s reload.Store, meanwhile ...func()) *host {
	t.Helper()
	h := &host{path: filepath.Join(t.TempDir(), "config.hcl"), checked: make(chan struct{}, 100)}
	if err := os.WriteFile(h.path, []byte("reload = \"manual\"\nplugin \"webchat\" {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := hclog.NewNullLogger()
	c, err := reload.Read(t.Context(), h, s, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	h.current = config.NewCurrent(c, false, false)
	h.Reloader = reload.New(h.current, reload.Options{Source: h, Store: s, Plugins: plugins.New(nil), Supervisor: h, Manager: h}, log)
	for _, do := range meanwhile {
		do()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { h.Watch(ctx) })
	t.Cleanup(func() { cancel(); work.Wait() })
	return h
}

func (h *host) prefix() string { return h.current.Get().Reply.Prefix }

// set sets the prefix of answers.
func (h *host) set(t *testing.T, value string) {
	t.Helper()
	if _, err := h.Set(t.Context(), config.Override{Name: "reply.prefix", Value: value, By: "tg:1"}); err != nil {
		t.Fatal(err)
	}
	<-h.checked
}

func (h *host) unset(t *testing.T) {
	t.Helper()
	if _, err := h.Unset(t.Context(), "reply.prefix", "tg:1"); err != nil {
		t.Fatal(err)
	}
	<-h.checked
}

// follows waits until a host has a prefix.
func (h *host) follows(t *testing.T, prefix string) {
	t.Helper()
	changed := h.current.Changed()
	if h.prefix() == prefix {
		return
	}
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
	}
	if got := h.prefix(); got != prefix {
		t.Fatalf("the prefix is %q, want %q", got, prefix)
	}
}

// slow is a store of a host that takes a while to apply what it has set.
type slow struct{ *store.Store }

func (s slow) SetConfigOverride(ctx context.Context, o config.Override) error {
	err := s.Store.SetConfigOverride(ctx, o)
	time.Sleep(time.Second) // the bubble's clock
	return err
}

// What a host sets itself is applied once.
// Behaviour: config-set.
func TestOwnValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t)
		h := start(t, slow{s})
		synctest.Wait()
		for i, step := range []func(){func() { h.set(t, "Ada:") }, func() { h.set(t, "Bob:") }, func() { h.unset(t) }} {
			step()
			synctest.Wait()
			if got := h.reloads.Load(); got != int32(i+1) || len(h.checked) != 0 {
				t.Errorf("%d reloads of %d values", got, i+1)
			}
		}
		// What has no effect on this host's config yet is not its own.
		if err := s.SetConfigOverride(t.Context(), config.Override{Name: "reply.prefix", Value: "Eve:"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := h.prefix(); got != "Eve:" || len(h.checked) != 1 {
			t.Errorf("what somebody else has set is %q", got)
		}
	})
}

// What a host sets the others apply, what one cannot apply it does not try again, and what is set while a host starts is not missed.
// Behaviour: config-set.
func TestValuesOfAnotherHost(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Shared(t).Database(t)
	open := func() *store.Store {
		s, err := store.OpenServer(t.Context(), dsn, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	here, there := start(t, open()), start(t, open())
	here.set(t, "Ada:")
	there.follows(t, "Ada:")
	<-there.checked
	here.unset(t)
	there.follows(t, "")
	<-there.checked

	there.refuse.Store(true)
	here.set(t, "Bob:")
	<-there.checked
	here.set(t, "Bob:") // announced again
	there.refuse.Store(false)
	here.set(t, "Cyd:")
	there.follows(t, "Cyd:")
	<-there.checked
	if len(there.checked) != 0 {
		t.Error("what was refused is tried again")
	}
	third := start(t, open(), func() { here.set(t, "Dan:") })
	third.follows(t, "Dan:")
}

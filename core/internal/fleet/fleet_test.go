package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
)

const lease = 15 * time.Second

// database is a store that several fleets may share, in which time passes as in the bubble.
type database struct {
	engine.Hub
	mu       sync.Mutex
	away     error // why no step is done
	stuck    bool  // steps stand still until their contexts end
	taken    []*hosts.TakenError
	expelled bool // this host
	lapsed   []domain.Member
	taking   []string // hosts that were expelled
	moved    []string
	draining bool
	handed   int
	served   [][]string
	left     bool
	duties   map[string]string
}

func (d *database) step(ctx context.Context) error {
	d.mu.Lock()
	stuck, away := d.stuck, d.away
	d.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	return away
}

func (d *database) Register(ctx context.Context, r hosts.Registration) error {
	if err := d.step(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.taken) > 0 {
		err := d.taken[0]
		d.taken = d.taken[1:]
		return err
	}
	return nil
}

func (d *database) Serve(_ context.Context, agents []string) error {
	d.set(func(d *database) { d.served = append(d.served, agents) })
	return nil
}

func (d *database) Renew(ctx context.Context, _ time.Duration) ([]domain.Member, error) {
	if err := d.step(ctx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expelled {
		return nil, engine.ErrLapsed
	}
	return slices.Clone(d.lapsed), nil
}

func (d *database) Expel(_ context.Context, id string) (store.Taken, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taking, d.lapsed = append(d.taking, id), nil
	return store.Taken{Gone: true}, nil
}

func (d *database) MoveFrom(_ context.Context, m domain.Member) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moved = append(d.moved, m.Name)
	return len(d.moved)%2 == 1, nil
}

func (d *database) Adopt(context.Context) (bool, error) { return false, nil }

func (d *database) HandOver(context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handed++
	return false, nil
}

func (d *database) Leave(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = true
	return nil
}

func (d *database) Hosts(context.Context) ([]domain.Member, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []domain.Member{{Name: "a", Draining: d.draining}, {Name: "b", Draining: true}}, nil
}

func (d *database) WatchHosts() (<-chan struct{}, func()) { return d.Watch(hosts.Changed) }

func (d *database) WatchDuties() (<-chan struct{}, func()) { return d.Watch(hosts.DutiesChanged) }

func (d *database) Take(_ context.Context, duty string) (string, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return "", false, d.away
	}
	if d.duties[duty] == "" {
		d.duties[duty] = "a"
	}
	return d.duties[duty], d.duties[duty] == "a", d.away
}

func (d *database) Yield(_ context.Context, duty string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.duties, duty)
	return nil
}

// set changes the database, and announces that.
func (d *database) set(change func(*database)) {
	d.mu.Lock()
	change(d)
	d.mu.Unlock()
	d.Announce([]engine.Topic{hosts.Changed, hosts.DutiesChanged})
}

// state is what happened in a database.
type state struct {
	taking, moved []string
	handed        int
	served        [][]string
	left          bool
	upkeep        string // the host with this duty
}

func (d *database) state() state {
	d.mu.Lock()
	defer d.mu.Unlock()
	return state{slices.Clone(d.taking), slices.Clone(d.moved), d.handed, slices.Clone(d.served), d.left, d.duties["upkeep"]}
}

// running returns a fleet that has joined and runs until the returned func is called.
func running(t *testing.T, d *database) (*Fleet, func()) {
	t.Helper()
	d.duties = map[string]string{}
	f := New(Options{Store: d, Name: "a", Registration: hosts.Registration{Agents: []string{"main"}, Lease: lease}}, hclog.NewNullLogger())
	if f.Held() {
		t.Error("a host that has not joined has a lease")
	}
	if err := f.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { f.Run(ctx) })
	return f, func() { cancel(); done.Wait() }
}

func isLost(f *Fleet) bool { return f.Context().Err() != nil }

// A lease lasts as long as it is renewed, and a fifth of it before its end the host acts on it no more.
func TestALeaseThatIsNotRenewed(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*database){
		"away":  func(d *database) { d.away = errors.New("no database") },
		"stuck": func(d *database) { d.stuck = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &database{}
				f, stop := running(t, d)
				defer stop()
				time.Sleep(time.Hour)
				if !f.Held() || isLost(f) {
					t.Fatal("a lease that is renewed is lost")
				}
				d.set(fail)
				time.Sleep(lease - 2*lease/renewals - time.Millisecond) // the last renewal may have been one interval ago
				if !f.Held() || isLost(f) {
					t.Error("the lease is lost too early")
				}
				time.Sleep(lease/renewals + time.Millisecond)
				synctest.Wait()
				if f.Held() || !isLost(f) {
					t.Error("the lease is not lost")
				}
				if err := f.Leave(t.Context()); err != nil || d.state().left {
					t.Errorf("a host without a lease leaves: %v", err)
				}
			})
		})
	}
}

func TestALeaseThatIsRenewedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		f, stop := running(t, d)
		time.Sleep(time.Minute)
		d.set(func(d *database) { d.away = errors.New("no database") })
		time.Sleep(lease / 2)
		d.set(func(d *database) { d.away = nil })
		time.Sleep(time.Minute)
		if !f.Held() || isLost(f) {
			t.Error("the lease is lost")
		}
		stop()
		if err := f.Leave(t.Context()); err != nil || !d.state().left {
			t.Errorf("the host has not left: %v", err)
		}
	})
}

func TestAHostThatWasExpelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		f, stop := running(t, d)
		defer stop()
		d.set(func(d *database) { d.expelled = true })
		time.Sleep(lease / renewals)
		synctest.Wait()
		if f.Held() || !isLost(f) {
			t.Error("the lease is not lost")
		}
	})
}

// After the database was away, each host gets the time to renew its lease.
func TestANewHostExpelsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{lapsed: []domain.Member{{ID: "1", Name: "b"}}}
		_, stop := running(t, d)
		defer stop()
		time.Sleep(lease - time.Millisecond)
		if got := d.state(); len(got.taking) != 0 {
			t.Errorf("%q were expelled too early", got.taking)
		}
		time.Sleep(lease / renewals)
		synctest.Wait()
		if got := d.state(); !slices.Equal(got.taking, []string{"1"}) || !slices.Equal(got.moved, []string{"b", "b"}) {
			t.Errorf("%q were expelled, and the lanes of %q moved", got.taking, got.moved)
		}
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		f, stop := running(t, d)
		defer stop()
		duty, _, err := f.Take(t.Context(), "upkeep")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if duty.Context().Err() != nil || d.state().handed != 0 {
			t.Fatal("the host is drained from the beginning")
		}
		d.set(func(d *database) { d.draining = true })
		synctest.Wait()
		if duty.Context().Err() == nil {
			t.Error("a drained host keeps its duty")
		}
		duty.Yield()
		held := make(chan *Duty)
		go func() {
			duty, _ := f.Hold(t.Context(), "upkeep")
			held <- duty
		}()
		time.Sleep(10 * drainEvery)
		if got := d.state(); got.handed < 10 || got.upkeep != "" || !f.Held() {
			t.Errorf("%d times handed over; the duty is %q's", got.handed, got.upkeep)
		}
		d.set(func(d *database) { d.draining = false })
		if duty := <-held; duty == nil || duty.Context().Err() != nil {
			t.Error("the duty is not taken again")
		}
		synctest.Wait()
		if got := d.state(); len(got.served) != 1 || !slices.Equal(got.served[0], []string{"main"}) {
			t.Errorf("it serves %q", got.served)
		}
	})
}

// A duty of another host is taken when that one gives it up, and ends with the lease.
func TestDuty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		f, stop := running(t, d)
		defer stop()
		d.set(func(d *database) { d.duties["upkeep"] = "b" })
		if duty, host, err := f.Take(t.Context(), "upkeep"); duty != nil || host != "b" || err != nil {
			t.Errorf("a duty of another: %v, %q, %v", duty, host, err)
		}
		held := make(chan *Duty)
		go func() {
			duty, _ := f.Hold(t.Context(), "upkeep")
			held <- duty
		}()
		synctest.Wait()
		d.set(func(d *database) { delete(d.duties, "upkeep") })
		duty := <-held
		d.set(func(d *database) { d.expelled = true })
		<-duty.Context().Done()
		duty.Yield()
		if d.state().upkeep != "a" {
			t.Error("a host without a lease has written")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		d.set(func(d *database) { d.duties["upkeep"] = "b" })
		if _, err := f.Hold(ended, "upkeep"); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for a duty: %v", err)
		}
	})
}

// A name is taken over when its lease ends, and is another host's if that renews it.
func TestATakenName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		d := &database{taken: []*hosts.TakenError{{Name: "a", Until: now.Add(lease)}, {Name: "a", Until: now.Add(lease)}}}
		f, stop := running(t, d)
		if !f.Held() {
			t.Error("the host has no lease")
		}
		stop()
		d.taken = []*hosts.TakenError{{Name: "a", Until: now.Add(lease)}, {Name: "a", Until: now.Add(2 * lease)}}
		taken, ok := errors.AsType[*hosts.TakenError](f.Join(t.Context()))
		if !ok || taken.Name != "a" {
			t.Error("two hosts have one name")
		}
	})
}

func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &database{duties: map[string]string{}, away: nil}
		f := New(Options{Store: s}, hclog.NewNullLogger())
		if err := errors.Join(f.Join(t.Context()), f.Leave(t.Context())); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.Run(ctx)
		duty, err := f.Hold(ctx, "upkeep")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if !f.Held() || isLost(f) || duty.Context().Err() != nil || s.state().left || len(s.state().served) > 0 {
			t.Error("a host that is alone has lost its lease")
		}
		duty.Yield()
	})
}

// A host says which agents it runs when its config has changed.
func TestAnotherConfig(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{duties: map[string]string{}}
		c := config.NewCurrent(&config.Config{Agent: config.Agent{Label: "main"}}, false, false)
		f := New(Options{Store: d, Name: "a", Config: c, Registration: hosts.Registration{Agents: []string{"main"}, Lease: lease}}, hclog.NewNullLogger())
		if err := f.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { f.Run(ctx) })
		synctest.Wait()
		if served := d.state().served; len(served) != 0 {
			t.Errorf("it serves %q without a change", served)
		}
		c.Replace(&config.Config{Host: config.Host{Name: "a"}, Agent: config.Agent{Label: "main", RunsOn: []string{"b"}}, Agents: []*config.Agent{{Label: "coder", RunsOn: []string{"a"}}}})
		synctest.Wait()
		if served := d.state().served; len(served) != 1 || !slices.Equal(served[0], []string{"coder"}) {
			t.Errorf("it serves %q", served)
		}
		cancel()
		done.Wait()
	})
}

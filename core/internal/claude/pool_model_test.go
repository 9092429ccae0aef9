package claude

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// unrecorded are processes that need no record.
type unrecorded struct{}

func (unrecorded) RecordProcess(context.Context, domain.Process) error { return nil }
func (unrecorded) DeleteProcess(context.Context, int, uint64) error    { return nil }

// model is a pool whose processes are only its books: they leave when they are stopped, and hold what the test says.
type model struct {
	*Pool
	mu      sync.Mutex
	pids    int
	weights map[cli.ID]cli.Weight
	state   memory.State // of the machine; zero: it does not tell
}

func newModel(cfg Config) *model {
	m := &model{weights: map[cli.ID]cli.Weight{}}
	closing, stop := context.WithCancel(context.Background())
	m.Pool = &Pool{
		config: cfg.withDefaults(), log: hclog.NewNullLogger(), processes: unrecorded{}, closing: closing, close: stop,
		kick: make(chan struct{}, 1), busy: map[string]*use{}, idle: newIdle(), live: newLive(),
		parked: map[string]*worker{}, retired: map[string]bool{},
	}
	m.scale, m.machine = m, m
	return m
}

// Read implements machine.
func (m *model) Read() (memory.State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.state.Total > 0
}

// leaves sets how much of its memory the machine has left, in percent.
func (m *model) leaves(percent int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = memory.State{Total: machineMemory, Available: machineMemory / 100 * percent}
}

const machineMemory = 10 << 30

// Weigh implements scale.
func (m *model) Weigh(roots []cli.ID) map[cli.ID]cli.Weight {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[cli.ID]cli.Weight{}
	for _, root := range roots {
		if w, ok := m.weights[root]; ok {
			found[root] = w
		}
	}
	return found
}

// hold says what a session's process holds from now on.
func (m *model) hold(s *worker, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.weights[s.process.ID()] = cli.Weight{Own: bytes}
}

// weightOf is what a session's process holds.
func (m *model) weightOf(s *worker) cli.Weight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.weights[s.process.ID()]
}

// forget makes a session's process one that was not measured.
func (m *model) forget(s *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.weights, s.process.ID())
}

// begin has a session wait for a process. It is granted when the channel is closed.
func (m *model) begin() *waiter {
	m.Pool.mu.Lock()
	defer m.Pool.mu.Unlock()
	w := &waiter{granted: make(chan struct{})}
	m.waiting = append(m.waiting, w)
	m.grant()
	return w
}

// start makes a granted session's process, which leaves some time after it was stopped.
func (m *model) start(id string, leaves time.Duration) *worker {
	m.Pool.mu.Lock()
	defer m.Pool.mu.Unlock()
	m.pids++
	left := &leaver{id: cli.ID{PID: -m.pids}, stopped: make(chan struct{}), exited: make(chan struct{})}
	s := &worker{Client: new(client.Client), session: id, key: id, log: hclog.NewNullLogger(), process: left, holds: true}
	m.live.add(s)
	m.busy[id] = &use{ended: make(chan struct{})}
	m.work.Add(1) // the run
	m.work.Go(func() {
		<-left.stopped
		time.Sleep(leaves)
		close(left.exited)
		m.ended(s)
	})
	return s
}

// leaver is a process that leaves when it is stopped.
type leaver struct {
	client.Process
	id              cli.ID
	stopped, exited chan struct{}
}

func (l *leaver) ID() cli.ID              { return l.id }
func (l *leaver) Exited() <-chan struct{} { return l.exited }
func (l *leaver) Ended() string           { return "it was abandoned" }

func (l *leaver) Park(time.Duration) {
	close(l.stopped)
	<-l.exited
}

// recounted are the live processes, with new sums. The caller holds the lock.
func (m *model) recounted() live {
	l := newLive()
	for _, s := range m.live.pids {
		l.add(s)
	}
	return l
}

// bubble runs a test on a clock of its own, and hands on its panic, which is how a property fails. Over says what ends its
// goroutines then.
func bubble(t *testing.T, test func(t *testing.T, over func(func()))) {
	var failure any
	synctest.Test(t, func(t *testing.T) {
		end := func() {}
		defer func() {
			if failure = recover(); failure != nil {
				end()
				time.Sleep(time.Minute) // as this clock ends with the test
			}
		}()
		test(t, func(f func()) { end = f })
	})
	if failure != nil {
		panic(failure)
	}
}

// abandon ends all processes.
func (m *model) abandon() {
	m.Pool.mu.Lock()
	defer m.Pool.mu.Unlock()
	for _, s := range m.live.pids {
		if !s.leaving {
			close(s.process.(*leaver).stopped)
		}
	}
}

// The order, the limits and the progress of a pool, whatever comes: turns get slots in the order in which they asked, there
// are never more processes than slots, memory over its limit is freed as far as idle processes hold it and no further, and
// no turn waits where there is a slot or an idle process.
// Behaviour: memory-budget.
func TestPoolMatchesItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		bubble(t, func(t *testing.T, over func(func())) {
			const megabyte = 1 << 20
			m := newModel(Config{
				MaxProcesses: rapid.IntRange(1, 4).Draw(rt, "processes"),
				MaxMemory:    int64(rapid.SampledFrom([]int{0, 500, 1000}).Draw(rt, "limit")) * megabyte,
				RecycleAt:    int64(rapid.SampledFrom([]int{0, 400}).Draw(rt, "recycle")) * megabyte,
			})
			over(m.abandon)
			type turn struct {
				*waiter
				leaves time.Duration // how long its process takes to leave
			}
			var waiting []turn // in the order in which they asked
			running := map[string]*worker{}
			next := 0
			check := func() {
				t.Helper()
				synctest.Wait()
				for len(waiting) > 0 {
					select {
					case <-waiting[0].granted:
						id := fmt.Sprint(next)
						next++
						running[id] = m.start(id, waiting[0].leaves)
						waiting = waiting[1:]
						continue
					default:
					}
					break
				}
				for _, w := range waiting {
					select {
					case <-w.granted:
						rt.Fatal("a turn overtook one that had waited for longer")
					default:
					}
				}
				m.Pool.mu.Lock()
				defer m.Pool.mu.Unlock()
				if m.slots > m.config.MaxProcesses || len(m.live.pids) > m.slots {
					rt.Fatalf("%d processes in %d slots of %d", len(m.live.pids), m.slots, m.config.MaxProcesses)
				}
				if sums, want := m.live, m.recounted(); sums.memory != want.memory || sums.own != want.own || sums.measured != want.measured || sums.unknown != want.unknown {
					rt.Fatalf("the sums over the processes are %+v, want %+v", sums, want)
				}
				if len(m.waiting) > 0 && m.parking == 0 && (m.slots < m.config.MaxProcesses || len(m.idle.sessions) > 0) {
					rt.Fatalf("%d wait, though %d of %d slots are taken and %d processes idle", len(m.waiting), m.slots, m.config.MaxProcesses, len(m.idle.sessions))
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"": func(*rapid.T) { check() },
				"ask": func(rt *rapid.T) {
					leaves := rapid.IntRange(0, 2000).Draw(rt, "leaves")
					waiting = append(waiting, turn{m.begin(), time.Duration(leaves) * time.Millisecond})
				},
				"end": func(rt *rapid.T) {
					if ids := slices.Sorted(maps.Keys(running)); len(ids) > 0 {
						id := rapid.SampledFrom(ids).Draw(rt, "id")
						time.Sleep(time.Millisecond) // no two are idle from the same moment on
						m.exit(id, running[id])
						delete(running, id)
					}
				},
				"weigh": func(rt *rapid.T) {
					m.Pool.mu.Lock()
					all := slices.SortedFunc(maps.Values(m.live.pids), func(a, b *worker) int { return b.process.ID().PID - a.process.ID().PID })
					idle := m.leastValued()
					m.Pool.mu.Unlock()
					if len(all) == 0 {
						return
					}
					s := rapid.SampledFrom(all).Draw(rt, "process")
					m.hold(s, int64(rapid.IntRange(1, 600).Draw(rt, "holds"))*megabyte)
					m.look()
					m.Pool.mu.Lock()
					defer m.Pool.mu.Unlock()
					m.wantFreed(rt, idle)
				},
				"time goes by": func(*rapid.T) { time.Sleep(time.Second) },
			})
			// All turns end, and nothing is left.
			for len(running) > 0 || len(waiting) > 0 {
				for id, s := range running {
					m.exit(id, s)
					delete(running, id)
				}
				time.Sleep(3 * time.Second)
				check()
			}
			if err := m.Close(t.Context()); err != nil {
				rt.Fatal(err)
			}
			if m.slots != 0 || m.parking != 0 || len(m.live.pids) != 0 || len(m.parked) != 0 {
				rt.Fatalf("in the end %d slots are taken, %d processes leave, %d live", m.slots, m.parking, len(m.live.pids))
			}
		})
	})
}

// wantFreed fails unless a look ended what it should of the processes that were idle before it. The pool is locked.
func (m *model) wantFreed(rt *rapid.T, idle []*worker) {
	stays := int64(0)
	for _, s := range m.live.pids {
		if !s.leaving {
			stays += s.weight.All()
		}
	}
	limit, recycle := m.config.MaxMemory, m.config.RecycleAt
	var freed *worker // the last that was ended for memory alone
	for _, s := range idle {
		heavy := recycle > 0 && s.weight.Own > recycle
		switch {
		case heavy && !s.leaving:
			rt.Fatalf("a process with %d MB stays", s.weight.Own>>20)
		case limit > 0 && stays > limit && s.weight.All() > 0 && !s.leaving:
			rt.Fatalf("%d MB stay, of them %d in an idle process", stays>>20, s.weight.All()>>20)
		case s.leaving && !heavy:
			freed = s
		}
	}
	if freed != nil && len(m.waiting) == 0 && (limit == 0 || stays+freed.weight.All() <= limit) {
		rt.Fatalf("a process was ended though %d MB are within the limit", (stays+freed.weight.All())>>20)
	}
}

// Idle processes are parked after their time, each by its own.
func TestParkingByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(Config{MaxProcesses: 4, ParkAfter: 10 * time.Minute})
		m.work.Go(m.janitor)
		for i := range 3 {
			<-m.begin().granted
			s := m.start(fmt.Sprint(i), 0)
			m.exit(s.session, s)
			time.Sleep(4 * time.Minute)
		}
		for i, want := range []int{2, 2, 1, 1, 1} { // at 12, 13 … minutes; they were idle from 0, 4 and 8 on
			synctest.Wait()
			if got := m.Stats().Idle; got != want {
				t.Errorf("after %d minutes %d processes are idle, want %d", 12+i, got, want)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := m.Stats(); got.Idle != 0 || len(got.PIDs) != 0 {
			t.Errorf("in the end %+v", got)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Over the limit a new process waits until one that leaves has freed its memory, and where none can leave it does not.
// Behaviour: memory-budget.
func TestStartsWaitForMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const gigabyte = 1 << 30
		m := newModel(Config{MaxProcesses: 4, MaxMemory: gigabyte})
		granted := func(w *waiter) bool {
			synctest.Wait()
			select {
			case <-w.granted:
				return true
			default:
				return false
			}
		}
		for i := range 2 {
			<-m.begin().granted
			s := m.start(fmt.Sprint(i), 2*time.Second)
			m.hold(s, 600<<20)
			m.exit(s.session, s)
			time.Sleep(time.Second)
		}
		m.look()
		w := m.begin()
		if granted(w) {
			t.Error("a process may start while another one is leaving to free memory")
		}
		time.Sleep(2 * time.Second)
		if !granted(w) {
			t.Fatal("the process may not start though there is memory")
		}
		busy := m.start("2", 0)
		m.hold(busy, 2*gigabyte)
		m.look() // the last idle one leaves
		time.Sleep(2 * time.Second)
		if w := m.begin(); !granted(w) {
			t.Error("a process waits though nothing can be freed")
		}
		last := m.start("3", 0)
		m.exit(busy.session, busy)
		m.exit(last.session, last)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

package claude

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// idles starts a process that is idle after its turns, each of which ends a minute after the one before, and holds what the test says.
func (m *model) idles(id string, turns int, bytes int64) *worker {
	<-m.begin().granted
	s := m.start(id, 0)
	m.hold(s, bytes)
	for range turns {
		time.Sleep(time.Minute)
		m.served(s)
	}
	m.exit(id, s)
	return s
}

// more reports whether one more process fits.
func (m *model) more() bool {
	m.Pool.mu.Lock()
	defer m.Pool.mu.Unlock()
	return m.fits()
}

// left are the sessions whose processes are idle, sorted.
func (m *model) left() []string {
	m.Pool.mu.Lock()
	defer m.Pool.mu.Unlock()
	list := []string{}
	for _, s := range m.idle.sessions {
		list = append(list, s.session)
	}
	slices.Sort(list)
	return list
}

// want fails the test unless the idle processes are those of these sessions.
func (m *model) want(t *testing.T, when string, sessions ...string) {
	t.Helper()
	synctest.Wait()
	if got := m.left(); !slices.Equal(got, sessions) {
		t.Errorf("%s the processes of %v are idle, want %v", when, got, sessions)
	}
}

// Where the machine's memory is short, idle processes are parked until enough is left: first those that were used the longest ago, but one
// whose conversation had several turns in the last hour counts as younger. What runs stays.
// Behaviour: memory-pressure.
func TestParkingByMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(Config{MaxProcesses: 6})
		m.leaves(60)
		m.idles("often", 6, 400<<20)
		m.idles("old", 1, 400<<20)
		m.idles("recent", 1, 400<<20)
		<-m.begin().granted
		busy := m.start("busy", 0)
		m.hold(busy, 3<<30)
		for _, step := range []struct {
			percent int64
			left    []string
		}{
			{60, []string{"often", "old", "recent"}},
			{11, []string{"often", "old", "recent"}}, // a tenth is reserved
			{9, []string{"often"}},                   // without the others it is 17 percent, and the shortage ends at 15
			{14, nil},                                // it was not: somebody else took the memory
		} {
			m.leaves(step.percent)
			m.look()
			m.want(t, fmt.Sprintf("at %d %%", step.percent), step.left...)
		}
		s := m.Stats()
		if s.Running != 1 || s.Available != machineMemory/100*14 || s.Total != machineMemory {
			t.Errorf("%+v", s)
		}
		var parked []string
		for _, p := range s.Parked {
			parked = append(parked, p.Session+": "+string(p.Why))
		}
		if want := []string{"often: shortage", "recent: shortage", "old: shortage"}; !slices.Equal(parked, want) {
			t.Errorf("parked are %q, want %q", parked, want)
		}
		m.exit("busy", busy)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Where processes wait for memory though some is available, one idle process is parked at a time.
// Behaviour: memory-pressure.
func TestParkingByStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(Config{MaxProcesses: 4})
		stalls := func(percent float64, left ...string) {
			t.Helper()
			m.leaves(60)
			m.mu.Lock()
			m.state.Stalled = percent
			m.mu.Unlock()
			m.look()
			m.want(t, fmt.Sprintf("at %v %%", percent), left...)
		}
		for i := range 4 {
			m.idles(fmt.Sprint(i), 1, 200<<20)
		}
		stalls(9, "0", "1", "2", "3")
		stalls(11, "1", "2", "3")
		stalls(6, "2", "3")
		stalls(4, "2", "3")
		stalls(9, "2", "3")
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A system that does not tell of its memory parks by time alone, and one more process fits.
func TestUnknownMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(Config{MaxProcesses: 2})
		m.work.Go(m.janitor)
		m.idles("often", 6, 400<<20)
		m.look()
		if !m.more() {
			t.Error("one more process does not fit")
		}
		time.Sleep(9 * time.Minute)
		m.want(t, "after nine minutes", "often")
		time.Sleep(2 * time.Minute)
		m.want(t, "after eleven minutes")
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// With much memory, the process of a conversation in frequent use stays longer than ten minutes, for as long as there is much.
// Behaviour: process-park.
func TestParkingByUse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		park          time.Duration
		turns         int
		percent       int64
		stays, leaves time.Duration
	}{
		"one turn":            {turns: 1, percent: 60, stays: 9 * time.Minute, leaves: 11 * time.Minute},
		"no turn":             {turns: 0, percent: 60, stays: 9 * time.Minute, leaves: 11 * time.Minute},
		"three turns":         {turns: 3, percent: 60, stays: 29 * time.Minute, leaves: 31 * time.Minute},
		"many turns":          {turns: 40, percent: 60, stays: 119 * time.Minute, leaves: 121 * time.Minute},
		"half of the memory":  {turns: 40, percent: 50, stays: 9 * time.Minute, leaves: 11 * time.Minute},
		"a fixed time":        {park: time.Minute, turns: 40, percent: 60, stays: 50 * time.Second, leaves: 70 * time.Second},
		"a fixed time, scant": {park: time.Hour, turns: 1, percent: 30, stays: 59 * time.Minute, leaves: 61 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel(Config{MaxProcesses: 2, ParkAfter: test.park})
				m.leaves(test.percent)
				m.work.Go(m.janitor)
				m.idles("a", test.turns, 200<<20)
				m.look()
				time.Sleep(test.stays)
				m.want(t, "before its time", "a")
				time.Sleep(test.leaves - test.stays)
				m.want(t, "after its time")
				if err := m.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What stays longer is parked when the memory is no longer much, which begins at half of it and ends at two fifths.
func TestLessMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(Config{MaxProcesses: 2})
		m.leaves(60)
		m.work.Go(m.janitor)
		m.idles("often", 40, 200<<20)
		m.idles("now", 1, 200<<20)
		m.look()
		time.Sleep(9 * time.Minute)
		for range 3 { // now is parked, often is not
			m.leaves(45)
			m.look()
			time.Sleep(time.Minute)
		}
		m.want(t, "at 45 %", "often")
		m.leaves(39)
		m.look()
		m.want(t, "at 39 %")
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A process that no turn waits for fits, if enough memory is left with it and with all that are about to start, and if the limit of all
// processes holds.
// Behaviour: process-early.
func TestOneMoreFits(t *testing.T) {
	t.Parallel()
	const megabyte = 1 << 20
	for name, test := range map[string]struct {
		limit   int64   // in megabytes
		percent int64   // that the machine has left
		holds   []int64 // megabytes of processes; zero: not measured
		want    bool
	}{
		"nothing runs":                       {percent: 18, want: true}, // 1536 MB must be left by one of 200
		"too little is left":                 {percent: 16},
		"large ones run":                     {percent: 18, holds: []int64{400, 500}}, // one of 450
		"large ones run, and more is left":   {percent: 20, holds: []int64{400, 500}, want: true},
		"one starts":                         {percent: 18, holds: []int64{0}},
		"one starts, and more is left":       {percent: 20, holds: []int64{0}, want: true},
		"the limit holds":                    {percent: 60, limit: 1000, holds: []int64{300, 300}, want: true},
		"the limit would not":                {percent: 60, limit: 1000, holds: []int64{400, 400}},
		"the limit would not, as one starts": {percent: 60, limit: 1000, holds: []int64{300, 300, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel(Config{MaxProcesses: 6, MaxMemory: test.limit * megabyte})
				m.leaves(100)
				for i, bytes := range test.holds {
					s := m.idles(fmt.Sprint(i), 1, bytes*megabyte)
					if bytes == 0 {
						m.forget(s)
					}
				}
				m.look()
				m.leaves(test.percent)
				if got := m.more(); got != test.want {
					t.Errorf("one more fits: %v", got)
				}
				if err := m.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Whatever the machine's memory does: no process that runs is parked, idle ones go in the order of their worth and no more of them than it
// takes, and what was started because it fitted does not cause a shortage.
// Behaviour: memory-pressure, process-early.
func TestMemoryShortages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		bubble(t, func(t *testing.T, over func(func())) {
			const megabyte, usual = 1 << 20, 200
			m := newModel(Config{MaxProcesses: 8})
			over(m.abandon)
			others := int64(1000) // megabytes that other programs take
			sum := func() (all int64) {
				m.Pool.mu.Lock()
				defer m.Pool.mu.Unlock()
				for _, s := range m.live.pids {
					all += m.weightOf(s).All()
				}
				return all
			}
			look := func() {
				synctest.Wait()
				available := max(0, machineMemory-others*megabyte-sum())
				m.mu.Lock()
				m.state = memory.State{Total: machineMemory, Available: available}
				m.mu.Unlock()
				m.Pool.mu.Lock()
				order, before := m.leastValued(), m.supply
				m.Pool.mu.Unlock()
				m.look()
				m.Pool.mu.Lock()
				defer m.Pool.mu.Unlock()
				parked := 0
				for i, s := range order {
					if !s.leaving {
						continue
					}
					if parked++; parked != i+1 {
						rt.Fatalf("the process that is worth %d. is parked, after %d", i+1, parked-1)
					}
					if available >= m.supply.enough() {
						rt.Fatalf("a process is parked though %d MB are available", available>>20)
					}
					available += s.weight.All()
				}
				switch {
				case parked > 0 && !before.short && m.supply.Available >= m.supply.reserve():
					rt.Fatalf("a shortage begins with %d MB available", m.supply.Available>>20)
				case m.supply.short && parked < len(order) && available < m.supply.enough():
					rt.Fatalf("%d processes stay idle with %d MB available", len(order)-parked, available>>20)
				}
				for _, s := range m.live.pids {
					if m.busy[s.session] != nil && s.leaving {
						rt.Fatal("a process is parked though it runs")
					}
				}
			}
			running := map[string]*worker{}
			next := 0
			start := func() *worker {
				w := m.begin()
				synctest.Wait()
				select {
				case <-w.granted:
				default:
					rt.Fatal("a turn waits")
				}
				next++
				s := m.start(fmt.Sprint(next), 0)
				running[s.session] = s
				m.hold(s, usual*megabyte)
				return s
			}
			rt.Repeat(map[string]func(*rapid.T){
				"": func(*rapid.T) { synctest.Wait() },
				"a turn begins": func(rt *rapid.T) {
					if len(running) < 7 {
						start()
					}
				},
				"a turn ends": func(rt *rapid.T) {
					if ids := slices.Sorted(maps.Keys(running)); len(ids) > 0 {
						id := rapid.SampledFrom(ids).Draw(rt, "id")
						time.Sleep(time.Duration(rapid.IntRange(1, 600).Draw(rt, "seconds"))*time.Second + time.Millisecond)
						for range rapid.IntRange(0, 5).Draw(rt, "turns") {
							m.served(running[id])
						}
						m.exit(id, running[id])
						delete(running, id)
					}
				},
				"others take or leave memory": func(rt *rapid.T) { others = int64(rapid.IntRange(0, 10_000).Draw(rt, "others")) },
				"a look":                      func(*rapid.T) { look() },
				"a start without a turn": func(rt *rapid.T) {
					look()
					look() // what it has parked is gone
					if len(running) >= 7 || len(m.left())+len(running) >= 8 || !m.more() {
						return
					}
					idle := m.left()
					s := start()
					time.Sleep(time.Millisecond) // no two are idle from the same moment on
					m.exit(s.session, s)
					delete(running, s.session)
					look()
					if got := m.left(); len(got) != len(idle)+1 {
						rt.Fatalf("%d processes are idle after a start that fitted, want %d", len(got), len(idle)+1)
					}
				},
			})
			for id, s := range running {
				m.exit(id, s)
			}
			if err := m.Close(t.Context()); err != nil {
				rt.Fatal(err)
			}
		})
	})
}

// An early start is not made where memory is short; the turn starts its process all the same.
// Behaviour: process-early.
func TestNothingIsExpectedWhereMemoryIsShort(t *testing.T) {
	t.Parallel()
	m := newModel(Config{MaxProcesses: 2})
	m.agents = map[string]agentCLI{"": {Command: new(cli.Command)}}
	m.leaves(10)
	m.Expect(agent.Turn{Session: "a"})
	m.Pool.mu.Lock()
	defer m.Pool.mu.Unlock()
	if len(m.busy) > 0 {
		t.Error("a process is started")
	}
}

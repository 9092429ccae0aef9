package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/sdk/chat"
)

// cluster are hosts that share a database.
type cluster struct {
	*testing.T
	dsn string
	n   int
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	t.Parallel()
	return &cluster{T: t, dsn: postgrestest.Shared(t).Database(t)}
}

// open opens the store of a process of a host in a new state folder, which has not registered yet.
func (c *cluster) open(name string) *member { return c.openIn(name, c.TempDir()) }

// openIn opens one in a folder.
func (c *cluster) openIn(name, dir string) *member {
	c.Helper()
	s, err := store.OpenServer(c.Context(), c.dsn, store.Options{Host: name, Dir: dir})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = s.Close() })
	return &member{c, s, name}
}

// host returns a host that runs agents; without any it runs the main one.
func (c *cluster) host(name string, agents ...string) *member {
	c.Helper()
	m := c.open(name)
	m.register(agents...)
	return m
}

// register makes a process one of the hosts. Without agents it runs the main one.
func (m *member) register(agents ...string) {
	m.Helper()
	if len(agents) == 0 {
		agents = []string{"main"}
	}
	m.must(m.Register(m.Context(), hosts.Registration{Version: "1", Labels: []string{"l"}, Agents: agents, Lease: time.Hour}))
}

// member is the store of a host.
type member struct {
	*cluster
	*store.Store
	name string
}

func (m *member) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// accept accepts a message for a session.
func (m *member) accept(session string, lane domain.Lane) {
	m.Helper()
	m.n++
	_, err := m.Accept(m.Context(), domain.Inbound{
		EventID: chat.EventID(time.Unix(int64(m.n), 0).String()), Session: session, Lane: lane,
		Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna"}, Text: "hello", Sender: chat.Sender{ID: "anna"}},
	})
	m.must(err)
}

// frees ends the use of the state folder as the end of the process does, which writes nothing.
func (m *member) frees() {
	m.Helper()
	m.must(m.Unlock())
}

// claims claims a run, which there must be.
func (m *member) claims(lane domain.Lane) *domain.Run {
	m.Helper()
	run, _, err := m.ClaimNow(m.Context(), lane)
	m.must(err)
	if run == nil {
		m.Fatalf("%s finds nothing to do", m.name)
	}
	return run
}

// idle fails the test if there is something to claim.
func (m *member) idle(lane domain.Lane) {
	m.Helper()
	run, _, err := m.ClaimNow(m.Context(), lane)
	m.must(err)
	if run != nil {
		m.Errorf("%s claims a run of %s", m.name, run.Session.Key)
	}
}

// done completes a run with an answer.
func (m *member) done(run *domain.Run) {
	m.Helper()
	m.must(m.Complete(m.Context(), run.ID, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: chat.Address{Channel: "telegram", Chat: "anna"}, Text: "hi"}}}))
}

// lapse ends a host's lease, as time would.
func (m *member) lapse() {
	m.Helper()
	db, err := store.RawServer(m.dsn)
	m.must(err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(m.Context(), `UPDATE hosts SET lease_until = 1 WHERE name = $1`, m.name)
	m.must(err)
}

// expels takes over what a host has whose lease has ended.
func (m *member) expels(other string) store.Taken {
	m.Helper()
	lapsed, err := m.Renew(m.Context(), time.Hour)
	m.must(err)
	i := slices.IndexFunc(lapsed, func(l domain.Member) bool { return l.Name == other })
	if i < 0 {
		m.Fatalf("%s sees %+v without a lease, not %s", m.name, lapsed, other)
	}
	taken, err := m.Expel(m.Context(), lapsed[i].ID)
	m.must(err)
	more, err := m.MoveFrom(m.Context(), lapsed[i])
	m.must(err)
	if more {
		m.Error("more lanes are left")
	}
	return taken
}

const session = "telegram:user-anna"

// A conversation stays on the host that had its last turn; a new one begins on any.
func TestATurnRunsWhereTheLastOneDid(t *testing.T) {
	c := newCluster(t)
	a, b := c.host("a"), c.host("b")
	a.accept(session, domain.TurnLane)
	first := b.claims(domain.TurnLane)
	a.accept(session, domain.TurnLane) // during the turn
	a.idle(domain.TurnLane)
	b.done(first)
	a.idle(domain.TurnLane)
	second := b.claims(domain.TurnLane)
	if second.Session.Host != "b" {
		t.Errorf("the last turn was on %q", second.Session.Host)
	}
	b.done(second)
	a.accept(session, domain.TurnLane)
	a.accept(session, domain.ControlLane)
	a.idle(domain.TurnLane)
	a.idle(domain.ControlLane)
	b.done(b.claims(domain.ControlLane))
	b.done(b.claims(domain.TurnLane))
	a.accept("telegram:user-berta", domain.TurnLane)
	a.done(a.claims(domain.TurnLane))
}

// A host runs only its agents, as it says them last.
func TestAHostRunsItsAgents(t *testing.T) {
	c := newCluster(t)
	a, b := c.host("a", "main"), c.host("b", "coder")
	const coders = "agent:coder:telegram:user-anna"
	a.accept(coders, domain.TurnLane)
	a.idle(domain.TurnLane)
	b.done(b.claims(domain.TurnLane))
	b.must(b.Serve(t.Context(), []string{"main"}))
	a.must(a.Serve(t.Context(), []string{"main", "coder"}))
	a.accept(coders, domain.TurnLane)
	b.idle(domain.TurnLane)
	a.done(a.claims(domain.TurnLane))
}

// What a host has in hand without a lease is taken over: its turn, its sends, what waits for it, and its duties. It may write no more.
func TestAHostWithoutALeaseLosesItsWork(t *testing.T) {
	c := newCluster(t)
	a, b := c.host("a"), c.host("b")
	for range 3 {
		a.accept(session, domain.TurnLane)
	}
	b.done(b.claims(domain.TurnLane))
	run := b.claims(domain.TurnLane)
	a.accept(session, domain.ControlLane)
	ds, _, err := b.ClaimDeliveriesNow(t.Context(), "telegram", 1)
	b.must(err)
	if _, own, err := b.Take(t.Context(), "channel telegram"); !own || err != nil {
		t.Fatalf("a duty that nobody has: %t, %v", own, err)
	}
	if host, own, err := a.Take(t.Context(), "channel telegram"); host != "b" || own || err != nil {
		t.Errorf("a duty that b has is %q's: %t, %v", host, own, err)
	}
	if taken, err := a.Expel(t.Context(), memberOf(a, "b").ID); taken.Gone || err != nil {
		t.Errorf("a host with a lease is expelled: %+v, %v", taken, err)
	}
	woken, stop := a.WatchDuties()
	defer stop()

	b.lapse()
	for name, err := range map[string]error{
		"complete":  b.Complete(t.Context(), run.ID, domain.Completion{State: domain.RunDone}),
		"delivered": b.Delivered(t.Context(), ds[0].ID, []chat.MessageID{"1"}),
		"accept": func() error {
			_, err := b.Accept(t.Context(), domain.Inbound{EventID: "e", Session: session, Lane: domain.TurnLane, Message: domain.Message{Channel: "telegram"}})
			return err
		}(),
	} {
		if !errors.Is(err, engine.ErrLapsed) {
			t.Errorf("%s without a lease: %v", name, err)
		}
	}
	if diff := cmp.Diff(store.Taken{Gone: true, Runs: 1, Deliveries: 1}, a.expels("b")); diff != "" {
		t.Errorf("taken over (-want +got):\n%s", diff)
	}
	if _, err := b.Renew(t.Context(), time.Hour); !errors.Is(err, engine.ErrLapsed) {
		t.Errorf("an expelled host renews its lease: %v", err)
	}
	again := a.claims(domain.TurnLane)
	if again.Head.UUID != run.Head.UUID || again.Session.Host != "b" || again.ID == run.ID {
		t.Errorf("a continues with %+v", again)
	}
	a.done(a.claims(domain.ControlLane))
	a.done(again)
	a.done(a.claims(domain.TurnLane))
	ds, _, err = a.ClaimDeliveriesNow(t.Context(), "telegram", 1)
	a.must(err)
	if len(ds) != 1 || !ds[0].Uncertain {
		t.Errorf("the item that b was sending: %+v", ds)
	}
	select {
	case <-woken:
	case <-time.After(10 * time.Second):
		t.Error("nobody is told that a duty is free")
	}
	if _, own, err := a.Take(t.Context(), "channel telegram"); !own || err != nil {
		t.Errorf("a duty of a host that is gone: %t, %v", own, err)
	}
	if lapsed, err := a.Renew(t.Context(), time.Hour); len(lapsed) != 0 || err != nil {
		t.Errorf("after the takeover: %+v, %v", lapsed, err)
	}
}

// A host that is drained takes no new turns and duties, ends those that it has, and answers commands for them.
func TestADrainedHost(t *testing.T) {
	c := newCluster(t)
	a, b := c.host("a"), c.host("b")
	a.accept(session, domain.TurnLane)
	run := b.claims(domain.TurnLane)
	a.accept(session, domain.TurnLane)
	a.must(a.Drain(t.Context(), "b", true))
	if err := a.Drain(t.Context(), "nobody", true); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("nobody is drained: %v", err)
	}
	b.must(b.Serve(t.Context(), []string{"main"})) // a reload does not end it
	a.accept(session, domain.ControlLane)
	a.idle(domain.ControlLane)
	b.done(b.claims(domain.ControlLane))
	b.done(run)
	b.idle(domain.TurnLane)
	if more, err := b.HandOver(t.Context()); more || err != nil {
		t.Errorf("hand over: %t, %v", more, err)
	}
	a.done(a.claims(domain.TurnLane))
	a.accept("telegram:user-berta", domain.TurnLane)
	b.idle(domain.TurnLane)
	a.done(a.claims(domain.TurnLane))
	if _, own, err := b.Take(t.Context(), "upkeep"); own || err != nil {
		t.Errorf("a drained host takes a duty: %t, %v", own, err)
	}
	a.must(a.Drain(t.Context(), "b", false))
	b.must(b.Serve(t.Context(), []string{"main"}))
	a.accept("telegram:user-clara", domain.TurnLane)
	b.done(b.claims(domain.TurnLane))
	if m := memberOf(a, "b"); m.Draining || m.Runs != 0 || m.Version != "1" || !slices.Equal(m.Labels, []string{"l"}) {
		t.Errorf("b is %+v", m)
	}
}

// A process follows an earlier one of its host at once, if that has ended for certain or has no lease.
func TestAHostStartsAgain(t *testing.T) {
	c := newCluster(t)
	dir := t.TempDir()
	before := c.openIn("a", dir)
	before.register()
	before.accept(session, domain.TurnLane)
	run := before.claims(domain.TurnLane)
	before.must(before.RecordProcess(t.Context(), domain.Process{PID: 1, StartTime: 2, Kind: "claude"}))

	other := c.open("a")
	var taken *hosts.TakenError
	if err := other.Register(t.Context(), hosts.Registration{Lease: time.Hour}); !errors.As(err, &taken) || taken.Name != "a" {
		t.Errorf("a second host of the name: %v", err)
	}
	if err := other.Ping(t.Context()); !errors.Is(err, engine.ErrLapsed) {
		t.Errorf("a step of a process that is no host: %v", err)
	}
	if _, err := store.OpenServer(t.Context(), c.dsn, store.Options{Host: "a", Dir: dir}); !errors.As(err, new(*sqlite.LockedError)) {
		t.Errorf("two processes use a state folder: %v", err)
	}
	before.frees()
	after := c.openIn("a", dir)
	after.register()
	if err := before.Ping(t.Context()); !errors.Is(err, engine.ErrLapsed) {
		t.Errorf("a step of the earlier process: %v", err)
	}
	if runs, _, err := after.Reclaim(t.Context()); runs != 1 || err != nil {
		t.Errorf("%d runs are reclaimed, %v", runs, err)
	}
	if again := after.claims(domain.TurnLane); again.Head.UUID != run.Head.UUID {
		t.Errorf("the turn is continued as %+v", again)
	}
	c.host("b").must(nil)
	if left, err := after.Processes(t.Context()); len(left) != 1 || err != nil {
		t.Errorf("processes of the host: %v, %v", left, err)
	}
	if left, err := c.host("c").Processes(t.Context()); len(left) != 0 || err != nil {
		t.Errorf("processes of another host: %v, %v", left, err)
	}
	after.lapse()
	last := c.open("a")
	last.must(last.Register(t.Context(), hosts.Registration{Agents: []string{"main"}, Lease: time.Hour}))
	last.must(last.Leave(t.Context()))
	if names := names(after.cluster.host("d")); !slices.Equal(names, []string{"b", "c", "d"}) {
		t.Errorf("hosts %q after one has left", names)
	}
}

// What a host accepted that was alone with the database is for all hosts, and the other way round.
func TestAloneAndTogether(t *testing.T) {
	c := newCluster(t)
	alone := c.open("")
	alone.accept(session, domain.TurnLane)
	a := c.host("a")
	a.idle(domain.TurnLane)
	if more, err := a.Adopt(t.Context()); more || err != nil {
		t.Errorf("adopt: %t, %v", more, err)
	}
	a.claims(domain.TurnLane)
	a.accept("telegram:user-berta", domain.TurnLane)
	a.claims(domain.TurnLane)
	a.accept("telegram:user-clara", domain.TurnLane)
	if runs, _, err := alone.Reclaim(t.Context()); runs != 2 || err != nil {
		t.Fatalf("%d runs of hosts that are not there any more, %v", runs, err)
	}
	for range 3 {
		alone.done(alone.claims(domain.TurnLane))
	}

	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, own, err := s.Take(t.Context(), "upkeep"); !own || err != nil {
		t.Errorf("a host with a file of its own: %t, %v", own, err)
	}
}

func memberOf(m *member, name string) domain.Member {
	m.Helper()
	list, err := m.Hosts(m.Context())
	m.must(err)
	i := slices.IndexFunc(list, func(l domain.Member) bool { return l.Name == name })
	if i < 0 {
		m.Fatalf("no host %s in %+v", name, list)
	}
	return list[i]
}

func names(m *member) (names []string) {
	m.Helper()
	list, err := m.Hosts(m.Context())
	m.must(err)
	for _, l := range list {
		names = append(names, l.Name)
	}
	return names
}

// A call of a plugin goes to the host that takes it, and what it returns comes back in order.
func TestCallOverTheDatabase(t *testing.T) {
	c := newCluster(t)
	a, b := c.host("a"), c.host("b")
	ctx := t.Context()
	call := func(m *member, expires time.Duration) int64 {
		t.Helper()
		id, err := m.Call(ctx, domain.PluginCall{Plugin: "telegram", Method: "/m", Request: []byte("ask")}, expires)
		m.must(err)
		return id
	}
	taken := make(chan domain.PluginCall, 1)
	go func() {
		got, _ := b.TakeCall(ctx, "telegram")
		taken <- got
	}()
	id := call(a, time.Hour)
	got := <-taken
	if got.ID != id || got.Method != "/m" || string(got.Request) != "ask" || got.Expires <= 59*time.Minute || got.Expires > time.Hour {
		t.Errorf("b takes %+v", got)
	}
	woken, stop := a.WatchCall(id)
	defer stop()
	for n, want := range []int{1, 2} {
		if unread, err := b.Return(ctx, id, int64(n), []byte{byte(n)}); unread != want || err != nil {
			t.Errorf("part %d: %d unread, %v", n, unread, err)
		}
	}
	if _, err := a.Return(ctx, id, 7, nil); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a host returns what another one has taken: %v", err)
	}
	<-woken
	parts, end, err := a.Returned(ctx, id)
	if diff := cmp.Diff([][]byte{{0}, {1}}, parts); diff != "" || end != nil || err != nil {
		t.Errorf("returned is %v, %v, %v", parts, end, err)
	}
	if unread, err := b.Unread(ctx, id); unread != 0 || err != nil {
		t.Errorf("%d unread, %v", unread, err)
	}
	b.must(b.EndCall(ctx, id, domain.CallEnd{Code: 5, Message: "none"}))
	if parts, end, err := a.Returned(ctx, id); len(parts) != 0 || err != nil || *end != (domain.CallEnd{Code: 5, Message: "none"}) {
		t.Errorf("at the end: %v, %v, %v", parts, end, err)
	}

	for name, end := range map[string]func(id int64){
		"dropped": func(id int64) { a.must(a.DropCall(ctx, id)) },
		"expired": func(int64) {
			_, err := a.Renew(ctx, time.Hour)
			a.must(err)
		},
		"of a host that is gone": func(id int64) {
			b.lapse()
			a.expels("b")
		},
	} {
		expires := time.Hour
		if name == "expired" {
			expires = -time.Second
		}
		id := call(a, expires)
		if name != "dropped" {
			_, err := b.TakeCall(ctx, "telegram")
			b.must(err)
		}
		end(id)
		if _, _, err := a.Returned(ctx, id); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a call that is %s: %v", name, err)
		}
		if name == "of a host that is gone" {
			b = c.host("b")
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.TakeCall(ended, "telegram"); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing is left to take: %v", err)
	}
}

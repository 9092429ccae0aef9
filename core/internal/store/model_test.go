package store_test

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestModel takes random steps and compares what the store hands out with a model in plain Go; after each step the
// counters and marks of the database must agree with its rows. It does so in 40 databases, and in 400 with CLAWHOST_LONG.
// Behaviour: new-although-dropped, owner-first.
func TestModel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		most := "40"
		if os.Getenv("CLAWHOST_LONG") != "" {
			most = "400"
		}
		if err := checks.Value.Set(most); err != nil {
			t.Fatal(err)
		}
	}
	server := filepath.Join(t.TempDir(), "clawhost.db") // of all rounds, where stores are kept on a server
	inServer := store.Prepare(t, server)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "clawhost-model")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		m := &model{
			ctx: ctx, path: filepath.Join(dir, "clawhost.db"), clock: &clock{now: start},
			lanes: map[laneKey]*modelLane{}, destinations: map[chat.ID]*modelDestination{}, notes: map[string][]modelNote{}, begun: map[string]int{}, cameMessage: map[string]time.Time{}, cameCommand: map[string]time.Time{}, current: map[string]int{},
			became: map[int64]chat.MessageID{}, keptIn: map[int64]chat.ID{},
			runs: map[int64]laneKey{}, fenced: []int64{1 << 40}, deliveries: map[int64]chat.ID{}, events: map[chat.EventID]domain.RunState{},
		}
		if inServer {
			m.path = server
			if err := store.Empty(server); err != nil {
				t.Fatal(err)
			}
		}
		m.open(t)
		defer func() { _ = m.store.Close() }()
		if m.rows, err = store.Raw(m.path); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.rows.Close() }()
		m.invariants = map[string]*sql.Stmt{}
		for name, query := range invariants {
			if m.invariants[name], err = m.rows.Prepare(query); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"accept":   m.accept,
			"accept 2": m.accept, // more often than others
			"accept 3": m.accept,
			"accept 4": m.accept,
			"claim":    m.claim,
			"claim 2":  m.claim,
			"consume":  m.consume,
			"join":     m.join,
			"complete": m.complete,
			"release":  m.release,
			"early":    m.early,
			"linger":   m.linger,
			"replace":  m.replaceSession,
			"begin as": m.beginAs,
			"next":     m.next,
			"withdraw": m.withdraw,
			"amend":    m.amend,
			"requeue":  m.requeue,
			"clear":    m.clear,
			"note":     m.note,
			"outcome":  m.outcome,
			"react":    m.react,
			"fenced":   m.stale,
			"deliver":  m.claimDeliveries,
			"end":      m.endDelivery,
			"wait":     m.wait,
			"restart":  m.restart,
			"":         m.check,
		})
	})
}

type model struct {
	ctx   context.Context
	path  string
	store *store.Store
	clock *clock

	rows       *sql.DB // alongside the store
	invariants map[string]*sql.Stmt

	lanes        map[laneKey]*modelLane
	destinations map[chat.ID]*modelDestination
	notes        map[string][]modelNote
	begun        map[string]int                   // how many claude sessions a session has had, which are numbered
	current      map[string]int                   // which of them is its own
	events       map[chat.EventID]domain.RunState // how it has ended; "": not yet
	runs         map[int64]laneKey
	fenced       []int64 // ids of runs that have ended or were lost
	deliveries   map[int64]chat.ID
	became       map[int64]chat.MessageID // of kept items that were sent
	keptIn       map[int64]chat.ID        // where they are
	dead         []modelItem
	lastPiece    int64
	lastRun      int64
	pieces       int
	spares       int // claude sessions that began before a run
	thens        int
	cameMessage  map[string]time.Time // when the last message of a session came
	cameCommand  map[string]time.Time
	editions     int
	uncertain    int64
}

func (m *model) open(t *rapid.T) {
	if err := prepare(m.path); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenTest(m.ctx, m.path, store.Options{Now: m.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	m.store = s
}

// stale takes a step of a run that is no longer its lane's.
func (m *model) stale(t *rapid.T) {
	id := rapid.SampledFrom(m.fenced).Draw(t, "run")
	c := domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: chat.Address{Channel: "c", Chat: "a"}, Text: "stale"}}}
	if err := m.store.Complete(m.ctx, id, c); err == nil {
		t.Fatalf("run %d has ended and completes", id)
	}
	if err := m.store.Consumed(m.ctx, id); err == nil {
		t.Fatalf("run %d has ended and consumes", id)
	}
	if _, err := m.store.Join(m.ctx, id); err == nil {
		t.Fatalf("run %d has ended and joins", id)
	}
	if _, err := m.store.Early(m.ctx, id, domain.Early{Items: c.Items, Said: "stale"}); err == nil {
		t.Fatalf("run %d has ended and sends early", id)
	}
}

// react has some messages show their stages, which are not looked at any more then until they are others.
func (m *model) react(t *rapid.T) {
	list, err := m.store.Reactions(m.ctx, "c", rapid.IntRange(1, 3).Draw(t, "reactions"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if err := m.store.Reacted(m.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	again, err := m.store.Reactions(m.ctx, "c", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if slices.Contains(again, r) {
			t.Fatalf("%+v shows its stage and is to show it", r)
		}
	}
}

func (m *model) wait(t *rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(1, 3).Draw(t, "seconds")) * time.Second)
}

func (m *model) restart(t *rapid.T) {
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
	runs, deliveries, err := m.store.Reclaim(m.ctx)
	if err != nil || runs != len(m.runs) || deliveries != len(m.deliveries) {
		t.Fatalf("reclaimed %d runs of %d, %d deliveries of %d, %v", runs, len(m.runs), deliveries, len(m.deliveries), err)
	}
	now := m.clock.Now()
	for id, k := range m.runs {
		m.end(id, m.lanes[k])
		m.lanes[k].readyAt = now
	}
	for _, l := range m.lanes {
		for i := range l.queue {
			if l.queue[i].readyAt.After(now) {
				l.queue[i].readyAt = now
			}
		}
	}
	slices.Sort(m.fenced)
	for id, to := range m.deliveries {
		d := m.destinations[to]
		d.sending, d.nextAt = 0, now
		m.doubt(d)
		delete(m.deliveries, id)
	}
	for _, l := range m.lanes {
		if l.readyAt.After(now) {
			l.readyAt = now
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *model) check(t *rapid.T) {
	for name, query := range m.invariants {
		var n int
		if err := query.QueryRow().Scan(&n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n != 0 {
			t.Fatalf("not so: %s (%d)", name, n)
		}
	}
	m.checkItems(t)
	for session, want := range m.begun {
		var n int
		if err := m.rows.QueryRow(`SELECT COUNT(*) FROM claude_sessions WHERE session = '` + session + `'`).Scan(&n); n != want || err != nil {
			t.Fatalf("session %s has had %d claude sessions, %v; want %d", session, n, err, want)
		}
	}
	if n, err := m.store.Uncertain(m.ctx); n != m.uncertain || err != nil {
		t.Fatalf("%d uncertain pieces, %v; want %d", n, err, m.uncertain)
	}
}

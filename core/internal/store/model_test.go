package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"pgregory.net/rapid"
)

// TestModel takes random steps and compares what the store hands out with a model in plain Go; after each step the
// counters and marks of the database must agree with its rows.
func TestModel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "clawhost-model")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		m := &model{
			ctx: ctx, path: filepath.Join(dir, "clawhost.db"), clock: &clock{now: start},
			lanes: map[laneKey]*modelLane{}, destinations: map[chat.ID]*modelDestination{},
			runs: map[int64]laneKey{}, fenced: []int64{1 << 40}, deliveries: map[int64]chat.ID{}, events: map[chat.EventID]bool{},
		}
		m.open(t)
		defer func() { _ = m.store.Close() }()
		if m.rows, err = sql.Open("sqlite", "file:"+m.path+"?_pragma=query_only(1)"); err != nil {
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
			"claim":    m.claim,
			"complete": m.complete,
			"release":  m.release,
			"clear":    m.clear,
			"fenced":   m.stale,
			"deliver":  m.claimDeliveries,
			"end":      m.endDelivery,
			"wait":     m.wait,
			"restart":  m.restart,
			"":         m.check,
		})
	})
}

type laneKey struct {
	session string
	lane    store.Lane
}

type modelMessage struct {
	event   chat.EventID
	readyAt time.Time
}

type modelLane struct {
	queue   []modelMessage // the running one first
	run     int64          // 0: none
	readyAt time.Time      // of a lane that has messages and does not run
}

type modelPiece struct {
	text      string
	uncertain bool
}

type modelDestination struct {
	queue   []modelPiece
	sending int64 // 0: none
	nextAt  time.Time
}

type model struct {
	ctx   context.Context
	path  string
	store *store.Store
	clock *clock

	rows       *sql.DB // beside the store
	invariants map[string]*sql.Stmt

	lanes        map[laneKey]*modelLane
	destinations map[chat.ID]*modelDestination
	events       map[chat.EventID]bool
	runs         map[int64]laneKey
	fenced       []int64 // ids of runs that have ended or were lost
	deliveries   map[int64]chat.ID
	lastRun      int64
	pieces       int
	uncertain    int64
}

func (m *model) open(t *rapid.T) {
	s, err := store.Open(m.ctx, m.path, store.Options{Now: m.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	m.store = s
}

func (m *model) accept(t *rapid.T) {
	k := laneKey{
		session: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session"),
		lane:    rapid.SampledFrom([]store.Lane{store.TurnLane, store.TurnLane, store.ControlLane}).Draw(t, "lane"),
	}
	event := chat.EventID(fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "event")))
	delay := time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Second
	limit := rapid.IntRange(0, 4).Draw(t, "limit")
	in := store.Inbound{
		EventID: event, Session: k.session, Lane: k.lane, MaxWaiting: limit,
		Message: store.Message{Channel: "c", Chat: chat.Chat{ID: chat.ID(k.session)}, Text: string(event)},
	}
	if delay > 0 {
		in.ReadyAt = m.clock.Now().Add(delay)
	}
	l := m.lanes[k]
	if l == nil {
		l = &modelLane{}
	}
	waiting := len(l.queue)
	if l.run != 0 {
		waiting--
	}
	a, err := m.store.Accept(m.ctx, in)
	switch {
	case m.events[event]:
		if err != nil || !a.Duplicate {
			t.Fatalf("event %s again: %+v, %v", event, a, err)
		}
	case limit > 0 && waiting >= limit:
		if err == nil {
			t.Fatalf("event %s got into a lane with %d of %d waiting", event, waiting, limit)
		}
	default:
		if err != nil || a.Duplicate || a.Waiting != len(l.queue) {
			t.Fatalf("event %s: %+v, %v; the lane has %d", event, a, err, len(l.queue))
		}
		m.events[event] = true
		readyAt := m.clock.Now().Add(delay)
		l.queue = append(l.queue, modelMessage{event, readyAt})
		if len(l.queue) == 1 {
			l.readyAt = readyAt
		}
		m.lanes[k] = l
	}
}

func (m *model) claim(t *rapid.T) {
	lane := rapid.SampledFrom([]store.Lane{store.TurnLane, store.ControlLane}).Draw(t, "lane")
	var first time.Time
	for k, l := range m.lanes {
		if k.lane == lane && l.run == 0 && len(l.queue) > 0 && (first.IsZero() || l.readyAt.Before(first)) {
			first = l.readyAt
		}
	}
	run, next, err := m.store.Claim(m.ctx, lane)
	if err != nil {
		t.Fatal(err)
	}
	if first.IsZero() || first.After(m.clock.Now()) {
		if run != nil || !next.Equal(first) {
			t.Fatalf("got %+v, next %v; want next %v", run, next, first)
		}
		return
	}
	if run == nil {
		t.Fatalf("got nothing, next %v; a lane is ready since %v", next, first)
		return
	}
	k := laneKey{run.Session.Key, lane}
	l := m.lanes[k]
	if l.run != 0 || !l.readyAt.Equal(first) || string(l.queue[0].event) != run.Message.Message.Text {
		t.Fatalf("got message %q of %v, whose lane is %+v; want one that is ready since %v", run.Message.Message.Text, k, l, first)
	}
	if run.ID <= m.lastRun {
		t.Fatalf("run id %d after %d", run.ID, m.lastRun)
	}
	l.run, m.lastRun, m.runs[run.ID] = run.ID, run.ID, k
}

// aRun draws a running run.
func (m *model) aRun(t *rapid.T) (int64, *modelLane) {
	if len(m.runs) == 0 {
		t.Skip("nothing runs")
	}
	ids := make([]int64, 0, len(m.runs))
	for id := range m.runs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "run")
	return id, m.lanes[m.runs[id]]
}

func (m *model) end(id int64, l *modelLane) {
	l.run = 0
	delete(m.runs, id)
	m.fenced = append(m.fenced, id)
}

func (m *model) complete(t *rapid.T) {
	id, l := m.aRun(t)
	c := store.Completion{State: store.RunDone}
	for _, to := range rapid.SliceOfN(rapid.SampledFrom([]chat.ID{"a", "b", "c"}), 0, 4).Draw(t, "pieces") {
		m.pieces++
		text := fmt.Sprint(m.pieces)
		c.Pieces = append(c.Pieces, store.Piece{To: chat.Address{Channel: "c", Chat: to}, Text: text})
		d := m.destinations[to]
		if d == nil {
			d = &modelDestination{}
			m.destinations[to] = d
		}
		if d.queue = append(d.queue, modelPiece{text: text}); len(d.queue) == 1 {
			d.nextAt = m.clock.Now()
		}
	}
	if err := m.store.Complete(m.ctx, id, c); err != nil {
		t.Fatal(err)
	}
	m.end(id, l)
	if l.queue = l.queue[1:]; len(l.queue) > 0 {
		l.readyAt = later(l.queue[0].readyAt, m.clock.Now())
	}
}

func (m *model) release(t *rapid.T) {
	id, l := m.aRun(t)
	if err := m.store.Release(m.ctx, id, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	m.end(id, l)
	l.readyAt = m.clock.Now()
}

func (m *model) clear(t *rapid.T) {
	if len(m.lanes) == 0 {
		t.Skip("no lane")
	}
	k := laneKey{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session"), store.TurnLane}
	l := m.lanes[k]
	if l == nil {
		t.Skip("no such lane")
	}
	keep := 0
	if l.run != 0 {
		keep = 1
	}
	dropped, err := m.store.Clear(m.ctx, k.session, k.lane, m.clock.Now().Add(time.Millisecond))
	if err != nil || dropped != len(l.queue)-keep {
		t.Fatalf("dropped %d of %d, %v", dropped, len(l.queue)-keep, err)
	}
	l.queue = l.queue[:keep]
}

// stale takes a step of a run that is no longer its lane's.
func (m *model) stale(t *rapid.T) {
	id := rapid.SampledFrom(m.fenced).Draw(t, "run")
	c := store.Completion{State: store.RunDone, Pieces: []store.Piece{{To: chat.Address{Channel: "c", Chat: "a"}, Text: "stale"}}}
	if err := m.store.Complete(m.ctx, id, c); err == nil {
		t.Fatalf("run %d has ended and completes", id)
	}
	if err := m.store.Consumed(m.ctx, id); err == nil {
		t.Fatalf("run %d has ended and consumes", id)
	}
}

func (m *model) claimDeliveries(t *rapid.T) {
	limit := rapid.IntRange(1, 3).Draw(t, "limit")
	now := m.clock.Now()
	due := 0
	for _, d := range m.destinations {
		if len(d.queue) > 0 && d.sending == 0 && !d.nextAt.After(now) {
			due++
		}
	}
	ds, _, err := m.store.ClaimDeliveries(m.ctx, "c", limit)
	if err != nil || len(ds) != min(due, limit) {
		t.Fatalf("got %d deliveries, %v; %d are due, the limit is %d", len(ds), err, due, limit)
	}
	for _, got := range ds {
		to := got.Piece.To.Chat
		d := m.destinations[to]
		if d.sending != 0 || d.nextAt.After(now) || got.Piece.Text != d.queue[0].text || got.Uncertain != d.queue[0].uncertain {
			t.Fatalf("got %+v for %+v", got, d)
		}
		d.sending, m.deliveries[got.ID] = got.ID, to
	}
}

func (m *model) endDelivery(t *rapid.T) {
	if len(m.deliveries) == 0 {
		t.Skip("nothing is sent")
	}
	ids := make([]int64, 0, len(m.deliveries))
	for id := range m.deliveries {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "delivery")
	d := m.destinations[m.deliveries[id]]
	var err error
	d.nextAt = m.clock.Now()
	switch rapid.SampledFrom([]string{"delivered", "bury", "retry"}).Draw(t, "end") {
	case "delivered":
		err = m.store.Delivered(m.ctx, id, []chat.MessageID{chat.MessageID(fmt.Sprint(id))})
		d.queue = d.queue[1:]
	case "bury":
		err = m.store.Bury(m.ctx, id, "refused")
		d.queue = d.queue[1:]
	case "retry":
		uncertain := rapid.Bool().Draw(t, "uncertain")
		d.nextAt = m.clock.Now().Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "delay")) * time.Second)
		err = m.store.Retry(m.ctx, id, store.Again{At: d.nextAt, Cause: "later", Uncertain: uncertain})
		if uncertain {
			m.doubt(d)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	d.sending = 0
	delete(m.deliveries, id)
}

func (m *model) doubt(d *modelDestination) {
	if !d.queue[0].uncertain {
		d.queue[0].uncertain = true
		m.uncertain++
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
	if n, err := m.store.Uncertain(m.ctx); n != m.uncertain || err != nil {
		t.Fatalf("%d uncertain pieces, %v; want %d", n, err, m.uncertain)
	}
}

package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestBacklog(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, lanes map[domain.Lane]domain.LaneBacklog, outbox map[string]domain.OutboxBacklog, uncertain int64) domain.Backlog {
		t.Helper()
		got, err := s.Backlog(ctx)
		must(err)
		shown := got // when something waits is compared by whether it is known
		shown.Lanes, shown.Outbox = map[domain.Lane]domain.LaneBacklog{}, map[string]domain.OutboxBacklog{}
		known := func(at time.Time) time.Time {
			if at.IsZero() {
				return at
			}
			return time.Unix(1, 0)
		}
		for lane, l := range got.Lanes {
			l.Oldest = known(l.Oldest)
			shown.Lanes[lane] = l
		}
		for channel, o := range got.Outbox {
			o.Oldest = known(o.Oldest)
			shown.Outbox[channel] = o
		}
		if diff := cmp.Diff(domain.Backlog{Lanes: lanes, Outbox: outbox, Uncertain: uncertain}, shown); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		return got
	}
	type (
		lanes  = map[domain.Lane]domain.LaneBacklog
		outbox = map[string]domain.OutboxBacklog
	)
	some := time.Unix(1, 0)
	want("of an empty store", lanes{}, outbox{}, 0)
	accept := func(session, id string, lane domain.Lane) {
		t.Helper()
		_, err := s.Accept(ctx, domain.Inbound{
			EventID: chat.EventID(id), Session: session, Lane: lane,
			Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna"}},
		})
		must(err)
	}
	for i := range 3 {
		accept("a", fmt.Sprint("a", i), domain.TurnLane)
	}
	accept("b", "b", domain.TurnLane)
	accept("b", "c", domain.ControlLane)
	first := want("of what waits", lanes{"turn": {Waiting: 4, Oldest: some}, "control": {Waiting: 1, Oldest: some}}, outbox{}, 0)
	run, _, err := s.ClaimNow(ctx, domain.TurnLane)
	must(err)
	second := want("of a running turn", lanes{"turn": {Waiting: 3, Running: 1, Oldest: some}, "control": {Waiting: 1, Oldest: some}}, outbox{}, 0)
	if second.Lanes["turn"].Oldest.Before(first.Lanes["turn"].Oldest) {
		t.Errorf("the oldest was received at %v, and after one is claimed at %v", first.Lanes["turn"].Oldest, second.Lanes["turn"].Oldest)
	}
	to := chat.Address{Channel: "telegram", Chat: "anna"}
	must(s.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: to, Text: "1"}, {To: to, Text: "2"}}}))
	ds, _, err := s.ClaimDeliveriesNow(ctx, "telegram", 1)
	must(err)
	must(s.DeadLetter(ctx, ds[0].ID, "gone"))
	want("of items", lanes{"turn": {Waiting: 3, Oldest: some}, "control": {Waiting: 1, Oldest: some}},
		outbox{"telegram": {Pending: 1, Oldest: some, Dead: 1}}, 0)
}

// Commits are counted when they are on the disk, and only those that wait for it.
func TestCommitsAreCounted(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	counts := metrics.New(metrics.Labels{})
	s, err := Open(t.Context(), t.TempDir()+"/clawhost.db", Options{Metrics: counts})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := commits(t, counts)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := commits(t, counts) - before; n != 0 {
		t.Errorf("%d commits, and nothing was written", n)
	}
	if _, err := s.PutState(t.Context(), "p", "k", []byte("v"), nil); err != nil {
		t.Fatal(err)
	}
	if n := commits(t, counts) - before; n != 1 {
		t.Errorf("%d commits, want 1", n)
	}
}

// commits is how many commits were counted.
func commits(t *testing.T, m *metrics.Metrics) uint64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "clawhost_store_commit_duration_seconds" {
			return f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	t.Fatal("commits are not counted")
	return 0
}

// A run's event is known while it runs, after it and after a restart, so that what it sends belongs to the event's trace.
func TestEventOfARun(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx := t.Context()
	if _, err := s.Accept(ctx, domain.Inbound{
		EventID: "e1", Session: "a", Lane: domain.TurnLane, Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna"}},
	}); err != nil {
		t.Fatal(err)
	}
	run, _, err := s.ClaimNow(ctx, domain.TurnLane)
	if err != nil || run.Head.EventID != "e1" {
		t.Fatalf("%+v, %v", run, err)
	}
	if channel, id, err := s.EventOfRun(ctx, run.ID); err != nil || channel != "telegram" || id != "e1" {
		t.Errorf("while it runs: %q, %q, %v", channel, id, err)
	}
	if err := s.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil {
		t.Fatal(err)
	}
	if channel, id, err := s.EventOfRun(ctx, run.ID); err != nil || channel != "telegram" || id != "e1" {
		t.Errorf("after it: %q, %q, %v", channel, id, err)
	}
	if channel, id, err := s.EventOfRun(ctx, 99); err != nil || channel != "" || id != "" {
		t.Errorf("of none: %q, %q, %v", channel, id, err)
	}
}

package store_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// wantBatch is what the next run of a lane is for.
func (l *modelLane) wantBatch() (batch []int) {
	head, size, passed := l.queue[0], 0, false
	for i, o := range l.queue {
		switch {
		case i == 0:
		case head.batch != 0:
			if o.batch != head.batch {
				continue
			}
		case head.Message.Origin != "", o.claude != head.claude:
			return batch
		case o.burst != head.burst &&
			(passed || head.Queue.Mode != domain.Collect || o.Queue.Mode != domain.Collect || !o.shares(head)):
			passed = true
			continue
		case o.batch != 0 || o.Message.Fresh || o.Message.Origin != "" || size+len(o.Message.Text) > 256<<10:
			return batch
		}
		batch, size = append(batch, i), size+len(o.Message.Text)
	}
	return batch
}

func (m *model) claim(t *rapid.T) {
	lane := rapid.SampledFrom([]domain.Lane{domain.TurnLane, domain.TurnLane, domain.ControlLane}).Draw(t, "lane")
	whose := rapid.SampledFrom([]domain.Whose{domain.Anybodys, domain.Anybodys, domain.Owners}).Draw(t, "whose")
	now := m.clock.Now()
	var first time.Time // when the lane that is to be claimed is ready, owners' before others
	owners := false
	for k, l := range m.lanes {
		if k.lane != lane || l.run != 0 || len(l.queue) == 0 {
			continue
		}
		owner := l.queue[0].Message.Authority == chat.Owner
		before := first.IsZero() || l.readyAt.Before(first)
		switch {
		case whose == domain.Owners && !owner:
			continue
		case first.IsZero() || first.After(now) || l.readyAt.After(now): // the first that is ready, or will be
		default:
			before = owner && !owners || owner == owners && l.readyAt.Before(first)
		}
		if before {
			first, owners = l.readyAt, owner
		}
	}
	run, next, err := m.store.ClaimNow(m.ctx, lane, whose)
	if err != nil {
		t.Fatal(err)
	}
	if first.IsZero() || first.After(now) {
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
	if l.run != 0 || !l.readyAt.Equal(first) || (l.queue[0].Message.Authority == chat.Owner) != owners {
		t.Fatalf("got message %q of %v, whose lane is %+v; want one that is ready since %v, of an owner: %v", run.Head.Message.Text, k, l, first, owners)
	}
	if run.ID <= m.lastRun {
		t.Fatalf("run id %d after %d", run.ID, m.lastRun)
	}
	batch := l.wantBatch()
	if l.queue[0].Message.Fresh && l.queue[0].claude == 0 {
		m.begin(k.session)
	}
	var want, got []string
	for _, i := range batch {
		o := &l.queue[i]
		if o.batch == 0 {
			o.batch = l.queue[0].seq
		}
		if o.claude == 0 {
			o.claude = m.current[k.session]
		}
		m.retract(o.receipt)
		o.receipt = 0
		want = append(want, fmt.Sprint(o.seq, " ", o.Message.Text))
	}
	for _, q := range append([]domain.Queued{run.Head}, run.More...) {
		got = append(got, fmt.Sprint(q.Seq, " ", q.Message.Text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the run of %v (-want +got):\n%s", k, diff)
	}
	if run.Said != l.queue[0].said || run.Preview != l.queue[0].preview {
		t.Fatalf("the run of %v has said %q with preview %d, want %q with %d", k, run.Said, run.Preview, l.queue[0].said, l.queue[0].preview)
	}
	var notes []modelNote
	if lane == domain.TurnLane {
		notes = m.takeNotes(k.session, l.queue[0])
	}
	var gotNotes []modelNote
	for _, n := range run.Notes {
		gotNotes = append(gotNotes, modelNote{n.Kind, n.Text, n.Count, l.queue[0].seq})
	}
	if diff := cmp.Diff(notes, gotNotes, cmp.AllowUnexported(modelNote{})); diff != "" {
		t.Fatalf("the notes of %v (-want +got):\n%s", k, diff)
	}
	l.run, l.head, l.readyAt, m.lastRun, m.runs[run.ID] = run.ID, l.queue[0].seq, time.Time{}, run.ID, k
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

// end takes a run's hold from its lane, and what was joined to it and is not wanted any more.
func (m *model) end(id int64, l *modelLane) {
	m.cancel(m.runs[id].session, m.remove(l, func(o modelMessage) bool { return o.joined && o.cleared }))
	l.run = 0
	for i := range l.queue {
		l.queue[i].joined = false
	}
	delete(m.runs, id)
	m.fenced = append(m.fenced, id)
}

func (m *model) consume(t *rapid.T) {
	id, l := m.aRun(t)
	if err := m.store.Consumed(m.ctx, id); err != nil {
		t.Fatal(err)
	}
	l.own().consumed = true
}

func (m *model) join(t *rapid.T) {
	id, l := m.aRun(t)
	var want, got []string
	for i := range l.queue {
		o := &l.queue[i]
		if !o.waits() {
			continue
		}
		if !m.tells(l, *o) {
			break
		}
		o.joined = true
		m.retract(o.receipt)
		o.receipt = 0
		want = append(want, o.Message.Text+o.uuid())
	}
	joined, err := m.store.Join(m.ctx, id)
	for _, q := range joined {
		got = append(got, q.Message.Text+q.UUID)
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("joined, %v (-want +got):\n%s", err, diff)
	}
}

// complete covers some of what was joined, and now and then something that was not.
func (m *model) complete(t *rapid.T) {
	id, l := m.aRun(t)
	k, head := m.runs[id], l.head
	c := domain.Completion{State: rapid.SampledFrom([]domain.RunState{domain.RunDone, domain.RunDone, domain.RunFailed}).Draw(t, "state")}
	ended := m.remove(l, func(o modelMessage) bool {
		if o.batch == head {
			return true
		}
		covered := rapid.IntRange(0, 5).Draw(t, "covered")
		if covered == 0 || o.joined && covered < 4 {
			c.Covered = append(c.Covered, o.uuid())
			return true
		}
		return false
	})
	for _, o := range ended {
		m.events[o.EventID] = c.State
	}
	joined := m.remove(l, func(o modelMessage) bool { return o.joined && o.cleared })
	m.cancel(k.session, joined)
	m.report(t, k.session, &c)
	for _, p := range m.drawPieces(t) {
		m.post(k.session, p)
		c.Items = append(c.Items, p)
	}
	before := head + 1
	if l.wishes > 0 {
		before = l.advance(before)
	}
	var first []modelMessage
	if k.lane == domain.TurnLane && rapid.IntRange(0, 4).Draw(t, "then") == 0 {
		m.thens++
		event := chat.EventID(fmt.Sprintf("then-%d", m.thens/2))
		c.Then = &domain.Inbound{
			EventID: event, Session: k.session, Lane: k.lane,
			Message: domain.Message{Channel: "c", Chat: chat.Chat{ID: chat.ID(k.session)}, Text: string(event), Origin: domain.OriginPlugin},
		}
		if _, seen := m.events[event]; !seen && ended[0].claude == m.current[k.session] {
			m.events[event] = ""
			first = append(first, modelMessage{Inbound: *c.Then, receivedAt: m.arrives(k.session, k.lane), readyAt: m.clock.Now()})
			l.lastSeq++
			first[0].seq, first[0].burst, first[0].ticket = below(before, 1), l.lastSeq, l.lastSeq
		}
	}
	if err := m.store.Complete(m.ctx, id, c); err != nil {
		t.Fatal(err)
	}
	m.end(id, l)
	l.queue = append(first, l.queue...)
	l.rearm(m.clock.Now())
	if k.lane == domain.TurnLane {
		m.settleNotes(k.session, head, c.State == domain.RunDone || ended[0].consumed)
	}
}

func (m *model) release(t *rapid.T) {
	id, l := m.aRun(t)
	again := m.clock.Now().Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "again")) * time.Second)
	if err := m.store.Release(m.ctx, id, again, ""); err != nil {
		t.Fatal(err)
	}
	m.end(id, l)
	l.own().readyAt = again
	l.rearm(m.clock.Now())
}

func (m *model) outcome(t *rapid.T) {
	if len(m.events) == 0 {
		t.Skip("no event")
	}
	events := make([]chat.EventID, 0, len(m.events))
	for event := range m.events {
		events = append(events, event)
	}
	slices.Sort(events)
	event := rapid.SampledFrom(events).Draw(t, "event")
	o, err := m.store.Outcome(m.ctx, "c", event)
	if want := m.events[event]; err != nil || o.State != want {
		t.Fatalf("event %s ended as %+v, %v; want %q", event, o, err, want)
	}
}

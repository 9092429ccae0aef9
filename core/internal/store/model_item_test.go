package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// modelItem is an item of the model's outbox, or a dead one.
type modelItem struct {
	domain.OutboxItem
	id        int64
	key       int64 // what it is kept by
	session   string
	uncertain bool
	notified  bool // of a dead one: its session was notified, or need not be
}

type modelDestination struct {
	queue   []modelItem
	sending int64 // 0: none
	nextAt  time.Time
}

// drop takes an item out that waits, if it was certainly not sent.
func (d *modelDestination) drop(id int64) (found, dropped bool) {
	for i, p := range d.queue {
		if p.id != id {
			continue
		}
		if d.sending == id || p.uncertain {
			return true, false
		}
		d.queue = slices.Delete(d.queue, i, i+1)
		return true, true
	}
	return false, false
}

func toModel(to chat.ID) chat.Address { return chat.Address{Channel: "c", Chat: to} }

// post puts an item into the model's outbox and returns its id; 0: it is not sent.
func (m *model) post(session string, p domain.OutboxItem) int64 {
	if p.Edits != 0 {
		gone := m.keptIn[p.Edits] == ""
		for _, d := range m.destinations {
			if found, dropped := d.drop(p.Edits); found {
				gone = dropped
			}
		}
		if gone {
			m.dead = slices.DeleteFunc(m.dead, func(o modelItem) bool { return o.id == p.Edits })
			if !p.OrSend {
				return 0
			}
			p.Edits = 0
		}
	}
	return m.enqueue(modelItem{OutboxItem: p, session: session})
}

func (m *model) enqueue(p modelItem) int64 {
	m.lastPiece++
	p.id, p.key = m.lastPiece, cmp.Or(p.key, m.lastPiece)
	d := m.destinations[p.To.Chat]
	if d == nil {
		d = &modelDestination{}
		m.destinations[p.To.Chat] = d
	}
	if d.queue = append(d.queue, p); len(d.queue) == 1 {
		d.nextAt = m.clock.Now()
	}
	return p.id
}

// retract takes an item back; 0: no item.
func (m *model) retract(id int64) {
	if id == 0 {
		return
	}
	to, known := m.keptIn[id]
	for chat, d := range m.destinations {
		for _, p := range d.queue {
			if p.id == id {
				to, known = chat, true
			}
		}
	}
	if !known {
		to = "a" // it is outdated at most
	}
	m.post("", domain.OutboxItem{To: toModel(to), Edits: id})
}

// keptOf are the kept items of a chat that were sent or may yet be.
func (m *model) keptOf(to chat.ID) (ids []int64) {
	for id, in := range m.keptIn {
		if in == to {
			ids = append(ids, id)
		}
	}
	if d := m.destinations[to]; d != nil {
		for _, p := range d.queue {
			if p.Kept {
				ids = append(ids, p.id)
			}
		}
	}
	for _, p := range m.dead {
		if p.Kept && p.To.Chat == to {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// drawPiece draws an item for a chat: a plain one, a kept one, or one that edits a kept one of before.
func (m *model) drawPiece(t *rapid.T, to chat.ID) domain.OutboxItem {
	m.pieces++
	p := domain.OutboxItem{To: toModel(to), Text: fmt.Sprint(m.pieces)}
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	p.Kept = kind == 1 || kind == 5
	if ids := m.keptOf(to); kind > 2 && len(ids) > 0 {
		p.Edits = rapid.SampledFrom(ids).Draw(t, "edits")
		if p.OrSend = rapid.Bool().Draw(t, "or send"); !p.OrSend && kind == 3 {
			p.Text = ""
		}
	}
	return p
}

// drawPieces draws items and posts them in the model.
func (m *model) drawPieces(t *rapid.T) []domain.OutboxItem {
	var items []domain.OutboxItem
	for range rapid.IntRange(0, 4).Draw(t, "pieces") {
		// A later item may not edit an earlier one of the same step, whose id is not known.
		items = append(items, m.drawPiece(t, rapid.SampledFrom([]chat.ID{"a", "b", "c"}).Draw(t, "to")))
	}
	return items
}

// early sends something of a run.
func (m *model) early(t *rapid.T) {
	id, l := m.aRun(t)
	session, head := m.runs[id].session, l.own()
	e := domain.Early{Items: m.drawPieces(t)}
	head.said += fmt.Sprint(len(e.Items))
	e.Said = head.said
	for _, p := range e.Items {
		m.post(session, p)
	}
	switch rapid.IntRange(0, 2).Draw(t, "preview") {
	case 0:
		p := m.drawPiece(t, chat.ID(session))
		e.Preview = &p
		p.Kept = true
		if posted := m.post(session, p); posted != 0 {
			head.preview = posted
		}
	case 1:
		e.Unpreview, head.preview = true, 0
	}
	if preview, err := m.store.Early(m.ctx, id, e); err != nil || preview != head.preview {
		t.Fatalf("the preview is %d, %v; want %d", preview, err, head.preview)
	}
}

// replaceSession begins a new conversation for the run.
func (m *model) replaceSession(t *rapid.T) {
	id, l := m.aRun(t)
	if m.runs[id].lane != domain.TurnLane {
		t.Skip("no turn")
	}
	session, head := m.runs[id].session, l.head
	old := l.own().claude
	if m.begun[session]++; old == m.current[session] {
		m.current[session] = m.begun[session]
	}
	m.retract(l.own().preview)
	for i := range l.queue {
		if o := &l.queue[i]; o.batch == head || o.batch == 0 && o.claude == old {
			o.claude, o.consumed = m.begun[session], false
		}
	}
	l.own().said, l.own().preview = "", 0
	notice := m.drawPiece(t, "a")
	m.post(session, notice)
	if _, err := m.store.ReplaceSession(m.ctx, id, notice); err != nil {
		t.Fatal(err)
	}
}

// beginAs gives the run's claude session another id, if nothing was said in it yet. It changes nothing that the model knows.
func (m *model) beginAs(t *rapid.T) {
	id, l := m.aRun(t)
	of := m.runs[id]
	s, err := m.store.Session(m.ctx, of.session)
	if err != nil {
		t.Fatal(err)
	}
	if of.lane != domain.TurnLane || l.own().claude != m.current[of.session] || s.ClaudeStarted {
		t.Skip("it has begun")
	}
	m.spares++
	if err := m.store.BeginAs(m.ctx, id, fmt.Sprint("spare", m.spares)); err != nil {
		t.Fatal(err)
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
	ds, _, err := m.store.ClaimDeliveriesNow(m.ctx, "c", limit)
	if err != nil || len(ds) != min(due, limit) {
		t.Fatalf("got %d deliveries, %v; %d are due, the limit is %d", len(ds), err, due, limit)
	}
	for _, got := range ds {
		to := got.Item.To.Chat
		d := m.destinations[to]
		if len(d.queue) == 0 || d.sending != 0 || d.nextAt.After(now) {
			t.Fatalf("got %+v for %+v", got, d)
		}
		want := d.queue[0]
		var target chat.MessageID
		if want.Edits != 0 {
			target = m.became[want.Edits]
		}
		if got.ID != want.id || !strings.HasSuffix(got.Key, fmt.Sprint("-", want.key)) || got.Uncertain != want.uncertain || got.Target != target ||
			got.Item.Text != want.Text || got.Item.Kept != want.Kept || got.Item.Edits != want.Edits || got.Item.OrSend != want.OrSend {
			t.Fatalf("got %+v, want %+v with the target %q", got, want, target)
		}
		d.sending, m.deliveries[got.ID] = got.ID, to
	}
}

func (m *model) endDelivery(t *rapid.T) {
	if len(m.deliveries) == 0 {
		t.Skip("nothing is sent")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.deliveries))).Draw(t, "delivery")
	d := m.destinations[m.deliveries[id]]
	p := d.queue[0]
	var err error
	d.nextAt = m.clock.Now()
	switch rapid.SampledFrom([]string{"delivered", "delivered", "dead letter", "retry"}).Draw(t, "end") {
	case "delivered":
		var ids []chat.MessageID
		switch target := m.became[p.Edits]; {
		case target != "":
			ids = append(ids, target)
		case rapid.IntRange(0, 4).Draw(t, "ids") > 0:
			ids = append(ids, chat.MessageID(fmt.Sprint(id)), "more")
		}
		err = m.store.Delivered(m.ctx, id, ids)
		if p.Kept && len(ids) > 0 {
			m.became[p.key], m.keptIn[p.key] = ids[0], p.To.Chat
		}
		d.queue = d.queue[1:]
	case "dead letter":
		err = m.store.DeadLetter(m.ctx, id, "refused")
		p.notified = p.session == "" || p.Kept
		m.dead = append(m.dead, p)
		d.queue = d.queue[1:]
	case "retry":
		uncertain := rapid.Bool().Draw(t, "uncertain")
		d.nextAt = m.clock.Now().Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "delay")) * time.Second)
		err = m.store.Retry(m.ctx, id, domain.Retry{At: d.nextAt, Cause: "later", Uncertain: uncertain})
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

// requeue puts dead letters back, or deletes them.
func (m *model) requeue(t *rapid.T) {
	if len(m.dead) == 0 {
		t.Skip("nothing is dead")
	}
	var err error
	slices.SortFunc(m.dead, func(a, b modelItem) int { return cmp.Compare(a.id, b.id) })
	i := rapid.IntRange(0, len(m.dead)-1).Draw(t, "dead")
	p := m.dead[i]
	switch rapid.SampledFrom([]string{"requeue", "requeue all", "forget"}).Draw(t, "do") {
	case "requeue":
		err = m.store.Requeue(m.ctx, p.id)
		m.dead = slices.Delete(m.dead, i, i+1)
		m.enqueue(p)
	case "requeue all":
		_, err = m.store.RequeueAll(m.ctx)
		for _, p := range m.dead {
			m.enqueue(p)
		}
		m.dead = nil
	case "forget":
		err = m.store.Discard(m.ctx, p.id)
		m.dead = slices.Delete(m.dead, i, i+1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// report adds a notice about a session's dead letters to what a run sends, if the run says what died.
func (m *model) report(t *rapid.T, session string, c *domain.Completion) {
	var want, got []string
	says := rapid.IntRange(0, 2).Draw(t, "says what died") > 0
	line := m.drawPiece(t, "b")
	slices.SortFunc(m.dead, func(a, b modelItem) int { return cmp.Compare(a.id, b.id) })
	for i := range m.dead {
		if p := &m.dead[i]; p.session == session && !p.notified {
			want = append(want, p.Text)
			p.notified = says
		}
	}
	dead, err := m.store.Unreported(m.ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dead {
		got = append(got, d.Text)
	}
	if !slices.Equal(want, got) {
		t.Fatalf("session %s gets the dead letters %q, want %q", session, got, want)
	}
	if len(want) == 0 || !says {
		return
	}
	m.post(session, line)
	c.Items = append(c.Items, line)
	for _, d := range dead {
		c.Reported = append(c.Reported, d.ID)
	}
}

// checkItems compares what is dead, what kept items have become, and how far destinations are behind.
func (m *model) checkItems(t *rapid.T) {
	dead, err := m.store.DeadLetters(m.ctx, 0)
	if err != nil || len(dead) != len(m.dead) {
		t.Fatalf("%d pieces are dead, %v; want %d", len(dead), err, len(m.dead))
	}
	for _, d := range dead {
		if !slices.ContainsFunc(m.dead, func(p modelItem) bool { return p.id == d.ID && p.Text == d.Text && p.session == d.Session }) {
			t.Fatalf("%+v is dead; want %+v", d, m.dead)
		}
	}
	for _, id := range []int64{m.lastPiece, m.lastPiece - 1, m.lastPiece - 2} {
		message, _, err := m.store.SentItem(m.ctx, id)
		if want := m.became[id]; message != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, domain.ErrNotFound) {
			t.Fatalf("piece %d has become %q, %v; want %q", id, message, err, want)
		}
	}
}

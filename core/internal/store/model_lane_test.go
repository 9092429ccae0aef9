package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

type laneKey struct {
	session string
	lane    domain.Lane
}

// modelMessage is a message of the model's lanes. Its text is its event, and dots for its length.
type modelMessage struct {
	domain.Inbound
	seq        int64
	receivedAt time.Time
	readyAt    time.Time
	burst      int64  // the seq of the first message of its burst
	joinable   string // who may join its burst
	batch      int64  // the seq of the head of the run that it is a part of, once it was claimed
	claude     int    // which of its session's claude sessions it is for; 0: the one that is its own when it is claimed
	joined     bool
	cleared    bool // while it was joined
	consumed   bool
	said       string
	preview    int64
	receipt    int64
	urgent     int64
	ticket     int64 // what it is called by
}

// shares reports whether the message may share a turn with another.
func (m modelMessage) shares(o modelMessage) bool {
	return m.Message.Authority == o.Message.Authority && m.Message.Overrides == o.Message.Overrides
}

func (m modelMessage) waits() bool { return m.batch == 0 && !m.joined }

type modelLane struct {
	queue   []modelMessage
	lastSeq int64
	wishes  int64     // for messages to come next
	run     int64     // 0: none
	head    int64     // the seq of the run's head
	readyAt time.Time // of a lane that has messages and does not run; else zero
}

// own is the head of the lane's run.
func (l *modelLane) own() *modelMessage {
	return &l.queue[slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.seq == l.head })]
}

// held is how many messages are the run's.
func (l *modelLane) held() int {
	if l.run == 0 {
		return 0
	}
	held := 0
	for _, m := range l.queue {
		if m.joined || m.batch == l.head {
			held++
		}
	}
	return held
}

// remove takes out what is to go and returns it. Nothing shows any more that it waits.
func (m *model) remove(l *modelLane, goes func(modelMessage) bool) (gone []modelMessage) {
	var rest []modelMessage
	for _, o := range l.queue {
		if goes(o) {
			gone = append(gone, o)
		} else {
			rest = append(rest, o)
		}
	}
	l.queue = rest
	for _, o := range gone {
		m.retract(o.receipt)
	}
	return gone
}

// rearm sets when a lane is ready by its head. One that was ready before stays so.
func (l *modelLane) rearm(now time.Time) {
	switch {
	case l.run != 0 || len(l.queue) == 0:
		l.readyAt = time.Time{}
	case l.readyAt.IsZero() || l.readyAt.After(now):
		l.readyAt = later(l.queue[0].readyAt, now)
	default:
		l.readyAt = later(l.queue[0].readyAt, l.readyAt)
	}
}

type modelNote struct {
	kind  domain.NoteKind
	text  string
	count int
	batch int64 // the seq of the head of the run that has it
}

func (m *model) cancel(session string, messages []modelMessage) {
	for _, gone := range messages {
		if gone.Message.Fresh && gone.claude == 0 {
			m.bindWaiting(session, gone.seq)
			m.begin(session)
		}
	}
	for _, gone := range messages {
		m.retract(gone.preview)
		m.events[gone.EventID] = domain.RunCancelled
	}
}

// begin gives a session a new claude session.
func (m *model) begin(session string) {
	m.begun[session]++
	m.current[session] = m.begun[session]
}

// bindWaiting binds what waits before a seq, as another claude session is about to be begun.
func (m *model) bindWaiting(session string, before int64) {
	l := m.lanes[laneKey{session, domain.TurnLane}]
	if l == nil {
		return
	}
	for i := range l.queue {
		o := &l.queue[i]
		if o.claude != 0 || o.seq >= before {
			continue
		}
		if o.Message.Fresh {
			m.begin(session)
		}
		o.claude, o.joinable = m.current[session], ""
	}
}

var modelModes = []domain.Mode{domain.Followup, domain.Queue, domain.Collect, domain.Collect, domain.Steer, domain.Steer, domain.SteerBacklog, domain.Interrupt, ""}

// drawInbound draws an event for the turn lane of a session, or, seldom, one for its control lane.
func (m *model) drawInbound(t *rapid.T) domain.Inbound {
	in := domain.Inbound{
		EventID: chat.EventID(fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "event"))),
		Session: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "session"),
		Lane:    domain.TurnLane,
	}
	seldom := func(name string) bool { return rapid.IntRange(0, 9).Draw(t, name) == 9 }
	seconds := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
	}
	sender := rapid.SampledFrom([]string{"x", "x", "y"}).Draw(t, "sender")
	in.Message = domain.Message{
		Channel: "c", Chat: chat.Chat{ID: chat.ID(in.Session)}, Sender: chat.Sender{ID: chat.UserID(sender)},
		ID: chat.MessageID(in.EventID), Text: string(in.EventID) + strings.Repeat(".", rapid.IntRange(0, 9).Draw(t, "length")),
	}
	if seldom("ready later") {
		in.ReadyAt = m.clock.Now().Add(2 * time.Second)
	}
	if seldom("limited") {
		in.MaxWaiting = 2
	}
	if seldom("control") {
		in.Lane, in.Reset, in.Urgent = domain.ControlLane, rapid.Bool().Draw(t, "reset"), rapid.Bool().Draw(t, "urgent")
		if rapid.Bool().Draw(t, "owner's command") {
			in.Message.Authority = chat.Owner
		}
		return in
	}
	if seldom("stranger") {
		in.Message.Authority = chat.Other
	} else if seldom("owner") {
		in.Message.Authority = chat.Owner
	}
	if seldom("overrides") {
		in.Message.Overrides.Model = "opus"
	}
	in.Message.Fresh = seldom("fresh")
	if seldom("plugin") {
		in.Message.Origin = domain.OriginPlugin
	}
	in.Queue = domain.Queueing{
		Mode:  rapid.SampledFrom(modelModes).Draw(t, "mode"),
		Quiet: seconds("quiet", 2),
		Cap:   rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "cap"),
		Drop:  rapid.SampledFrom([]domain.Drop{domain.DropOld, domain.DropNew, domain.DropSummarize}).Draw(t, "drop"),
	}
	if window := seconds("window", 2); window > 0 {
		in.Burst = domain.Burst{
			Window: window, By: sender, Messages: 4, Bytes: 20, Wait: 2 * time.Second, Now: seldom("now"),
		}
	}
	return in
}

func (m *model) accept(t *rapid.T) {
	in := m.drawInbound(t)
	receipt := rapid.Bool().Draw(t, "receipt")
	in.Reacts = rapid.Bool().Draw(t, "reacts")
	k := laneKey{in.Session, in.Lane}
	l := m.lanes[k]
	if l == nil {
		l = &modelLane{}
	}
	if receipt {
		in.Receipt = func(a domain.Acceptance) domain.OutboxItem {
			return domain.OutboxItem{To: toModel("c"), Text: fmt.Sprint("receipt ", a.Seq, " ", a.Waiting)}
		}
	}
	got, err := m.store.Accept(m.ctx, in)
	if _, seen := m.events[in.EventID]; seen {
		if err != nil || !got.Duplicate {
			t.Fatalf("event %s again: %+v, %v", in.EventID, got, err)
		}
		return
	}
	if in.MaxWaiting > 0 && len(l.queue)-l.held() >= in.MaxWaiting {
		if !errors.Is(err, domain.ErrLaneFull) {
			t.Fatalf("event %s got into a full lane: %+v, %v", in.EventID, got, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.lanes[k] = l
	m.events[in.EventID] = ""
	if m.begun[in.Session] == 0 {
		m.begin(in.Session)
	}
	want := m.wantAcceptance(in, l)
	if in.Reset {
		m.bindWaiting(in.Session, math.MaxInt64)
		m.begin(in.Session)
		if got.Replaced == "" {
			t.Fatalf("event %s has replaced nothing", in.EventID)
		}
		got.Replaced = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("event %s (-want +got):\n%s", in.EventID, diff)
	}
}

// arrives is when a message comes: behind all before it where it is a command, and not before the commands before it.
func (m *model) arrives(lane domain.Lane) time.Time {
	at, behind, came := m.clock.Now(), m.cameCommand, &m.cameMessage
	if lane != domain.TurnLane {
		behind, came = m.cameMessage.Add(time.Millisecond), &m.cameCommand
	}
	if behind.After(at) {
		at = behind
	}
	*came = at
	return at
}

// wantAcceptance puts a message into the model's lane.
func (m *model) wantAcceptance(in domain.Inbound, l *modelLane) domain.Acceptance {
	now := m.clock.Now()
	l.lastSeq++
	seq := l.lastSeq - rank(in)<<40
	msg := modelMessage{Inbound: in, seq: seq, burst: seq, readyAt: later(in.ReadyAt, now), ticket: seq}
	before := len(l.queue)
	var superseded int64

	burst := m.openBurst(l, msg)
	inBurst := func(o modelMessage) bool { return len(burst) > 0 && o.burst == burst[0].burst }
	outranked := slices.ContainsFunc(l.queue, func(o modelMessage) bool { return o.Message.Authority > in.Message.Authority })
	if in.Queue.Mode == domain.Interrupt && !outranked {
		if superseded = l.run; superseded != 0 {
			m.settleNotes(in.Session, l.queue[0].seq, l.queue[0].consumed)
		}
		m.cancel(in.Session, m.remove(l, func(o modelMessage) bool { return !inBurst(o) || !o.waits() }))
		if superseded != 0 {
			m.end(superseded, l)
		}
	}
	if over := l.bursts(burst) - in.Queue.Cap; in.Lane == domain.TurnLane && in.Queue.Cap > 0 && over > 0 {
		if in.Queue.Drop == domain.DropNew && len(burst) == 0 {
			m.cancel(in.Session, []modelMessage{msg})
			if len(l.queue) < before {
				l.rearm(now)
			}
			return domain.Acceptance{Waiting: len(l.queue), Running: l.run != 0, Superseded: superseded}
		}
		gone := map[int64]bool{}
		var texts []string // of each burst that is gone
		dropped := m.remove(l, func(o modelMessage) bool {
			switch {
			case in.Queue.Drop == domain.DropNew || !o.waits() || o.Message.Origin != "" || o.urgent > 0 || inBurst(o):
				return false
			case gone[o.burst]:
			case len(gone) == over:
				return false
			}
			gone[o.burst] = true
			return true
		})
		m.cancel(in.Session, dropped)
		for i, o := range dropped {
			if i > 0 && slices.ContainsFunc(dropped[:i], func(p modelMessage) bool { return p.burst == o.burst }) {
				continue
			}
			var of []string
			for _, p := range dropped {
				if p.burst == o.burst {
					of = append(of, p.Message.Text)
				}
			}
			texts = append(texts, strings.Join(of, "\n"))
		}
		if in.Queue.Drop == domain.DropSummarize {
			for _, text := range texts {
				m.addNote(in.Session, modelNote{kind: domain.NoteOverflow, text: text, count: 1}, in.Queue.Cap)
			}
		}
	}
	msg.receivedAt = m.arrives(in.Lane)
	kept := len(l.queue) == before
	postponed := m.pace(l, &msg, burst, inBurst)
	accepted := domain.Acceptance{Seq: msg.seq, Waiting: len(l.queue), Running: l.run != 0, Superseded: superseded}
	behind := slices.ContainsFunc(l.queue, func(o modelMessage) bool { return len(burst) == 0 || o.burst != burst[0].burst })
	if in.Receipt != nil && in.Lane == domain.TurnLane && behind && (!steers(in) || m.outlasts(l, msg)) {
		p := in.Receipt(accepted)
		p.Kept = true
		msg.receipt = m.post("", p)
	}
	if l.queue = append(l.queue, msg); postponed || !kept || before == 0 || rank(in) > 0 {
		slices.SortStableFunc(l.queue, func(a, b modelMessage) int { return int(rank(b.Inbound) - rank(a.Inbound)) })
		l.rearm(now)
	}
	return accepted
}

// rank is by what commands come before others in their lane.
func rank(in domain.Inbound) int64 {
	switch owner := in.Message.Authority == chat.Owner; {
	case in.Lane == domain.TurnLane:
		return 0
	case in.Urgent && owner:
		return 3
	case in.Urgent:
		return 2
	case owner:
		return 1
	default:
		return 0
	}
}

func steers(in domain.Inbound) bool {
	return in.Queue.Mode == domain.Steer || in.Queue.Mode == domain.SteerBacklog
}

// outlasts reports whether a message is not told to the turn that runs, nor would be if it was told what waits.
func (m *model) outlasts(l *modelLane, msg modelMessage) bool {
	return l.run != 0 && (l.queue[0].Message.Origin != "" || slices.ContainsFunc(append(slices.Clone(l.queue), msg), func(o modelMessage) bool {
		return o.waits() && !m.tells(l, o)
	}))
}

// tells reports whether a waiting message may be told to the turn that runs.
func (m *model) tells(l *modelLane, o modelMessage) bool {
	of := o.claude
	if of == 0 {
		of = m.current[o.Session]
	}
	return l.queue[0].claude == of && steers(o.Inbound) && o.shares(l.queue[0]) && !o.Message.Fresh && o.Message.Origin == ""
}

// openBurst is what a message joins.
func (m *model) openBurst(l *modelLane, msg modelMessage) []modelMessage {
	b, now := msg.Burst, m.clock.Now()
	if b.Window == 0 || msg.Message.Fresh {
		return nil
	}
	var last *modelMessage
	for i := range l.queue {
		if o := &l.queue[i]; o.waits() && o.joinable == b.By {
			last = o
		}
	}
	if last == nil || !last.receivedAt.Add(b.Window).After(now) || !last.shares(msg) {
		return nil
	}
	var burst []modelMessage
	size := len(msg.Message.Text)
	for _, o := range l.queue {
		if o.burst == last.burst {
			burst, size = append(burst, o), size+len(o.Message.Text)
		}
	}
	if len(burst) >= b.Messages || size > b.Bytes || !burst[0].receivedAt.Add(b.Wait).After(now) {
		return nil
	}
	return burst
}

// bursts counts those that wait with a message that joins one of them, or none.
func (l *modelLane) bursts(joins []modelMessage) int {
	waiting := map[int64]bool{}
	for _, o := range l.queue {
		if !o.joined && (l.run == 0 || o.batch == 0) {
			waiting[o.burst] = true
		}
	}
	if len(joins) == 0 {
		return len(waiting) + 1
	}
	return len(waiting)
}

// pace decides when a message may be claimed, and reports whether others may now be claimed at another time than before.
func (m *model) pace(l *modelLane, msg *modelMessage, burst []modelMessage, inBurst func(modelMessage) bool) (postponed bool) {
	now := m.clock.Now()
	if msg.Burst.Window > 0 && !msg.Burst.Now {
		first := now
		if len(burst) > 0 {
			first = burst[0].receivedAt
		}
		msg.joinable = msg.Burst.By
		msg.readyAt = later(msg.readyAt, earlier(now.Add(msg.Burst.Window), first.Add(msg.Burst.Wait)))
	}
	waits := false // for others than its own burst
	switch msg.Queue.Mode {
	case domain.Followup, domain.Collect, "":
		for _, o := range l.queue {
			waits = waits || !inBurst(o)
		}
	}
	quiet := now.Add(msg.Queue.Quiet)
	if waits {
		msg.readyAt = later(msg.readyAt, quiet)
	}
	if len(burst) > 0 {
		msg.burst, postponed = burst[0].burst, true
		for i := range l.queue {
			if o := &l.queue[i]; inBurst(*o) {
				o.readyAt, o.joinable = msg.readyAt, msg.joinable
			}
		}
	}
	if waits && msg.Queue.Mode == domain.Collect && msg.Queue.Quiet > 0 {
		postponed = true
		for i := range l.queue {
			if o := &l.queue[i]; o.Queue.Mode == domain.Collect && o.waits() {
				o.readyAt = later(o.readyAt, earlier(quiet, o.receivedAt.Add(5*msg.Queue.Quiet)))
			}
		}
	}
	return postponed
}

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
		t.Fatalf("got message %q of %v, whose lane is %+v; want one that is ready since %v, of an owner: %v", run.Message.Message.Text, k, l, first, owners)
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
	for _, q := range append([]domain.Queued{run.Message}, run.More...) {
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

func (m *model) note(t *rapid.T) {
	session := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session")
	n := modelNote{kind: rapid.SampledFrom([]domain.NoteKind{domain.NoteEvent, domain.NoteHint}).Draw(t, "kind"), count: 1}
	n.text = fmt.Sprint(m.clock.Now().Unix())
	if err := m.store.Note(m.ctx, session, domain.Note{Kind: n.kind, At: m.clock.Now(), Text: n.text}); err != nil {
		t.Fatal(err)
	}
	m.addNote(session, n, 100)
}

// addNote keeps the newest notes of a kind that no turn has; the oldest of them stands for dropped messages that are gone.
func (m *model) addNote(session string, n modelNote, limit int) {
	notes := append(m.notes[session], n)
	var loose []int
	for i, o := range notes {
		if o.kind == n.kind && o.batch == 0 {
			loose = append(loose, i)
		}
	}
	for len(loose) > limit {
		if n.kind == domain.NoteOverflow {
			notes[loose[1]].count += notes[loose[0]].count
		}
		notes = slices.Delete(notes, loose[0], loose[0]+1)
		for i := range loose {
			loose[i]--
		}
		loose = loose[1:]
	}
	m.notes[session] = notes
}

// takeNotes gives a turn what it has had before, and the rest unless claude has consumed its message.
func (m *model) takeNotes(session string, head modelMessage) (taken []modelNote) {
	for i := range m.notes[session] {
		if n := &m.notes[session][i]; n.batch == head.seq || !head.consumed {
			n.batch = head.seq
			taken = append(taken, *n)
		}
	}
	slices.SortStableFunc(taken, func(a, b modelNote) int { return strings.Compare(string(a.kind), string(b.kind)) })
	return taken
}

// settleNotes forgets what a turn had once claude has read it. Else it is for the next turn.
func (m *model) settleNotes(session string, batch int64, read bool) {
	if read {
		m.notes[session] = slices.DeleteFunc(m.notes[session], func(n modelNote) bool { return n.batch == batch })
	}
	for i := range m.notes[session] {
		if n := &m.notes[session][i]; n.batch == batch {
			n.batch = 0
		}
	}
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
	tell, told := m.undelivered(t, k.session)
	c.Undelivered, c.Items = tell, m.drawPieces(t)
	for _, p := range c.Items {
		m.post(k.session, p)
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
			first = append(first, modelMessage{Inbound: *c.Then, receivedAt: m.arrives(k.lane), readyAt: m.clock.Now()})
			first[0].seq = below(before, 1)
			first[0].burst, first[0].ticket = first[0].seq, first[0].seq
		}
	}
	if err := m.store.Complete(m.ctx, id, c); err != nil {
		t.Fatal(err)
	}
	told()
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

func (m *model) clear(t *rapid.T) {
	k := laneKey{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"), domain.TurnLane}
	l := m.lanes[k]
	if l == nil {
		t.Skip("no such lane")
	}
	before := m.clock.Now().Add(time.Millisecond - time.Duration(rapid.IntRange(0, 3).Draw(t, "before"))*time.Second)
	if rapid.Bool().Draw(t, "by the last command") {
		before = m.cameCommand
	}
	running := l.run != 0 && len(l.queue) > 0
	head := int64(0)
	if running {
		head = l.queue[0].seq
	}
	told := 0
	for i := range l.queue {
		if o := &l.queue[i]; o.joined && !o.cleared && o.receivedAt.Before(before) {
			o.cleared = true
			told++
		}
	}
	gone := m.remove(l, func(o modelMessage) bool {
		return o.receivedAt.Before(before) && !o.joined && !(running && o.batch == head)
	})
	m.cancel(k.session, gone)
	dropped, err := m.store.Clear(m.ctx, k.session, k.lane, before)
	if err != nil || dropped != len(gone)+told {
		t.Fatalf("dropped %d of %d, %v", dropped, len(gone)+told, err)
	}
	if len(gone) > 0 {
		l.rearm(m.clock.Now())
	}
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
	state, _, _, done, err := m.store.Outcome(m.ctx, "c", event)
	if want := m.events[event]; err != nil || state != want || done != (want != "") {
		t.Fatalf("event %s ended as %q, %v, %v; want %q", event, state, done, err, want)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

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

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

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
	if gap := seconds("gap", 2); gap > 0 {
		in.Burst = domain.Burst{
			Gap: gap, Pause: min(gap, seconds("pause", 2)), By: sender, Messages: 4, Bytes: 20, Wait: 2 * time.Second, Now: seldom("now"),
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
	if !got.Behind || !receipt {
		return
	}
	p := domain.OutboxItem{To: toModel("c"), Text: fmt.Sprint("receipt ", got.Seq)}
	if err := m.store.PostReceipt(m.ctx, in.Session, got.Seq, p); err != nil {
		t.Fatal(err)
	}
	p.Kept = true
	of := slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.ticket == got.Seq })
	l.queue[of].receipt = m.post("", p)
}

// arrives is when a message comes: behind all before it where it is a command, and not before the commands before it.
func (m *model) arrives(session string, lane domain.Lane) time.Time {
	at, behind, came := m.clock.Now(), m.cameCommand[session], m.cameMessage
	if lane != domain.TurnLane {
		at, behind, came = at.Add(time.Millisecond), m.cameMessage[session].Add(time.Millisecond), m.cameCommand
	}
	if behind.After(at) {
		at = behind
	}
	came[session] = at
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
			l.queue[0].consumed = false // claude learns of the end of a run by the hint of what interrupts it
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
			return domain.Acceptance{Waiting: len(l.queue), Running: l.run != 0}
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
	msg.receivedAt = m.arrives(in.Session, in.Lane)
	kept := len(l.queue) == before
	postponed := m.pace(l, &msg, burst, inBurst)
	accepted := domain.Acceptance{Seq: msg.seq, Waiting: len(l.queue), Running: l.run != 0}
	behind := slices.ContainsFunc(l.queue, func(o modelMessage) bool { return len(burst) == 0 || o.burst != burst[0].burst })
	accepted.Behind = in.Lane == domain.TurnLane && behind && (!steers(in) || m.outlasts(l, msg))
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

// outlasts reports whether a message is not steered into the turn that runs, nor would be if what waits was.
func (m *model) outlasts(l *modelLane, msg modelMessage) bool {
	return l.run != 0 && (l.queue[0].Message.Origin != "" || slices.ContainsFunc(append(slices.Clone(l.queue), msg), func(o modelMessage) bool {
		return o.waits() && !m.tells(l, o)
	}))
}

// tells reports whether a waiting message may be steered into the turn that runs.
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
	if b.Gap == 0 || msg.Message.Fresh {
		return nil
	}
	var last *modelMessage
	for i := range l.queue {
		if o := &l.queue[i]; o.waits() && o.joinable == b.By {
			last = o
		}
	}
	if last == nil || !last.receivedAt.Add(b.Gap).After(now) || !last.shares(msg) {
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
	if msg.Burst.Pause > 0 && !msg.Burst.Now {
		first := now
		if len(burst) > 0 {
			first = burst[0].receivedAt
		}
		msg.joinable = msg.Burst.By
		msg.readyAt = later(msg.readyAt, earlier(now.Add(msg.Burst.Pause), first.Add(msg.Burst.Wait)))
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

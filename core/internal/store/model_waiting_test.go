package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// below is where n messages are that come before one with this seq; none of them is 0.
func below(seq, n int64) int64 {
	if first := seq - n; first > 0 || seq <= 0 {
		return first
	}
	return -n
}

// advance puts what is urgent before the rest, which begins with a seq, and returns the one that it begins with then.
func (l *modelLane) advance(first int64) int64 {
	isUrgent := func(o modelMessage) bool { return o.urgent > 0 }
	var urgent []modelMessage
	for _, o := range l.queue {
		if isUrgent(o) {
			urgent = append(urgent, o)
		}
	}
	if len(urgent) == 0 {
		l.wishes = 0
		return first
	}
	slices.SortStableFunc(urgent, func(a, b modelMessage) int { return cmp.Compare(b.urgent, a.urgent) })
	first = below(first, int64(len(urgent)))
	for i := range urgent {
		urgent[i].seq = first + int64(i)
	}
	l.queue = append(urgent, slices.DeleteFunc(l.queue, isUrgent)...)
	return first
}

// drawWaiting draws a message of a turn lane, by the number that it goes by; some draws are of none.
func (m *model) drawWaiting(t *rapid.T) (session string, l *modelLane, ticket int64) {
	session = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session")
	if l = m.lanes[laneKey{session, domain.TurnLane}]; l == nil || len(l.queue) == 0 {
		t.Skip("no message")
	}
	i := rapid.IntRange(0, len(l.queue)).Draw(t, "message")
	if i == len(l.queue) {
		return session, l, l.lastSeq + 1
	}
	return session, l, l.queue[i].ticket
}

// holds reports whether a message waits for another try.
func (l *modelLane) holds(o modelMessage) bool {
	return o.batch != 0 && !o.joined && (l.run == 0 || o.batch != l.queue[0].seq)
}

func (m *model) next(t *rapid.T) {
	session, l, ticket := m.drawWaiting(t)
	err := m.store.Next(m.ctx, session, ticket)
	if slices.ContainsFunc(l.queue, func(o modelMessage) bool { return o.ticket == ticket && l.holds(o) }) {
		if !errors.Is(err, domain.ErrHeld) {
			t.Fatalf("message %d of %s, which waits for another try, is next: %v", ticket, session, err)
		}
		return
	}
	i := slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.ticket == ticket && o.waits() })
	if i < 0 {
		if !errors.Is(err, domain.ErrNotFound) {
			t.Fatalf("message %d of %s is next: %v", ticket, session, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	l.wishes++
	burst, now := l.queue[i].burst, m.clock.Now()
	for i := range l.queue {
		if o := &l.queue[i]; o.burst == burst && o.waits() {
			o.urgent, o.readyAt, o.joinable = l.wishes, now, ""
			if o.Queue.Mode == domain.Collect {
				o.Queue.Mode = domain.Queue
			}
		}
	}
	if l.run == 0 && l.queue[0].batch == 0 {
		l.advance(l.queue[0].seq)
		l.rearm(now)
	}
}

// linger has a burst wait longer, or shorter.
func (m *model) linger(t *rapid.T) {
	session, l, _ := m.drawWaiting(t)
	by := rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "by")
	now := m.clock.Now()
	until := now.Add(time.Duration(rapid.IntRange(-1, 3).Draw(t, "until")) * time.Second)
	if err := m.store.Linger(m.ctx, session, by, until); err != nil {
		t.Fatal(err)
	}
	var burst int64
	for _, o := range l.queue {
		if o.waits() && by != "" && o.joinable == by && o.readyAt.After(now) && l.run == 0 {
			burst = o.burst
		}
	}
	if burst == 0 {
		return
	}
	for i := range l.queue {
		if o := &l.queue[i]; o.burst == burst && o.waits() {
			o.readyAt = later(now, until)
		}
	}
	l.rearm(now)
}

func (m *model) withdraw(t *rapid.T) {
	session, l, ticket := m.drawWaiting(t)
	var standing domain.Standing
	goes := func(o modelMessage) bool { return o.ticket == ticket }
	i := slices.IndexFunc(l.queue, goes)
	if i >= 0 {
		standing = l.queue[i].standing()
	}
	if i >= 0 && rapid.Bool().Draw(t, "by its message") && l.queue[i].Message.ID != "" {
		var unread int64
		if standing, unread = m.unread(t, l, l.queue[i]); unread == l.run && standing == domain.StandingSteered {
			standing = domain.StandingWaiting
		}
		got, err := m.store.WithdrawMessage(m.ctx, "c", chat.ID(session), l.queue[i].Message.ID, unread)
		if err != nil || got != standing {
			t.Fatalf("message %d of %s stands %q, %v; want %q", ticket, session, got, err, standing)
		}
	} else if i >= 0 && l.holds(l.queue[i]) {
		if err := m.store.Withdraw(m.ctx, session, ticket, nil); err != nil {
			t.Fatalf("message %d of %s, which waits for another try, is withdrawn: %v", ticket, session, err)
		}
		batch := l.queue[i].batch
		standing, goes = domain.StandingWaiting, func(o modelMessage) bool { return o.batch == batch && !o.joined }
	} else if err := m.store.Withdraw(m.ctx, session, ticket, nil); errors.Is(err, domain.ErrNotFound) != (standing != domain.StandingWaiting) || err != nil && !errors.Is(err, domain.ErrNotFound) {
		t.Fatalf("message %d of %s, which stands %q, is withdrawn: %v", ticket, session, standing, err)
	}
	if standing != domain.StandingWaiting {
		return
	}
	m.cancel(session, m.remove(l, goes))
	l.rearm(m.clock.Now())
}

func (m modelMessage) standing() domain.Standing {
	switch {
	case m.joined && m.cleared:
		return domain.StandingNone
	case m.joined:
		return domain.StandingSteered
	case m.waits():
		return domain.StandingWaiting
	default:
		return domain.StandingRunning
	}
}

// unread draws which run has not read a message that was steered into one.
func (m *model) unread(t *rapid.T, l *modelLane, o modelMessage) (domain.Standing, int64) {
	found, err := m.store.Find(m.ctx, "c", chat.ID(o.Session), o.Message.ID)
	if standing := o.standing(); err != nil || found.Standing != standing {
		t.Fatalf("message %d of %s is found %+v, %v; want %q", o.ticket, o.Session, found, err, standing)
	}
	if found.Standing == domain.StandingSteered && (found.Run != l.run || found.UUID != o.uuid()) {
		t.Fatalf("message %d of %s was told to run %d as %s, want %d and %s", o.ticket, o.Session, found.Run, found.UUID, l.run, o.uuid())
	}
	return found.Standing, rapid.SampledFrom([]int64{0, l.run, l.run - 1}).Draw(t, "unread")
}

func (m modelMessage) uuid() string {
	return domain.MessageUUID("c", cmp.Or(m.Message.Edition, m.EventID))
}

func (m *model) amend(t *rapid.T) {
	session, l, ticket := m.drawWaiting(t)
	i := slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.ticket == ticket })
	if i < 0 || l.queue[i].Message.ID == "" {
		t.Skip("no message of the network")
	}
	o := &l.queue[i]
	want, unread := m.unread(t, l, *o)
	edited := o.Message
	edited.Text += "!"
	if want == domain.StandingSteered && unread == l.run {
		want, o.joined = domain.StandingWaiting, false
		m.editions++
		edited.Edition = chat.EventID(fmt.Sprint("edit-", m.editions))
	}
	if want == domain.StandingWaiting {
		o.Message = edited
		if edited.Fresh || edited.Origin != "" {
			o.joinable = ""
		}
	}
	got, err := m.store.Amend(m.ctx, edited, nil, unread)
	if err != nil || got != want {
		t.Fatalf("message %d of %s stands %q, %v; want %q", ticket, session, got, err, want)
	}
}

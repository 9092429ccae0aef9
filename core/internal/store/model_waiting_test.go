package store_test

import (
	"cmp"
	"errors"
	"slices"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"pgregory.net/rapid"
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
	renamed := map[int64]int64{} // bursts
	for i := range urgent {
		o := &urgent[i]
		o.seq = first + int64(i)
		if _, known := renamed[o.burst]; !known {
			renamed[o.burst] = o.seq
		}
		o.burst = renamed[o.burst]
	}
	l.queue = append(urgent, slices.DeleteFunc(l.queue, isUrgent)...)
	return first
}

// drawWaiting draws a message of a turn lane, by the number that it goes by; some draws are of none.
func (m *model) drawWaiting(t *rapid.T) (session string, l *modelLane, ticket int64) {
	session = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session")
	if l = m.lanes[laneKey{session, store.TurnLane}]; l == nil || len(l.queue) == 0 {
		t.Skip("no message")
	}
	i := rapid.IntRange(0, len(l.queue)).Draw(t, "message")
	if i == len(l.queue) {
		return session, l, l.lastSeq + 1
	}
	return session, l, l.queue[i].ticket
}

func (m *model) next(t *rapid.T) {
	session, l, ticket := m.drawWaiting(t)
	err := m.store.Next(m.ctx, session, ticket)
	i := slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.ticket == ticket && o.waits() })
	if i < 0 {
		if !errors.Is(err, store.ErrNotFound) {
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
			if o.Queue.Mode == store.Collect {
				o.Queue.Mode = store.Queue
			}
		}
	}
	if l.run == 0 && l.queue[0].batch == 0 {
		l.advance(l.queue[0].seq)
		l.rearm(now)
	}
}

func (m *model) withdraw(t *rapid.T) {
	session, l, ticket := m.drawWaiting(t)
	var standing store.Standing
	i := slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.ticket == ticket })
	if i >= 0 {
		standing = store.StandingRunning
		if l.queue[i].waits() {
			standing = store.StandingWaiting
		} else if l.queue[i].joined {
			standing = store.StandingTold
		}
	}
	if i >= 0 && rapid.Bool().Draw(t, "by its message") && l.queue[i].Message.ID != "" {
		got, err := m.store.WithdrawMessage(m.ctx, "c", chat.ID(session), l.queue[i].Message.ID)
		if err != nil || got != standing {
			t.Fatalf("message %d of %s stands %q, %v; want %q", ticket, session, got, err, standing)
		}
	} else if err := m.store.Withdraw(m.ctx, session, ticket, whatever); errors.Is(err, store.ErrNotFound) != (standing != store.StandingWaiting) || err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("message %d of %s, which stands %q, is withdrawn: %v", ticket, session, standing, err)
	}
	if standing != store.StandingWaiting {
		return
	}
	m.cancel(session, m.remove(l, func(o modelMessage) bool { return o.ticket == ticket }))
	l.rearm(m.clock.Now())
}

func (m *model) amend(t *rapid.T) {
	session, l, ticket := m.drawWaiting(t)
	i := slices.IndexFunc(l.queue, func(o modelMessage) bool { return o.ticket == ticket })
	if i < 0 || l.queue[i].Message.ID == "" {
		t.Skip("no message of the network")
	}
	o := &l.queue[i]
	want, edited := store.StandingRunning, o.Message
	edited.Text += "!"
	if o.joined {
		want = store.StandingTold
	} else if o.waits() {
		want, o.Message = store.StandingWaiting, edited
		if edited.Fresh || edited.Origin != "" {
			o.joinable = ""
		}
	}
	got, err := m.store.Amend(m.ctx, edited, nil)
	if err != nil || got != want {
		t.Fatalf("message %d of %s stands %q, %v; want %q", ticket, session, got, err, want)
	}
}

package store_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
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
		if gone.consumed && gone.Lane == domain.TurnLane {
			m.addNote(session, modelNote{kind: domain.NoteHint, text: domain.HintWithdrawn, count: 1}, 100)
		}
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

func (m *model) clear(t *rapid.T) {
	k := laneKey{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"), domain.TurnLane}
	l := m.lanes[k]
	if l == nil {
		t.Skip("no such lane")
	}
	before := m.clock.Now().Add(time.Millisecond - time.Duration(rapid.IntRange(0, 3).Draw(t, "before"))*time.Second)
	if rapid.Bool().Draw(t, "by the last command") {
		before = m.cameCommand[k.session]
	}
	running := l.run != 0 && len(l.queue) > 0
	head := int64(0)
	if running {
		head = l.queue[0].seq
	}
	steered := 0
	for i := range l.queue {
		if o := &l.queue[i]; o.joined && !o.cleared && o.receivedAt.Before(before) {
			o.cleared = true
			steered++
		}
	}
	gone := m.remove(l, func(o modelMessage) bool {
		return o.receivedAt.Before(before) && !o.joined && !(running && o.batch == head)
	})
	m.cancel(k.session, gone)
	dropped, err := m.store.Clear(m.ctx, k.session, k.lane, before)
	if err != nil || dropped != len(gone)+steered {
		t.Fatalf("dropped %d of %d, %v", dropped, len(gone)+steered, err)
	}
	if len(gone) > 0 {
		l.rearm(m.clock.Now())
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

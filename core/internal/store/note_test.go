package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func newNote(kind domain.NoteKind, text string) domain.Note {
	return domain.Note{Kind: kind, At: start, Sender: "bert", Text: text, Count: 1}
}

func (b *bundle) note(t *testing.T, session string, notes ...domain.Note) {
	t.Helper()
	if err := b.Note(b.ctx, session, notes...); err != nil {
		t.Fatal(err)
	}
}

// noteTexts are the texts of a run's notes.
func noteTexts(run *domain.Run) (texts []string) {
	for _, n := range run.Notes {
		texts = append(texts, n.Text)
	}
	return texts
}

// Behaviour: prompt-events, prompt-notes.
func TestNotesGoToTheNextTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := []domain.Note{newNote(domain.NoteHistory, "hello"), newNote(domain.NoteEvent, "joined"), newNote(domain.NoteEvent, "left")}
	b.note(t, "telegram:anna", first...) // before there is a session
	b.note(t, "telegram:bert", newNote(domain.NoteEvent, "another's"))
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("anna", 2))
	run := b.claim(t)
	want := []domain.Note{first[1], first[2], first[0]} // by kind, then in order
	if diff := cmp.Diff(want, run.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}

	// Each attempt has what the one before had, and what came meanwhile, as claude has not read it yet.
	b.note(t, "telegram:anna", newNote(domain.NoteEvent, "pinned"))
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	run = b.claim(t)
	if diff := cmp.Diff([]string{"joined", "left", "pinned", "hello"}, noteTexts(run)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	// What it has consumed it does not get again, so the next turn has what comes now.
	if err := b.Consumed(b.ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	b.note(t, "telegram:anna", newNote(domain.NoteEvent, "renamed"))
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	run = b.claim(t)
	if diff := cmp.Diff([]string{"joined", "left", "pinned", "hello"}, noteTexts(run)); diff != "" {
		t.Errorf("reclaimed (-want +got):\n%s", diff)
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunCancelled, Notes: []domain.Note{newNote(domain.NoteHint, "stopped")}}); err != nil {
		t.Fatal(err)
	}
	run = b.claim(t)
	if diff := cmp.Diff([]string{"renamed", "stopped"}, noteTexts(run)); diff != "" {
		t.Errorf("the next turn (-want +got):\n%s", diff)
	}
	b.complete(t, run)
	b.accept(t, inbound("anna", 3))
	if run := b.claim(t); len(run.Notes) != 0 {
		t.Errorf("given twice: %+v", run.Notes)
	}
}

// What a turn would have given Claude is for the next one, where the turn ends before Claude has read it; and it is no more
// than before.
// Behaviour: prompt-notes.
func TestNotesOfATurnThatClaudeNeverRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state    domain.RunState
		consumed bool
		want     []string
	}{
		"failed":          {domain.RunFailed, false, []string{"pinned", "stopped", "hello"}},
		"cancelled":       {domain.RunCancelled, false, []string{"pinned", "stopped", "hello"}},
		"failed later":    {domain.RunFailed, true, []string{"stopped"}},
		"cancelled later": {domain.RunCancelled, true, []string{"stopped"}},
		"done":            {domain.RunDone, false, []string{"stopped"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.note(t, "telegram:anna", newNote(domain.NoteHistory, "hello"), newNote(domain.NoteEvent, "pinned"))
			b.accept(t, inbound("anna", 1))
			run := b.claim(t)
			if test.consumed {
				if err := b.Consumed(b.ctx, run.ID); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Complete(b.ctx, run.ID, domain.Completion{State: test.state, Notes: []domain.Note{newNote(domain.NoteHint, "stopped")}}); err != nil {
				t.Fatal(err)
			}
			b.accept(t, inbound("anna", 2))
			run = b.claim(t)
			if diff := cmp.Diff(test.want, noteTexts(run)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	b := setup(t)
	for n := range 3 {
		for i := range 60 {
			b.note(t, "telegram:anna", newNote(domain.NoteEvent, fmt.Sprint(n, i)))
		}
		b.accept(t, inbound("anna", n))
		run := b.claim(t)
		if len(run.Notes) > 100 {
			t.Errorf("turn %d has %d notes", n, len(run.Notes))
		}
		if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunFailed}); err != nil {
			t.Fatal(err)
		}
	}
}

// The chat learns of each dropped message once, in whichever attempt and turn, also where one note has come to stand for
// several.
// Behaviour: queue-cap-told.
func TestTheChatLearnsOfEachDroppedMessageOnce(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	drop := func(n int) {
		t.Helper()
		b.accept(t, queued(n, domain.Queueing{Cap: 1, Drop: domain.DropSummarize}))
	}
	again := func() {
		t.Helper()
		if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
			t.Fatal(err)
		}
		run = b.claim(t)
	}
	fail := func() { // unread
		t.Helper()
		if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunFailed}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(dropped int) {
		t.Helper()
		if run.Dropped != dropped {
			t.Errorf("the chat is to be told of %d dropped messages, want %d", run.Dropped, dropped)
		}
	}
	tell := func() {
		t.Helper()
		if err := b.NotifyDropped(b.ctx, run.ID, domain.OutboxItem{To: inbound("anna", 1).Message.Address(), Text: "dropped"}); err != nil {
			t.Fatal(err)
		}
	}
	want(0)
	for n := 2; n <= 4; n++ {
		drop(n)
	}
	again()
	want(2)
	again()
	want(2)
	tell()
	again()
	want(0)
	fail()
	run = b.claim(t)
	want(0)
	b.accept(t, queued(5, domain.Queueing{}))
	fail()
	drop(6) // 5, whose note stands for those before
	run = b.claim(t)
	if len(run.Notes) != 1 || run.Notes[0].Count != 3 {
		t.Errorf("the notes are %+v, want one of three messages", run.Notes)
	}
	want(1)
	tell()
	stale := run
	again()
	want(0)
	if err := b.NotifyDropped(b.ctx, stale.ID, domain.OutboxItem{To: inbound("anna", 1).Message.Address(), Text: "dropped"}); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("a run that has lost its lane tells: %v", err)
	}
}

// The host's own turns get no notes and use none up. Turns of plugins get them.
func TestNotesByOriginOfTheTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.note(t, "telegram:anna", newNote(domain.NoteHistory, "hello"))
	for n, origin := range []domain.Origin{domain.OriginFlush, domain.OriginHeartbeat, domain.OriginCompact, domain.OriginPlugin} {
		in := inbound("anna", n)
		in.Message.Origin = origin
		b.accept(t, in)
		run := b.claim(t)
		if got, want := len(run.Notes), map[domain.Origin]int{domain.OriginPlugin: 1}[origin]; got != want {
			t.Errorf("a turn of %s has %d notes, want %d", origin, got, want)
		}
		b.complete(t, run)
	}
	b.note(t, "telegram:anna", newNote(domain.NoteHistory, "hello"))
	command := inbound("anna", 9)
	command.Lane = domain.ControlLane
	b.accept(t, command)
	run, _, err := b.ClaimNow(b.ctx, domain.ControlLane)
	if err != nil || len(run.Notes) != 0 {
		t.Errorf("a command has notes %+v, %v", run.Notes, err)
	}
	b.complete(t, run)
	b.accept(t, inbound("anna", 10))
	if run := b.claim(t); len(run.Notes) != 1 {
		t.Errorf("notes %+v", run.Notes)
	}
}

// The notes of a message that is dropped before it ran again go to the next turn.
// Behaviour: prompt-notes.
func TestNotesOfADroppedMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.note(t, "telegram:anna", newNote(domain.NoteHistory, "hello"))
	b.accept(t, inbound("anna", 1))
	if err := b.Release(b.ctx, b.claim(t).ID, start.Add(time.Minute), ""); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Clear(b.ctx, "telegram:anna", domain.TurnLane, start.Add(time.Second)); n != 1 || err != nil {
		t.Fatalf("dropped %d, %v", n, err)
	}
	beat := inbound("anna", 2)
	beat.Message.Origin = domain.OriginHeartbeat
	b.accept(t, beat)
	b.complete(t, b.claim(t))
	b.accept(t, inbound("anna", 3))
	if diff := cmp.Diff([]string{"hello"}, noteTexts(b.claim(t))); diff != "" {
		t.Error(diff)
	}
}

// Behaviour: prompt-notes.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := newNote(domain.NoteHint, strings.Repeat("ä", 5000)) // 10,000 bytes
	var many []domain.Note
	for n := range 120 {
		many = append(many, newNote(domain.NoteEvent, fmt.Sprint(n)))
	}
	b.note(t, "telegram:anna", append(many, long)...)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if len(run.Notes) != 101 || run.Notes[0].Text != "20" || run.Notes[0].Count != 1 {
		t.Errorf("%d notes, the first %+v", len(run.Notes), run.Notes[0])
	}
	if text := run.Notes[100].Text; len(text) != 8<<10 || !utf8.ValidString(text) || !strings.HasPrefix(long.Text, text) {
		t.Errorf("the long one has %d bytes", len(text))
	}
	odd := newNote(domain.NoteHint, "x"+long.Text)
	b.complete(t, run)
	b.note(t, "telegram:anna", odd)
	b.accept(t, inbound("anna", 2))
	if text := b.claim(t).Notes[0].Text; len(text) != 8<<10-1 || !strings.HasPrefix(odd.Text, text) {
		t.Errorf("cut within a character: %d bytes", len(text))
	}
}

// passive is the nth message of a group that is not addressed to the agent.
func passive(group string, n int) domain.Passive {
	text := fmt.Sprintf("%s says %d", group, n)
	return domain.Passive{
		EventID: chat.EventID(fmt.Sprintf("%s-%d", group, n)), Channel: "telegram", Session: "telegram:" + group,
		Note: &domain.Note{Kind: domain.NoteHistory, At: start, Sender: "bert", Text: text}, Limit: 3,
		Transcript: []chat.TranscriptEntry{{Role: chat.User, Text: text, At: start}},
	}
}

func (b *bundle) recordPassive(t *testing.T, o domain.Passive) (duplicate bool) {
	t.Helper()
	duplicate, err := b.RecordPassive(b.ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return duplicate
}

// Behaviour: group-history.
func TestRecordPassive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := 1; n <= 5; n++ {
		if b.recordPassive(t, passive("group", n)) {
			t.Errorf("message %d is a duplicate", n)
		}
	}
	if !poked(b.TranscriptAppended()) {
		t.Error("followers are not notified")
	}
	b.reopen(t)
	if !b.recordPassive(t, passive("group", 2)) {
		t.Error("kept twice")
	}
	if a := b.accept(t, inbound("group", 3)); !a.Duplicate {
		t.Errorf("accepted after it was kept: %+v", a)
	}
	if _, err := b.Session(b.ctx, "telegram:group"); err == nil {
		t.Error("there is a session that no one has spoken to")
	}
	silent := passive("group", 6) // recorded, not given
	silent.Note = nil
	b.recordPassive(t, silent)
	none := passive("group", 7)
	none.Limit, none.Transcript = 0, nil
	b.recordPassive(t, none)
	b.accept(t, inbound("group", 8))
	if !b.recordPassive(t, passive("group", 8)) {
		t.Error("kept after it was accepted")
	}
	run := b.claim(t)
	want := []domain.Note{
		newNote(domain.NoteHistory, "group says 3"), newNote(domain.NoteHistory, "group says 4"), newNote(domain.NoteHistory, "group says 5"),
	}
	if diff := cmp.Diff(want, run.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	entries, err := b.Transcript(b.ctx, "telegram:group", 0, 0)
	if err != nil || len(entries) != 6 {
		t.Errorf("transcript %+v, %v", entries, err)
	}
	for name, change := range map[string]func(*domain.Passive){
		"no event":   func(o *domain.Passive) { o.EventID = "" },
		"long event": func(o *domain.Passive) { o.EventID = chat.EventID(strings.Repeat("x", chat.MaxEventID+1)) },
		"no channel": func(o *domain.Passive) { o.Channel = "" },
		"no session": func(o *domain.Passive) { o.Session = "" },
	} {
		o := passive("group", 9)
		change(&o)
		if _, err := b.RecordPassive(b.ctx, o); err == nil {
			t.Errorf("%s: kept", name)
		}
	}
}

// Of more than a thousand groups those are forgotten that were silent for the longest, but not their events.
// Behaviour: group-history.
func TestHistoriesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.recordPassive(t, passive("first", 1))
	b.recordPassive(t, passive("second", 1))
	b.note(t, "telegram:second", newNote(domain.NoteEvent, "pinned"))
	b.clock.Advance(time.Second)
	for n := range 998 { // all in one instant
		b.recordPassive(t, passive(fmt.Sprintf("group%d", n), 1))
	}
	b.clock.Advance(time.Second)
	b.recordPassive(t, passive("first", 2))
	b.recordPassive(t, passive("last", 1))
	b.recordPassive(t, passive("last", 2))
	for group, want := range map[string][]string{
		"first":  {"first says 1", "first says 2"},
		"second": {"pinned"},
		"last":   {"last says 1", "last says 2"},
	} {
		b.accept(t, inbound(group, 9))
		if diff := cmp.Diff(want, noteTexts(b.claim(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", group, diff)
		}
	}
	var histories int
	if err := raw(t, b.path).QueryRow(`SELECT COUNT(*) FROM histories`).Scan(&histories); err != nil || histories != 1000 {
		t.Errorf("%d histories, %v", histories, err)
	}
	if !b.recordPassive(t, passive("second", 1)) {
		t.Error("a forgotten message is kept once more")
	}
}

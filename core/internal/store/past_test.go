package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What a run is given later it has in each attempt, as what it was claimed with, and the agent may name the messages then.
// Behaviour: group-past, prompt-notes.
func TestNotesOfTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.note(t, "telegram:anna", newNote(domain.NoteHistory, "five"))
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	past := newNote(domain.NoteHistory, "four")
	past.MessageID = "m4"
	if err := b.NotePast(b.ctx, run.ID, []domain.Note{past}); err != nil {
		t.Fatal(err)
	}
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if err := b.NotePast(b.ctx, run.ID, []domain.Note{past}); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("a run that has lost its lane is given notes: %v", err)
	}
	again := b.claim(t)
	if diff := cmp.Diff([]string{"five", "four"}, noteTexts(again)); diff != "" {
		t.Errorf("the next attempt (-want +got):\n%s", diff)
	}
	if err := b.Consumed(b.ctx, again.ID); err != nil {
		t.Fatal(err)
	}
	b.complete(t, again)
	if ids, err := b.MessageIDs(b.ctx, "telegram:anna"); err != nil || !slices.Contains(ids, chat.MessageID("m4")) {
		t.Errorf("the agent may name %v, %v", ids, err)
	}
	b.accept(t, inbound("anna", 2))
	if run := b.claim(t); len(run.Notes) != 0 {
		t.Errorf("given twice: %+v", run.Notes)
	}
}

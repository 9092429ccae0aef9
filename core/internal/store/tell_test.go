package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
)

// What the agent has sent to its own chat by a tool is posted once and known to the run's next attempts, and to nobody else.
func TestWhatWasToldOutlivesAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("anna", 2))
	run := b.claim(t)
	one, two := store.Told{Text: "one"}, store.Told{Text: "two", Files: []string{"a 1"}}
	file := store.OutgoingFile{Folder: "outbound/x", Name: "a", Version: "1", Sent: true}
	for _, m := range []store.Telling{
		{Key: "k1", Told: &one, Pieces: []store.Piece{piece("anna", "one")}},
		{Key: "k2", Told: &two, Pieces: []store.Piece{piece("anna", "two")}, Files: []store.OutgoingFile{file}},
		{Key: "k1", Told: &one, Pieces: []store.Piece{piece("anna", "one")}},
		{Key: "k3", Pieces: []store.Piece{piece("bob", "elsewhere")}},
	} {
		if err := b.Tell(b.ctx, run.ID, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []store.Telling{{Key: "k"}, {Pieces: []store.Piece{piece("anna", "x")}}, {Key: "k", Pieces: []store.Piece{{}}}} {
		if err := b.Tell(b.ctx, run.ID, bad); err == nil {
			t.Errorf("%+v was posted", bad)
		}
	}
	files, err := b.OutgoingFiles(b.ctx, file.Folder)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "dealt with", []store.OutgoingFile{file}, files)
	if err := b.Release(b.ctx, run.ID, time.Time{}, "away"); err != nil {
		t.Fatal(err)
	}
	lost := run.ID
	run = b.claim(t)
	want(t, "told", []store.Told{one, two}, run.Told)
	if err := b.Tell(b.ctx, lost, store.Telling{Key: "late", Pieces: []store.Piece{piece("anna", "late")}}); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a run that is over tells: %v", err)
	}
	b.complete(t, run)
	want(t, "posted", []string{"one", "elsewhere", "two"}, b.texts(t))
	if run = b.claim(t); run.Told != nil {
		t.Errorf("another run has told %+v", run.Told)
	}
}

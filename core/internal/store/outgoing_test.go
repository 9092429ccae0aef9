package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// What an answer has dealt with is known exactly if the answer is durable, until it is forgotten.
// Behaviour: files-out-once.
func TestOutgoingFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	known := func(folder string, want ...domain.OutgoingFile) {
		t.Helper()
		got, err := b.OutgoingFiles(b.ctx, "main", folder)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("known in %q: %v (-want +got):\n%s", folder, err, diff)
		}
	}
	a := domain.OutgoingFile{Agent: "main", Folder: "outbound/1", Name: "a.txt", Version: "1", Sent: true}
	odd := domain.OutgoingFile{Agent: "main", Folder: "outbound/1", Name: "\xff'\n", Version: "2"}
	other := domain.OutgoingFile{Agent: "main", Folder: "outbound/2", Name: "a.txt", Version: "3", Sent: true}
	newer := a
	newer.Version, newer.Sent = "4", false

	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Files: []domain.OutgoingFile{odd, a, other}}); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	known("outbound/1", a, odd)
	known("outbound/3")
	known("", a, odd, other)

	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Files: []domain.OutgoingFile{newer}}); !errors.Is(err, domain.ErrFenced) {
		t.Fatal(err)
	}
	known("outbound/1", a, odd)
	b.accept(t, inbound("anna", 2))
	if err := b.Complete(b.ctx, b.claim(t).ID, domain.Completion{State: domain.RunDone, Files: []domain.OutgoingFile{newer}}); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteOutgoing(b.ctx, a, odd); err != nil {
		t.Fatal(err)
	}
	known("", newer, other)
	if err := b.DeleteOutgoing(b.ctx); err != nil {
		t.Fatal(err)
	}
}

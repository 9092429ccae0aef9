package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// What the agent has sent to its own chat by a tool is posted once and known to the run's next attempts, and to no other run.
// Behaviour: message-tool-once.
func TestSentByToolOutlivesAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("anna", 2))
	run := b.claim(t)
	one, two := domain.SentByTool{Text: "one"}, domain.SentByTool{Text: "two", Files: []string{"a 1"}}
	file := domain.OutgoingFile{Agent: "main", Folder: "outbound/x", Name: "a", Version: "1", Sent: true}
	for _, m := range []domain.ToolPost{
		{Key: key("k1"), Sent: &one, Items: []domain.OutboxItem{item("anna", "one")}},
		{Key: key("k2"), Sent: &two, Items: []domain.OutboxItem{item("anna", "two")}, Files: []domain.OutgoingFile{file}},
		{Key: key("k1"), Sent: &one, Items: []domain.OutboxItem{item("anna", "one")}},
		{Key: key("k3"), Items: []domain.OutboxItem{item("bob", "elsewhere")}},
	} {
		if _, err := b.PostByTool(b.ctx, run.ID, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []domain.ToolPost{{Key: key("k")}, {Items: []domain.OutboxItem{item("anna", "x")}}, {Key: key("k"), Items: []domain.OutboxItem{{}}}} {
		if _, err := b.PostByTool(b.ctx, run.ID, bad); err == nil {
			t.Errorf("%+v was posted", bad)
		}
	}
	files, err := b.OutgoingFiles(b.ctx, file.Agent, file.Folder)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "dealt with", []domain.OutgoingFile{file}, files)
	if err := b.Release(b.ctx, run.ID, time.Time{}, "away"); err != nil {
		t.Fatal(err)
	}
	lost := run.ID
	run = b.claim(t)
	want(t, "told", []domain.SentByTool{one, two}, run.Sent)
	if _, err := b.PostByTool(b.ctx, lost, domain.ToolPost{Key: key("late"), Items: []domain.OutboxItem{item("anna", "late")}}); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("a run that is over tells: %v", err)
	}
	b.complete(t, run)
	want(t, "posted", []string{"one", "elsewhere", "two"}, b.texts(t))
	if run = b.claim(t); run.Sent != nil {
		t.Errorf("another run has told %+v", run.Sent)
	}
}

package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func (b *bundle) early(t *testing.T, run *domain.Run, e domain.Early) int64 {
	t.Helper()
	preview, err := b.Early(b.ctx, run.ID, e)
	if err != nil {
		t.Fatal(err)
	}
	return preview
}

// texts delivers what is due for a chat until nothing is, and returns the texts; those that edit begin with the message that
// they edit.
func (b *bundle) texts(t *testing.T) (texts []string) {
	t.Helper()
	for {
		ds := b.deliveries(t, "telegram")
		if len(ds) == 0 {
			return texts
		}
		for _, d := range ds {
			text, ids := d.Item.Text, []chat.MessageID{chat.MessageID("m-" + d.Item.Text)}
			if d.Item.Edits != 0 {
				text, ids = string(d.Target)+"="+d.Item.Text, []chat.MessageID{d.Target}
			}
			texts = append(texts, text)
			if err := b.Delivered(b.ctx, d.ID, ids); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func want(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Behaviour: answer-once.
func TestEarlyItemsAreSentBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	preview := item("anna", "and")
	if id := b.early(t, run, domain.Early{Items: []domain.OutboxItem{item("anna", "one"), item("anna", "two")}, Said: "one two"}); id != 0 {
		t.Errorf("preview %d", id)
	}
	first := b.early(t, run, domain.Early{Said: "one two", Preview: &preview})
	if again := b.early(t, run, domain.Early{Said: "one two"}); first == 0 || again != first {
		t.Errorf("preview %d, then %d", first, again)
	}
	want(t, "sent early", []string{"one", "two", "and"}, b.texts(t))
	final := item("anna", "and three")
	final.Edits, final.OrSend = first, true
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{final, item("anna", "four")}}); err != nil {
		t.Fatal(err)
	}
	want(t, "then", []string{"m-and=and three", "four"}, b.texts(t))
	if _, err := b.Early(b.ctx, run.ID, domain.Early{Items: []domain.OutboxItem{item("anna", "five")}}); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("early after the end: %v", err)
	}
	want(t, "after the end", []string(nil), b.texts(t))
}

// What an attempt has sent is known to the next ones, and to no others.
// Behaviour: answer-once.
func TestWhatWasSaidOutlivesAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("anna", 2))
	run := b.claim(t)
	if run.Said != "" || run.Preview != 0 {
		t.Errorf("a new run has said %q, %d", run.Said, run.Preview)
	}
	preview := item("anna", "p")
	id := b.early(t, run, domain.Early{Said: "one", Preview: &preview})
	if err := b.Release(b.ctx, run.ID, time.Time{}, "away"); err != nil {
		t.Fatal(err)
	}
	if run = b.claim(t); run.Said != "one" || run.Preview != id {
		t.Errorf("after a release: %q, %d", run.Said, run.Preview)
	}
	b.early(t, run, domain.Early{Said: "one two"})
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	if run = b.claim(t); run.Said != "one two" || run.Preview != id {
		t.Errorf("after a crash: %q, %d", run.Said, run.Preview)
	}
	if id := b.early(t, run, domain.Early{Said: "one two three", Unpreview: true}); id != 0 {
		t.Errorf("preview %d is gone", id)
	}
	if err := b.Release(b.ctx, run.ID, time.Time{}, "away"); err != nil {
		t.Fatal(err)
	}
	if run = b.claim(t); run.Said != "one two three" || run.Preview != 0 {
		t.Errorf("without a preview: %q, %d", run.Said, run.Preview)
	}
	b.complete(t, run)
	if run = b.claim(t); run.Said != "" || run.Preview != 0 {
		t.Errorf("the next run has said %q, %d", run.Said, run.Preview)
	}
}

// Files that were sent early are known to the run's next attempts, and those of the outgoing folder as dealt with, with the item
// or not at all.
// Behaviour: files-block.
func TestFilesThatWereSentEarlyAreKnown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	file := domain.OutgoingFile{Agent: "main", Folder: "f", Name: "a", Version: "1", Sent: true}
	e := domain.Early{Items: []domain.OutboxItem{item("anna", "one")}, Sent: &domain.SentByTool{Files: []string{"f/a 1"}}, Files: []domain.OutgoingFile{file}}
	b.early(t, run, e)
	b.early(t, run, domain.Early{Items: []domain.OutboxItem{item("anna", "two")}, Sent: &domain.SentByTool{Files: []string{"b 1"}}})
	if err := b.Release(b.ctx, run.ID, time.Time{}, "away"); err != nil {
		t.Fatal(err)
	}
	before := run.ID
	run = b.claim(t)
	want(t, "told", []domain.SentByTool{{Files: []string{"f/a 1"}}, {Files: []string{"b 1"}}}, run.Sent)
	e.Sent, e.Files[0].Name = &domain.SentByTool{Files: []string{"f/c 1"}}, "c"
	if _, err := b.Early(b.ctx, before, e); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("early of a run that has lost its lane: %v", err)
	}
	dealt, err := b.OutgoingFiles(b.ctx, "main", "f")
	if err != nil {
		t.Fatal(err)
	}
	file.Name = "a"
	want(t, "dealt with", []domain.OutgoingFile{file}, dealt)
	want(t, "sent", []string{"one", "two"}, b.texts(t))
	b.complete(t, run)
}

func TestReplaceSessionDeletesThePreview(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"sent": true, "waiting": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, inbound("anna", 1))
			run := b.claim(t)
			preview := item("anna", "p")
			b.early(t, run, domain.Early{Said: "one", Preview: &preview, Items: []domain.OutboxItem{item("anna", "one")}})
			left := []string{"one", "restarted"}
			if sent {
				want(t, "early", []string{"one", "p"}, b.texts(t))
				left = []string{"m-p=", "restarted"}
			}
			if _, err := b.ReplaceSession(b.ctx, run.ID, item("anna", "restarted")); err != nil {
				t.Fatal(err)
			}
			want(t, "with the notice", left, b.texts(t))
			if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
				t.Fatal(err)
			}
			if run = b.claim(t); run.Said != "" || run.Preview != 0 {
				t.Errorf("said %q, %d", run.Said, run.Preview)
			}
		})
	}
}

package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestMediaIsTheInstancesOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := chat.Media{Ref: "r", Kind: chat.Image, MIMEType: "image/png", FileName: "a b.png", Size: 1 << 40}
	if err := b.PutMedia(b.ctx, "telegram", want, start); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Media(b.ctx, "telegram", "r"); got != want || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := b.Media(b.ctx, "discord", "r"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another instance: %v", err)
	}
	if err := b.PutMedia(b.ctx, "telegram", chat.Media{}, start); err == nil {
		t.Error("media without a ref")
	}
}

func TestExtracts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Extract(b.ctx, "voice"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	said := domain.Extract{Text: "hello\nthere"}
	for source, e := range map[string]domain.Extract{"voice": {Failure: "it took too long"}, "page": {Failure: "gone"}, "silence": {}} {
		if err := b.PutExtract(b.ctx, source, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.PutExtract(b.ctx, "voice", said); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	for source, want := range map[string]domain.Extract{"voice": said, "page": {Failure: "gone"}, "silence": {}} {
		if got, err := b.Extract(b.ctx, source); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", source, got, err, want)
		}
	}
	b.clock.Advance(30*24*time.Hour - time.Second)
	b.purge(t)
	if _, err := b.Extract(b.ctx, "voice"); err != nil {
		t.Errorf("after 30 days less a second: %v", err)
	}
	b.clock.Advance(time.Second)
	b.purge(t)
	if _, err := b.Extract(b.ctx, "voice"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("after 30 days: %v", err)
	}
}

// Files are needed as long as a message waits or is answered, and as long as an item is to be sent.
// Behaviour: file-inbound.
func TestNeededMedia(t *testing.T) {
	t.Parallel()
	b := setup(t)
	refs := func() []string {
		t.Helper()
		found, err := b.NeededMedia(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for instance, files := range found {
			for _, m := range files {
				list = append(list, instance+"/"+string(m.Ref))
			}
		}
		slices.Sort(list)
		return list
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := refs(); !slices.Equal(got, want) {
			t.Errorf("%s: needed are %v, want %v", when, got, want)
		}
	}
	expect("at first")
	in := inbound("anna", 1)
	in.Message.Media = []chat.Media{{Ref: "a"}}
	in.Message.ReplyTo = &chat.Quote{Text: "old", Media: []chat.Media{{Ref: "b"}}}
	b.accept(t, in)
	expect("while the message waits", "telegram/a", "telegram/b")
	run := b.claim(t)
	expect("while it is answered", "telegram/a", "telegram/b")
	to := in.Message.Address()
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: to, Media: []chat.Media{{Ref: "c"}}}}}); err != nil {
		t.Fatal(err)
	}
	expect("while the answer is sent", "telegram/c")
	if _, err := b.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: to, Text: "and", Silent: true}); err != nil {
		t.Fatal(err)
	}
	expect("beside a piece without files", "telegram/c")
}

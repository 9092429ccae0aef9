package store_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

func item(to, text string) domain.OutboxItem {
	return domain.OutboxItem{To: chat.Address{Channel: "telegram", Chat: chat.ID(to)}, Text: text}
}

// key returns the key of a test; that without a name is zero.
func key(name string) domain.Key {
	if name == "" {
		return domain.Key{}
	}
	return domain.KeyToolCall.Of(name)
}

func (b *bundle) post(t *testing.T, name string, items ...domain.OutboxItem) int64 {
	t.Helper()
	id, err := b.Post(b.ctx, key(name), items...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// head claims the only due delivery.
func (b *bundle) head(t *testing.T) domain.Delivery {
	t.Helper()
	ds := b.deliveries(t, "telegram")
	if len(ds) != 1 {
		t.Fatalf("%d deliveries are due, want 1: %+v", len(ds), ds)
	}
	return ds[0]
}

// Behaviour: delivery.
func TestItemsOfADestinationAreSentInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "1"), item("bob", "x"), item("anna", "2"))
	thread := item("anna", "thread")
	thread.To.Thread = "t"
	b.post(t, "", thread)

	first := b.deliveries(t, "telegram")
	var texts []string
	for _, d := range first {
		texts = append(texts, d.Item.Text)
		if d.Attempts != 0 || d.Uncertain || d.RunID != 0 || !d.CreatedAt.Equal(start) {
			t.Errorf("delivery %+v", d)
		}
	}
	slices.Sort(texts) // all are due at the same time
	if diff := cmp.Diff([]string{"1", "thread", "x"}, texts); diff != "" {
		t.Fatalf("first round (-want +got):\n%s", diff)
	}
	b.post(t, "", item("anna", "3")) // while the first one is on its way
	if ds := b.deliveries(t, "telegram"); len(ds) != 0 {
		t.Fatalf("a destination is due while a piece of it is sent: %+v", ds)
	}
	for _, want := range []string{"2", "3"} {
		if err := b.Delivered(b.ctx, first[0].ID, nil); err != nil {
			t.Fatal(err)
		}
		if first[0] = b.head(t); first[0].Item.Text != want {
			t.Errorf("got %q, want %q", first[0].Item.Text, want)
		}
	}
}

func TestClaimDeliveriesTellsWhenToComeAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "1"))
	b.clock.Advance(time.Second)
	b.post(t, "", item("bob", "1"), item("carl", "1"))
	ds, _, err := b.ClaimDeliveriesNow(b.ctx, "telegram", 2)
	if err != nil || len(ds) != 2 || ds[0].Item.To.Chat != "anna" {
		t.Fatalf("got %+v, error %v; want anna and another", ds, err)
	}
	rest := b.head(t)
	at := b.clock.Now().Add(time.Minute)
	if err := b.Retry(b.ctx, rest.ID, domain.Retry{At: at, Cause: "rate limited"}); err != nil {
		t.Fatal(err)
	}
	if ds, next, _ := b.ClaimDeliveriesNow(b.ctx, "telegram", 2); len(ds) != 0 || !next.Equal(at) {
		t.Errorf("got %+v, next %v; want next %v", ds, next, at)
	}
	if ds, next, _ := b.ClaimDeliveriesNow(b.ctx, "discord", 2); len(ds) != 0 || !next.IsZero() {
		t.Errorf("another channel: %+v, next %v", ds, next)
	}
}

func TestRetriedItemStaysFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "1"), item("anna", "2"))
	d := b.head(t)
	poked(b.pokes.Deliveries)
	if err := b.Retry(b.ctx, d.ID, domain.Retry{At: start.Add(time.Second), Cause: "rate limited"}); err != nil {
		t.Fatal(err)
	}
	if !poked(b.pokes.Deliveries) {
		t.Error("the sender is not notified of the new time")
	}
	if ds := b.deliveries(t, "telegram"); len(ds) != 0 {
		t.Fatalf("due before its time: %+v", ds)
	}
	b.post(t, "", item("anna", "3"))
	if ds := b.deliveries(t, "telegram"); len(ds) != 0 {
		t.Fatalf("a new piece made its destination due: %+v", ds)
	}
	status, err := b.Destinations(b.ctx)
	want := []domain.DestinationStatus{{To: d.Item.To, Pending: 3, NextAt: start.Add(time.Second), Attempts: 1, LastError: "rate limited"}}
	if diff := cmp.Diff(want, status); err != nil || diff != "" {
		t.Errorf("destinations: %v (-want +got):\n%s", err, diff)
	}
	b.clock.Advance(time.Second)
	again := b.head(t)
	if again.ID != d.ID || again.Key != d.Key || again.Attempts != 1 || again.Uncertain {
		t.Errorf("delivery %+v, want %+v again", again, d)
	}
}

func TestAnExcusedSendIsNoAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "1"))
	var attempts []int
	for _, excused := range []bool{true, true, false, true, false} {
		d := b.head(t)
		attempts = append(attempts, d.Attempts)
		if err := b.Retry(b.ctx, d.ID, domain.Retry{At: start, Excused: excused}); err != nil {
			t.Fatal(err)
		}
	}
	attempts = append(attempts, b.head(t).Attempts)
	if diff := cmp.Diff([]int{0, 0, 0, 1, 1, 2}, attempts); diff != "" {
		t.Error(diff)
	}
}

func TestUncertainItemsAreCountedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "1"))
	b.post(t, "", item("bob", "1"))
	ds := b.deliveries(t, "telegram")
	key := ds[0].Key
	if err := b.Retry(b.ctx, ds[0].ID, domain.Retry{At: start, Cause: "timeout", Uncertain: true}); err != nil {
		t.Fatal(err)
	}
	d := b.head(t)
	if !d.Uncertain {
		t.Error("not marked")
	}
	b.reopen(t) // both on their way
	if _, deliveries, err := b.Reclaim(b.ctx); err != nil || deliveries != 2 {
		t.Fatalf("reclaimed %d deliveries, %v", deliveries, err)
	}
	for _, d := range b.deliveries(t, "telegram") {
		if !d.Uncertain {
			t.Errorf("reclaimed delivery %+v is not marked", d)
		}
		if d.Item.To.Chat == "anna" && d.Key != key {
			t.Errorf("key %q, was %q", d.Key, key)
		}
		if err := b.Retry(b.ctx, d.ID, domain.Retry{At: start, Cause: "refused"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := b.Uncertain(b.ctx); n != 2 || err != nil {
		t.Errorf("%d uncertain pieces, %v; want 2", n, err)
	}
}

func TestKeysOfTwoDatabasesDiffer(t *testing.T) {
	t.Parallel()
	var keys []string
	for range 2 {
		s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), store.Options{}) // no copy of another one
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		b := &bundle{Store: s, ctx: t.Context()}
		b.post(t, "", item("anna", "1"))
		keys = append(keys, b.head(t).Key)
	}
	if keys[0] == keys[1] || !strings.HasSuffix(keys[0], "-1") || len(keys[0]) != len("0123456789abcdef-1") {
		t.Errorf("keys %q", keys)
	}
}

func TestDeadLetterIsKeptAndItsDestinationGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "1"), item("anna", "2"))
	d := b.head(t)
	b.clock.Advance(time.Second)
	if err := b.DeadLetter(b.ctx, d.ID, "chat not found"); err != nil {
		t.Fatal(err)
	}
	dead, err := b.DeadLetters(b.ctx, 0)
	want := []domain.DeadLetter{{ID: d.ID, To: d.Item.To, Text: "1", CreatedAt: start, DiedAt: start.Add(time.Second), Attempts: 1, Error: "chat not found"}}
	if diff := cmp.Diff(want, dead); err != nil || diff != "" {
		t.Errorf("dead letters: %v (-want +got):\n%s", err, diff)
	}
	if d := b.head(t); d.Item.Text != "2" {
		t.Errorf("next is %q", d.Item.Text)
	}
}

func TestOnlyAClaimedItemCanBeEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting := b.post(t, "", item("anna", "1"))
	gone := b.post(t, "", item("bob", "1"))
	for _, d := range b.deliveries(t, "telegram") {
		var err error
		if d.ID == waiting {
			err = b.Retry(b.ctx, d.ID, domain.Retry{At: start})
		} else {
			err = b.Delivered(b.ctx, d.ID, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []int64{waiting, gone, 99} {
		for name, err := range map[string]error{
			"delivered": b.Delivered(b.ctx, id, nil),
			"retry":     b.Retry(b.ctx, id, domain.Retry{At: start, Uncertain: true}),
			"dead":      b.DeadLetter(b.ctx, id, ""),
		} {
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s of piece %d: %v, want ErrNotFound", name, id, err)
			}
		}
	}
	if ds := b.deliveries(t, "telegram"); len(ds) != 1 || ds[0].ID != waiting {
		t.Errorf("left: %+v", ds)
	}
}

func TestSentMessagesAreKnownAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	b.complete(t, run, "answer")
	if err := b.Delivered(b.ctx, b.head(t).ID, []chat.MessageID{"100", "101"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []chat.MessageID{"100", "101"} {
		var got int64
		err := raw(t, b.path).QueryRow(`SELECT run_id FROM sent WHERE channel = 'telegram' AND chat = 'anna' AND message_id = '` + string(id) + `'`).Scan(&got)
		if got != run.ID || err != nil {
			t.Errorf("message %s: run %d, %v; want %d", id, got, err, run.ID)
		}
	}
}

func TestPostWithTheSameKeyPostsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	event := inbound("anna", 1)
	event.EventID = "k"
	b.accept(t, event) // events' ids are another namespace
	first := b.post(t, "k", item("anna", "1"), item("anna", "2"))
	b.reopen(t)
	if again := b.post(t, "k", item("anna", "1"), item("anna", "2")); again != first {
		t.Errorf("id %d, then %d", first, again)
	}
	if other := b.post(t, "", item("anna", "3")); other == first {
		t.Error("no key was taken for the same key")
	}
	got, err := b.Destinations(b.ctx)
	want := []domain.DestinationStatus{{Pending: 3}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(domain.DestinationStatus{}, "To", "NextAt")); err != nil || diff != "" {
		t.Errorf("destinations: %v (-want +got):\n%s", err, diff)
	}
	if _, err := b.Post(b.ctx, key("k")); err == nil {
		t.Error("posted nothing")
	}
	if _, err := b.Post(b.ctx, domain.Key{}, domain.OutboxItem{Text: "to nobody"}); err == nil {
		t.Error("posted to no channel")
	}
}

// What another session sends to a chat is known to the session that answers the chat's next message.
// Behaviour: message-tool-history.
func TestPostFromAnotherSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := inbound("anna", 1)
	in.Message.Chat.ID = "dm" // which is not the person's id, as the session's key is
	b.accept(t, in)
	b.complete(t, b.claim(t))
	from := domain.Elsewhere{Session: "telegram:group", Said: chat.TranscriptEntry{Role: chat.Assistant, Text: "Coming?"}, Note: "sent: Coming?"}
	post := func(name string, from domain.Elsewhere, to chat.ID) {
		t.Helper()
		if id, err := b.PostFrom(b.ctx, key(name), from, domain.OutboxItem{To: chat.Address{Channel: "telegram", Chat: to}, Text: "Coming?"}); err != nil || id == 0 {
			t.Fatal(id, err)
		}
	}
	post("k", from, "dm")
	post("k", from, "dm") // the same
	post("", from, "nobody's")
	post("", domain.Elsewhere{}, "dm")
	own := from
	own.Session = "telegram:anna"
	post("", own, "dm")
	next := inbound("anna", 2)
	b.accept(t, next)
	run := b.claim(t)
	if diff := cmp.Diff([]domain.Note{{Kind: domain.NoteEvent, At: start, Text: "sent: Coming?", Count: 1}}, run.Notes); diff != "" {
		t.Error(diff)
	}
	said, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	if err != nil || len(said) != 2 || said[1].Text != "Coming?" || said[1].Role != chat.Assistant || !said[1].At.Equal(start) {
		t.Errorf("the history is %+v, %v", said, err)
	}
}

package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// kept is an item that others may edit.
func kept(to, text string) domain.OutboxItem {
	p := item(to, text)
	p.Kept = true
	return p
}

// edit is an item that edits another one.
func edit(to, text string, target int64, orSend bool) domain.OutboxItem {
	p := item(to, text)
	p.Edits, p.OrSend = target, orSend
	return p
}

func TestItemsKeepAllFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := kept("anna", "look")
	p.ReplyTo, p.Silent = "7", true
	p.Media = []chat.Media{{Ref: "r", Kind: chat.Image, MIMEType: "image/png", FileName: "a.png", Size: 9}}
	p.Buttons = [][]chat.Button{{{Label: "Stop", Data: "/stop"}}, {{Label: "On", Data: "/on"}, {Label: "Off", Data: "/off"}}}
	b.post(t, "", p)
	b.reopen(t)
	want(t, "the piece", p, b.head(t).Item)
}

// Behaviour: delivery-edit.
func TestOutcomeOfAnEdit(t *testing.T) {
	t.Parallel()
	deliver := func(ids ...chat.MessageID) func(b *bundle, d domain.Delivery) error {
		return func(b *bundle, d domain.Delivery) error { return b.Delivered(b.ctx, d.ID, ids) }
	}
	retry := func(uncertain bool) func(b *bundle, d domain.Delivery) error {
		return func(b *bundle, d domain.Delivery) error {
			return b.Retry(b.ctx, d.ID, domain.Retry{At: start, Uncertain: uncertain})
		}
	}
	for name, test := range map[string]struct {
		target func(b *bundle, d domain.Delivery) error // what becomes of the target before the edit is posted; nil: it waits
		orSend []string
		orNot  []string
		delete []string
	}{
		"waits":          {nil, []string{"edit"}, nil, nil},
		"was refused":    {retry(false), []string{"edit"}, nil, nil},
		"may be there":   {retry(true), []string{"target", "m-target=edit"}, []string{"target", "m-target=edit"}, []string{"target", "m-target="}},
		"is there":       {deliver("1"), []string{"1=edit"}, []string{"1=edit"}, []string{"1="}},
		"is there twice": {deliver("1", "2"), []string{"1=edit"}, []string{"1=edit"}, []string{"1="}},
		"has no id":      {deliver(), []string{"edit"}, nil, nil},
		"is dead":        {func(b *bundle, d domain.Delivery) error { return b.DeadLetter(b.ctx, d.ID, "") }, []string{"edit"}, nil, nil},
	} {
		for kind, change := range map[string]struct {
			text   string
			orSend bool
			want   []string
		}{
			"or sent": {"edit", true, test.orSend}, "or not": {"edit", false, test.orNot}, "deleted": {"", false, test.delete},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				id := b.post(t, "", kept("anna", "target"))
				if test.target != nil {
					if err := test.target(b, b.head(t)); err != nil {
						t.Fatal(err)
					}
				}
				b.post(t, "", edit("anna", change.text, id, change.orSend))
				want(t, "delivered", change.want, b.texts(t))
				if dead, err := b.DeadLetters(b.ctx, 0); len(dead) != 0 || err != nil {
					t.Errorf("to be put back: %+v, %v", dead, err)
				}
			})
		}
	}
}

// A message that was sent again in doubt is known as such to its edits, for as long as it is the same message.
// Behaviour: delivery-repeat.
func TestEditsOfARepeatedMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.post(t, "", kept("anna", "target"))
	repeated := func(what string, uncertain, want bool, ids ...chat.MessageID) {
		t.Helper()
		d := b.head(t)
		if uncertain {
			if err := b.Retry(b.ctx, d.ID, domain.Retry{At: start, Uncertain: true}); err != nil {
				t.Fatal(err)
			}
			d = b.head(t)
		}
		if d.TargetRepeated != want {
			t.Errorf("%s: the target was repeated: %t", what, d.TargetRepeated)
		}
		if err := b.Delivered(b.ctx, d.ID, ids); err != nil {
			t.Fatal(err)
		}
	}
	again := func(text string) {
		e := edit("anna", text, id, true)
		e.Kept = true
		id = b.post(t, "", e)
	}
	repeated("the message", false, false, "1")
	again("an edit in doubt")
	repeated("the first edit", true, false, "1")
	again("sent as a new message, in doubt")
	repeated("the second edit", true, false, "2")
	again("of the new message")
	b.reopen(t)
	repeated("the third edit", false, true, "2")
	again("of the same message")
	repeated("the fourth edit", false, true, "3")
	again("of one that was sent once")
	repeated("the fifth edit", false, false, "3")
}

// An edit waits for a target that is on its way, and is for what that has become by then.
func TestEditOfAnItemBeingSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(b *bundle, id int64) error
		want []string
	}{
		"delivered": {func(b *bundle, id int64) error { return b.Delivered(b.ctx, id, []chat.MessageID{"1"}) }, []string{"1=edit", "next"}},
		"refused":   {func(b *bundle, id int64) error { return b.Retry(b.ctx, id, domain.Retry{At: start}) }, []string{"target", "m-target=edit", "next"}},
		"lost":      {func(b *bundle, _ int64) error { _, _, err := b.Reclaim(b.ctx); return err }, []string{"target", "m-target=edit", "next"}},
		"given up":  {func(b *bundle, id int64) error { return b.DeadLetter(b.ctx, id, "") }, []string{"=edit", "next"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.post(t, "", kept("anna", "target"))
			d := b.head(t)
			b.post(t, "", edit("anna", "edit", id, true), item("anna", "next"))
			if ds := b.deliveries(t, "telegram"); len(ds) != 0 {
				t.Fatalf("beside the target: %+v", ds)
			}
			if err := test.end(b, d.ID); err != nil {
				t.Fatal(err)
			}
			want(t, "delivered", test.want, b.texts(t))
		})
	}
}

func TestAnEditThatWasCutOffIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.post(t, "", kept("anna", "target"))
	b.texts(t)
	b.post(t, "", edit("anna", "edit", id, true))
	sentAt := b.clock.Now()
	b.clock.Advance(time.Hour)
	first := b.head(t)
	b.reopen(t)
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	again := b.head(t)
	if again.ID != first.ID || again.Target != "m-target" || !again.TargetSentAt.Equal(sentAt) || !again.Uncertain {
		t.Errorf("again: %+v", again)
	}
}

func TestAnEditOfAnotherDestinationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting := b.post(t, "", kept("anna", "target"))
	sent := b.post(t, "", kept("bob", "target"))
	for _, d := range b.deliveries(t, "telegram") {
		if d.ID == sent {
			if err := b.Delivered(b.ctx, d.ID, []chat.MessageID{"1"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	thread := edit("anna", "edit", waiting, true)
	thread.To.Thread = "t"
	for name, p := range map[string]domain.OutboxItem{
		"of a waiting one": edit("carl", "edit", waiting, true), "of a sent one": edit("carl", "edit", sent, true), "in a thread": thread,
		"with files alone":  {To: thread.To, Edits: waiting, Media: []chat.Media{{Ref: "r"}}},
		"with nothing else": edit("anna", "", waiting, true),
	} {
		if _, err := b.Post(b.ctx, domain.Key{}, p); err == nil {
			t.Errorf("an edit %s was posted", name)
		}
	}
}

func TestRetractedItemLeavesItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, "", item("anna", "one"))
	first := b.head(t)
	id := b.post(t, "", kept("anna", "target"))
	b.post(t, "", edit("anna", "", id, false))
	if err := b.Retry(b.ctx, first.ID, domain.Retry{At: start.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	status, err := b.Destinations(b.ctx)
	if err != nil || len(status) != 1 || status[0].Pending != 1 || !status[0].NextAt.Equal(start.Add(time.Minute)) {
		t.Fatalf("destinations: %+v, %v", status, err)
	}
	alone := b.post(t, "", kept("bob", "target"))
	if got := b.post(t, "", edit("bob", "", alone, false)); got != 0 {
		t.Errorf("posted %d", got)
	}
	if status, _ := b.Destinations(b.ctx); len(status) != 1 {
		t.Errorf("destinations: %+v", status)
	}
}

// Behaviour: delivery-edit-old.
func TestIDsOfAKeptItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.post(t, "", kept("anna", "1"))
	if _, _, err := b.SentItem(b.ctx, first); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("not sent yet: %v", err)
	}
	b.texts(t)
	sentAt := b.clock.Now()
	b.clock.Advance(time.Hour)
	second := edit("anna", "2", first, true)
	second.Kept = true
	id := b.post(t, "", second)
	plain := b.post(t, "", item("anna", "3"))
	b.texts(t)
	for _, item := range []int64{first, id} {
		if message, at, err := b.SentItem(b.ctx, item); message != "m-1" || !at.Equal(sentAt) || err != nil {
			t.Errorf("piece %d has become %q, sent at %v, %v; want it sent at %v", item, message, at, err, sentAt)
		}
	}
	if _, _, err := b.SentItem(b.ctx, plain); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("one that is not kept: %v", err)
	}
	b.clock.Advance(91 * 24 * time.Hour)
	if err := b.Purge(b.ctx, store.Ages{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.SentItem(b.ctx, first); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("after 91 days: %v", err)
	}
}

func TestHowFarADestinationIsBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	to := item("anna", "").To
	behind := func() time.Time {
		t.Helper()
		at, err := b.OldestUndelivered(b.ctx, to)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	got := []time.Time{behind()}
	b.post(t, "", item("anna", "1"))
	b.clock.Advance(time.Second)
	b.post(t, "", item("anna", "2"), item("bob", "1"))
	got = append(got, behind())
	for _, d := range b.deliveries(t, "telegram") {
		if err := b.Delivered(b.ctx, d.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	got = append(got, behind())
	b.texts(t)
	got = append(got, behind())
	want(t, "behind", []time.Time{{}, start, start.Add(time.Second), {}}, got)
}

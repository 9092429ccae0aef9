package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func (b *bundle) move(t *testing.T, event string, from, to chat.ID) {
	t.Helper()
	if duplicate, err := b.Move(b.ctx, "telegram", chat.EventID(event), from, to); err != nil || duplicate {
		t.Fatalf("move %s to %s: duplicate %v, %v", from, to, duplicate, err)
	}
}

// Behaviour: group-moves.
func TestAChatThatMovesKeepsItsFirstID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.move(t, "1", "a", "b")
	b.move(t, "2", "b", "c")
	b.move(t, "3", "c", "a") // to where it was
	b.move(t, "4", "x", "y")
	if duplicate, err := b.Move(b.ctx, "telegram", "4", "x", "z"); err != nil || !duplicate {
		t.Errorf("the same event again: duplicate %v, %v", duplicate, err)
	}
	for range 2 { // lives
		for id, want := range map[chat.ID]chat.ID{"a": "a", "b": "a", "c": "a", "x": "x", "y": "x", "z": "z"} {
			if got := b.Origin("telegram", id); got != want {
				t.Errorf("%s was %s first, want %s", id, got, want)
			}
			if got := b.Origin("discord", id); got != id {
				t.Errorf("on another channel %s was %s first", id, got)
			}
		}
		for _, id := range []string{"a", "b", "c"} {
			b.post(t, "", item(id, "to "+id))
			if got := b.head(t); got.Item.To.Chat != "c" {
				t.Errorf("what is posted to %s goes to %s", id, got.Item.To.Chat)
			} else if err := b.Delivered(b.ctx, got.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
		b.reopen(t)
	}
}

// Behaviour: group-moves.
func TestWhatWaitsForAChatThatMovesGoesWhereItIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.post(t, "", kept("a", "first"))
	b.texts(t) // is sent, as m-first
	sending := b.post(t, "", kept("a", "on its way"))
	answer := item("a", "answer")
	answer.ReplyTo = "7"
	b.post(t, "", answer)
	dead := b.head(t)
	if err := b.DeadLetter(b.ctx, dead.ID, "gone"); err != nil {
		t.Fatal(err)
	}
	onItsWay := b.head(t)
	b.post(t, "", edit("a", "of the first", first, true), edit("a", "let be", first, false))

	b.move(t, "1", "a", "b")
	if err := b.Delivered(b.ctx, onItsWay.ID, []chat.MessageID{"9"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Requeue(b.ctx, sending); err != nil {
		t.Fatal(err)
	}
	b.post(t, "", edit("a", "of one that is there", onItsWay.ID, true), edit("a", "of one that is not", first, true))
	var got []string
	for range 5 {
		d := b.head(t)
		got = append(got, fmt.Sprintf("%s to %s, edits %q, replies to %q", d.Item.Text, d.Item.To.Chat, d.Target, d.Item.ReplyTo))
		if err := b.Delivered(b.ctx, d.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "delivered", []string{
		`of the first to b, edits "", replies to ""`,
		`let be to b, edits "", replies to ""`,
		`on its way to b, edits "", replies to ""`,
		`of one that is there to b, edits "", replies to ""`,
		`of one that is not to b, edits "", replies to ""`,
	}, got)
}

// Where something waits for both ids, nothing is lost.
func TestAChatThatMovesToWhereSomethingWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	target := b.post(t, "", kept("a", "old"))
	b.post(t, "", item("b", "new"))
	b.move(t, "1", "a", "b")
	b.post(t, "", edit("a", "edited", target, true), item("a", "later"))
	got := map[string]int{}
	for range 3 {
		for _, d := range b.deliveries(t, "telegram") {
			got[d.Item.Text]++
			if err := b.Delivered(b.ctx, d.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	want(t, "delivered", map[string]int{"new": 1, "edited": 1, "later": 1}, got)
	if status, err := b.Destinations(b.ctx); err != nil || len(status) != 0 {
		t.Errorf("still waits: %+v, %v", status, err)
	}
}

// What a plugin sends to the id that it has of a chat goes to the session of that chat, whatever its id is by now.
func TestSessionOfAMovedChatIsNotified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.complete(t, b.claim(t))
	b.move(t, "1", "anna", "b")
	from := domain.Elsewhere{Said: chat.TranscriptEntry{Role: chat.System, Text: "clock: tea time"}, Note: "tea time"}
	if _, err := b.PostFrom(b.ctx, domain.Key{}, from, item("anna", "tea time")); err != nil {
		t.Fatal(err)
	}
	b.accept(t, inbound("anna", 2))
	want(t, "told", []domain.Note{{Kind: domain.NoteEvent, At: start, Text: "tea time", Count: 1}}, b.claim(t).Notes)
}

// Behaviour: group-moves.
func TestMovesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// Most of them are there already: each move reads all of them.
	if _, err := raw(t, b.path).Exec(`WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 997)
		INSERT INTO moved_chats (channel, chat, origin) SELECT 'telegram', 'b' || n, 'a' || n FROM n`); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	for n := 998; n <= 1000; n++ {
		b.move(t, fmt.Sprint(n), chat.ID(fmt.Sprint("a", n)), chat.ID(fmt.Sprint("b", n)))
	}
	for id, want := range map[chat.ID]chat.ID{"b0": "b0", "b1": "a1", "b1000": "a1000"} {
		if got := b.Origin("telegram", id); got != want {
			t.Errorf("%s was %s first, want %s", id, got, want)
		}
	}
}

// followed runs FollowMoves of a host until the test ends.
func (b *bundle) followed(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	var follows sync.WaitGroup
	follows.Go(func() { b.FollowMoves(ctx) })
	t.Cleanup(func() { cancel(); follows.Wait() })
}

// A move is known on other hosts soon.
// Behaviour: group-moves.
func TestMovesAreKnownOnOtherHosts(t *testing.T) {
	t.Parallel()
	here, there := twoHosts(t)
	knows := func(to, first chat.ID) {
		t.Helper()
		tick, over := time.NewTicker(time.Millisecond), time.After(10*time.Second)
		defer tick.Stop()
		for there.Origin("telegram", to) != first {
			select {
			case <-tick.C:
			case <-over:
				t.Fatalf("%s was %s first, want %s", to, there.Origin("telegram", to), first)
			}
		}
	}
	here.move(t, "1", "a", "b") // before the other host follows
	there.followed(t)
	knows("b", "a")
	here.move(t, "2", "b", "c")
	knows("c", "a")
	there.move(t, "3", "c", "d")
	if got := there.Origin("telegram", "d"); got != "a" {
		t.Errorf("d was %s first", got)
	}
	here.move(t, "4", "d", "e")
	knows("e", "a")
}

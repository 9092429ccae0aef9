package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// kill gives up the item that is due.
func (b *bundle) kill(t *testing.T, cause string) domain.Delivery {
	t.Helper()
	d := b.head(t)
	if err := b.DeadLetter(b.ctx, d.ID, cause); err != nil {
		t.Fatal(err)
	}
	return d
}

func (b *bundle) dead(t *testing.T) []domain.DeadLetter {
	t.Helper()
	dead, err := b.DeadLetters(b.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	return dead
}

// A question whose message is given up is over, and the session gets that in the message's place.
// Behaviour: ask-undelivered.
func TestQuestionWhoseMessageIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	q := question("AAAAA")
	q.Unseen = "I asked something."
	asks := item("anna", "May I?")
	asks.Buttons = [][]chat.Button{{{Label: "Yes", Data: "/answer AAAAA yes"}}}
	if _, err := b.Ask(b.ctx, run.ID, q, asks); err != nil {
		t.Fatal(err)
	}
	b.kill(t, "blocked")
	if got, err := b.Question(b.ctx, "AAAAA"); err != nil || got.State != domain.QuestionUnseen || got.Unseen != q.Unseen {
		t.Errorf("%+v, %v", got, err)
	}
	if open, err := b.Questions(b.ctx); err != nil || len(open) != 0 {
		t.Errorf("open are %+v, %v", open, err)
	}
	var notified []string
	dead, err := b.Unreported(b.ctx, "telegram:anna")
	if err != nil {
		t.Fatal(err)
	}
	done := domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{item("anna", "Lost."), item("anna", "Done.")}}
	for _, d := range dead {
		notified, done.Reported = append(notified, d.Text), append(done.Reported, d.ID)
	}
	if err := b.Complete(b.ctx, run.ID, done); err != nil {
		t.Fatal(err)
	}
	want(t, "told", []string{"I asked something."}, notified)
	if _, err := b.RequeueAll(b.ctx); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Lost.", "Done.", "I asked something."} {
		d := b.head(t)
		if d.Item.Text != text || len(d.Item.Buttons) != 0 {
			t.Errorf("%+v is sent, want %q", d.Item, text)
		}
		if err := b.Delivered(b.ctx, d.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Behaviour: dead-letter.
func TestRequeueKeepsTheItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := kept("anna", "one")
	p.ReplyTo, p.Silent, p.Media = "7", true, []chat.Media{{Ref: "r", FileName: "a.png"}}
	p.Buttons = [][]chat.Button{{{Label: "Stop", Data: "/stop"}}}
	id := b.post(t, "", p)
	b.post(t, "", item("anna", "two"))
	if err := b.Retry(b.ctx, b.head(t).ID, domain.Retry{At: start, Uncertain: true}); err != nil {
		t.Fatal(err)
	}
	first := b.kill(t, "cut")
	want(t, "its files", p.Media, b.dead(t)[0].Media)
	b.clock.Advance(time.Hour)
	if err := b.Requeue(b.ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := b.Requeue(b.ctx, id); !errors.Is(err, domain.ErrNotFound) || len(b.dead(t)) != 0 {
		t.Errorf("a second time: %v; dead are %+v", err, b.dead(t))
	}
	two := b.head(t) // what waited is first
	if err := b.Delivered(b.ctx, two.ID, nil); err != nil || two.Item.Text != "two" {
		t.Fatalf("first came %+v, %v", two, err)
	}
	again := b.head(t)
	want(t, "the piece", p, again.Item)
	if again.Key != first.Key || !again.Uncertain || again.Attempts != 0 || !again.CreatedAt.Equal(start.Add(time.Hour)) {
		t.Errorf("put back as %+v", again)
	}
	if err := b.DeadLetter(b.ctx, again.ID, "cut"); err != nil {
		t.Fatal(err)
	}
	if n, err := b.RequeueAll(b.ctx); n != 1 || err != nil {
		t.Fatalf("put back %d, %v", n, err)
	}
	if third := b.head(t); third.Key != first.Key {
		t.Errorf("the key is %s, was %s", third.Key, first.Key)
	} else if err := b.Delivered(b.ctx, third.ID, []chat.MessageID{"m"}); err != nil {
		t.Fatal(err)
	}
	b.post(t, "", edit("anna", "edited", id, false)) // by the id that it was kept by
	want(t, "then", []string{"m=edited"}, b.texts(t))
}

func TestAllDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	die := func() {
		t.Helper()
		for n := range 230 {
			b.post(t, "", item("anna", fmt.Sprint(n)))
			b.kill(t, "")
		}
	}
	die()
	if n, err := b.RequeueAll(b.ctx); n != 230 || err != nil {
		t.Fatalf("requeued %d, %v", n, err)
	}
	texts := b.texts(t)
	for n, text := range texts {
		if text != fmt.Sprint(n) {
			t.Fatalf("put back in the order %v", texts)
		}
	}
	if len(texts) != 230 || len(b.dead(t)) != 0 {
		t.Errorf("%d are sent, %d are dead", len(texts), len(b.dead(t)))
	}
	die()
	last := b.dead(t)[0].ID
	if err := b.Discard(b.ctx, last); err != nil {
		t.Error(err)
	}
	if err := b.Discard(b.ctx, last); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("forgotten a second time: %v", err)
	}
	if n, err := b.DiscardAll(b.ctx); n != 229 || err != nil || len(b.dead(t)) != 0 {
		t.Errorf("forgot %d, %v; %d are dead", n, err, len(b.dead(t)))
	}
	want(t, "sent", []string(nil), b.texts(t))
}

// Behaviour: dead-letter.
func TestSessionLearnsOfDeadLettersOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	answer := func(user string, n int, items ...domain.OutboxItem) {
		t.Helper()
		b.accept(t, inbound(user, n))
		if err := b.Complete(b.ctx, b.claim(t).ID, domain.Completion{State: domain.RunDone, Items: items}); err != nil {
			t.Fatal(err)
		}
	}
	for n, p := range []domain.OutboxItem{item("anna", "lost one"), item("bob", "lost two"), kept("anna", "a progress line")} {
		answer("anna", n, p)
		b.kill(t, "blocked")
	}
	b.post(t, "", item("anna", "a notice"))
	b.kill(t, "blocked")
	b.reopen(t)

	for n, step := range []struct {
		user   string
		silent bool
		texts  []string
	}{
		{"carl", false, []string{"answer"}}, // another session
		{"anna", true, []string{"answer"}},  // says nothing of it
		{"anna", false, []string{"lost: lost one, lost two", "answer"}},
		{"anna", false, []string{"answer"}},
	} {
		b.accept(t, inbound(step.user, 10+n))
		dead, err := b.Unreported(b.ctx, "telegram:"+step.user)
		if err != nil {
			t.Fatal(err)
		}
		done := domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{item(step.user, "answer")}}
		if len(dead) > 0 && !step.silent {
			if len(dead) != 2 || dead[0].Session != "telegram:anna" || dead[0].RunID == 0 || dead[0].Error != "blocked" {
				t.Errorf("told of %+v", dead)
			}
			done.Items = append([]domain.OutboxItem{item(step.user, "lost: "+dead[0].Text+", "+dead[1].Text)}, done.Items...)
			done.Reported = []int64{dead[0].ID, dead[1].ID}
		}
		if err := b.Complete(b.ctx, b.claim(t).ID, done); err != nil {
			t.Fatal(err)
		}
		want(t, fmt.Sprint("step ", n), step.texts, b.texts(t))
	}
	if len(b.dead(t)) != 4 {
		t.Errorf("kept are %+v", b.dead(t))
	}
}

// What dies between the look and the notice is in no notice, and waits for the next.
// Behaviour: dead-letter.
func TestALetterThatDiesMeanwhileIsReportedLater(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	other := item("berta", "first")
	if _, err := b.Early(b.ctx, run.ID, domain.Early{Items: []domain.OutboxItem{other, item("anna", "second")}, Said: "x"}); err != nil {
		t.Fatal(err)
	}
	sent := map[string]int64{}
	for _, d := range b.deliveries(t, "telegram") {
		sent[d.Item.Text] = d.ID
	}
	if err := b.DeadLetter(b.ctx, sent["second"], "blocked"); err != nil {
		t.Fatal(err)
	}
	dead, err := b.Unreported(b.ctx, "telegram:anna")
	if err != nil || len(dead) != 1 || dead[0].Text != "second" {
		t.Fatalf("%+v, %v", dead, err)
	}
	if err := b.DeadLetter(b.ctx, sent["first"], "blocked"); err != nil {
		t.Fatal(err)
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Reported: []int64{dead[0].ID}}); err != nil {
		t.Fatal(err)
	}
	if dead, err = b.Unreported(b.ctx, "telegram:anna"); err != nil || len(dead) != 1 || dead[0].Text != "first" {
		t.Errorf("%+v, %v; want the one that died meanwhile", dead, err)
	}
}

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// question is a question of an owner's turn.
func question(id string) domain.Question {
	return domain.Question{
		ID: id, ClaudeSession: "c1", Digest: "ls", Authority: chat.Owner, Asker: "telegram:1", Messages: []domain.QuestionMessage{{}},
		Body: json.RawMessage(`{"about":"tool"}`), ExpiresAt: time.Unix(2_000_000_000, 0),
	}
}

// Behaviour: ask-late-words, ask-durable, ask-grant.
func TestQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	if unfinished, err := b.Unfinished(b.ctx, inbound("anna", 1).Session, ""); unfinished || err != nil {
		t.Fatal("before its claim:", unfinished, err)
	}
	run := b.claim(t)
	if unfinished, err := b.Unfinished(b.ctx, run.Session.Key, run.Head.ClaudeSession); !unfinished || err != nil {
		t.Fatal("while it runs:", unfinished, err)
	}
	if unfinished, err := b.Unfinished(b.ctx, run.Session.Key, "another"); unfinished || err != nil {
		t.Fatal("in a conversation that was left:", unfinished, err)
	}
	ask := func(q domain.Question) domain.Question {
		t.Helper()
		q, err := b.Ask(b.ctx, run.ID, q, item("anna", "May I?"), item("anna", "Yes or no?"))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	first := ask(question("AAAAA"))
	want(t, "asked", []string{"May I?", "Yes or no?"}, b.texts(t))
	if again := ask(question("BBBBB")); again.ID != first.ID || again.State != domain.QuestionOpen {
		t.Errorf("the same again is %+v", again)
	}
	other := question("CCCCC")
	other.Authority = chat.Other
	if q := ask(other); q.ID != "CCCCC" {
		t.Errorf("what another person's turn asks is %+v", q)
	}
	want(t, "asked of another person's turn", []string{"May I?", "Yes or no?"}, b.texts(t))

	redraft := func(was, body string, want bool) {
		t.Helper()
		done, err := b.Redraft(b.ctx, first.ID, json.RawMessage(was), json.RawMessage(body))
		if done != want || err != nil {
			t.Fatalf("%s instead of %s: %t, %v; want %t", body, was, done, err, want)
		}
	}
	redraft(`{"about":"tool"}`, `{"about":"plan"}`, true)
	redraft(`{"about":"tool"}`, `{"about":"choice"}`, false)
	answered, settled, err := b.Settle(b.ctx, first.ID, domain.QuestionAnswered, json.RawMessage(`{"allow":true}`), "Allowed")
	if err != nil || !settled || string(answered.Answer) != `{"allow":true}` {
		t.Fatalf("%+v, %v, %v", answered, settled, err)
	}
	want(t, "the question's message", []string{"m-Yes or no?=Allowed"}, b.texts(t))
	always := domain.Grant{Session: run.Session.Key, Authority: chat.Owner, Rule: "Bash"}
	if _, settled, err := b.Settle(b.ctx, first.ID, domain.QuestionAnswered, json.RawMessage(`{"allow":true}`), "Always", always); settled || err != nil {
		t.Error(settled, err)
	}
	if grants, err := b.Grants(b.ctx, run.Session.Key); len(grants) != 0 || err != nil {
		t.Errorf("an answer that is none grants: %v, %v", grants, err)
	}
	redraft(`{"about":"plan"}`, `{}`, false)
	if q, err := b.Question(b.ctx, first.ID); err != nil || string(q.Body) != `{"about":"plan"}` {
		t.Errorf("another body, then one when it was answered: %s, %v", q.Body, err)
	}
	if q, settled, err := b.Settle(b.ctx, first.ID, domain.QuestionExpired, nil, "Over"); settled || err != nil || q.State != domain.QuestionAnswered {
		t.Errorf("settled again: %+v, %v, %v", q, settled, err)
	}
	if _, _, err := b.Settle(b.ctx, "ZZZZZ", domain.QuestionExpired, nil, "Over"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a question that there is not: %v", err)
	}

	// The answer is there for the same question of the next attempts, until it is taken.
	for range 2 {
		if again := ask(question("DDDDD")); again.ID != first.ID || string(again.Answer) != `{"allow":true}` {
			t.Errorf("the answer is %+v", again)
		}
	}
	if err := b.TakeAnswers(b.ctx, first.ID, "CCCCC"); err != nil {
		t.Fatal(err)
	}
	if q := ask(question("EEEEE")); q.ID != "EEEEE" || q.State != domain.QuestionOpen {
		t.Errorf("the answer holds twice: %+v", q)
	}
	// One that was made void is not there any more. An open question has none, and an answered one is not withdrawn.
	if _, settled, err := b.Settle(b.ctx, "EEEEE", domain.QuestionVoid, nil, "Too late"); settled || err != nil {
		t.Fatal(settled, err)
	}
	if _, _, err := b.Settle(b.ctx, "EEEEE", domain.QuestionAnswered, json.RawMessage(`{"allow":true}`), "Allowed", always); err != nil {
		t.Fatal(err)
	}
	if grants, err := b.Grants(b.ctx, run.Session.Key); len(grants) != 1 || err != nil {
		t.Errorf("an answer grants %v, %v", grants, err)
	}
	if q, settled, err := b.Settle(b.ctx, "EEEEE", domain.QuestionWithdrawn, nil, "Over"); settled || err != nil || q.State != domain.QuestionAnswered {
		t.Fatal(q, settled, err)
	}
	if _, settled, err := b.Settle(b.ctx, "EEEEE", domain.QuestionVoid, nil, "Too late"); !settled || err != nil {
		t.Fatal(settled, err)
	}
	if q := ask(question("FFFFF")); q.ID != "FFFFF" {
		t.Errorf("a void answer holds: %+v", q)
	}
	open, err := b.Questions(b.ctx)
	if err != nil || len(open) != 2 || open[0].ID != "CCCCC" || open[1].ID != "FFFFF" {
		t.Errorf("%+v, %v", open, err)
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil {
		t.Fatal(err)
	}
	if unfinished, err := b.Unfinished(b.ctx, run.Session.Key, run.Head.ClaudeSession); unfinished || err != nil {
		t.Error("completed:", unfinished, err)
	}
	if _, err := b.Ask(b.ctx, run.ID, question("GGGGG"), item("anna", "May I?")); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("asked after the end: %v", err)
	}
}

// Open questions are found by where they were asked, or by what their bodies contain; those of a session until they are
// closed.
// Behaviour: ask-words, ask-reason.
func TestOpenQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	ask := func(id string, to chat.Address, body string) {
		t.Helper()
		q := question(id)
		q.Digest, q.Body = id, json.RawMessage(body)
		if _, err := b.Ask(b.ctx, run.ID, q, domain.OutboxItem{To: to, Text: id}); err != nil {
			t.Fatal(err)
		}
	}
	group := chat.Address{Channel: "telegram", Chat: "group", Thread: "7"}
	ask("AAAAA", group, `{}`)
	ask("BBBBB", chat.Address{Channel: "telegram", Chat: "1"}, `{}`)
	ask("CCCCC", chat.Address{Channel: "discord", Chat: "group", Thread: "7"}, `{"reasons":[{"who":"telegram:1"}]}`)
	ask("DDDDD", group, `{}`)
	if _, _, err := b.Settle(b.ctx, "DDDDD", domain.QuestionAnswered, json.RawMessage(`{}`), "Allowed"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		at     chat.Address
		person chat.ID
		noted  string
		want   []string
	}{
		"here":                        {group, "2", "none", []string{"AAAAA"}},
		"another thread":              {chat.Address{Channel: "telegram", Chat: "group"}, "2", "none", nil},
		"another channel":             {chat.Address{Channel: "whatsapp", Chat: "group", Thread: "7"}, "1", "none", nil},
		"here, and in a person's own": {group, "1", "none", []string{"AAAAA", "BBBBB"}},
		"noted":                       {chat.Address{Channel: "telegram", Chat: "elsewhere"}, "2", `"who":"telegram:1"`, []string{"CCCCC"}},
	} {
		found, err := b.OpenQuestions(b.ctx, test.at, test.person, test.noted)
		if err != nil {
			t.Fatal(err)
		}
		want(t, name, test.want, ids(found))
	}
	if err := b.TakeAnswers(b.ctx, "DDDDD"); err != nil {
		t.Fatal(err)
	}
	ask("EEEEE", group, `{}`)
	if _, _, err := b.Settle(b.ctx, "EEEEE", domain.QuestionAnswered, json.RawMessage(`{}`), "Allowed"); err != nil {
		t.Fatal(err)
	}
	for session, expected := range map[string][]string{run.Session.Key: {"AAAAA", "BBBBB", "CCCCC", "EEEEE"}, "another": nil} {
		found, err := b.QuestionsOf(b.ctx, session)
		if err != nil {
			t.Fatal(err)
		}
		want(t, session, expected, ids(found))
	}
}

func ids(questions []domain.Question) (list []string) {
	for _, q := range questions {
		list = append(list, q.ID)
	}
	return list
}

// A question that several people are asked has a message for each of them, once, and all are edited when one has answered.
// Behaviour: ask-others, ask-durable.
func TestQuestionOfSeveralPeople(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	q, err := b.Ask(b.ctx, run.ID, question("AAAAA"), item("anna", "May I?"))
	if err != nil || len(q.Messages) != 1 || q.To() != item("anna", "").To {
		t.Fatal(q, err)
	}
	also := func(person string, further bool) domain.Question {
		t.Helper()
		q, err := b.AskAlso(b.ctx, run.ID, "AAAAA", domain.QuestionMessage{Person: "telegram:" + person, Numbered: true}, further, item(person, "May it, "+person+"?"))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	also("bob", true)
	also("bob", true)
	also("carl", false)
	want(t, "asked", []string{"May I?", "May it, bob?", "May it, carl?"}, b.texts(t))
	known, err := b.Question(b.ctx, "AAAAA")
	if err != nil || len(known.Messages) != 3 || known.Further || known.Messages[1].Person != "telegram:bob" || !known.Messages[1].Numbered ||
		known.Messages[1].To != item("bob", "").To || known.Messages[0].Numbered || known.Messages[2].AskedAt.IsZero() {
		t.Fatalf("%+v, %v", known, err)
	}
	if open, err := b.OpenQuestions(b.ctx, item("carl", "").To, "", "nothing"); err != nil || len(open) != 1 {
		t.Errorf("where a copy is: %+v, %v", open, err)
	}
	if _, settled, err := b.Settle(b.ctx, "AAAAA", domain.QuestionAnswered, json.RawMessage(`{"allow":true}`), "Allowed by bob"); !settled || err != nil {
		t.Fatal(settled, err)
	}
	want(t, "the messages", []string{"m-May I?=Allowed by bob", "m-May it, bob?=Allowed by bob", "m-May it, carl?=Allowed by bob"}, b.texts(t))
	if q := also("dora", false); q.State != domain.QuestionAnswered || q.Outcome != "Allowed by bob" {
		t.Errorf("one more is asked what is answered: %+v", q)
	}
	if _, err := b.AskAlso(b.ctx, run.ID+1, "AAAAA", domain.QuestionMessage{Person: "telegram:eve"}, false, item("eve", "?")); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("asked by another run: %v", err)
	}
	want(t, "nothing more", []string(nil), b.texts(t))
}

// When a question ends, those who were asked learn it even where messages cannot be edited, but nobody to whom it was not sent yet.
// Behaviour: ask-first.
func TestWhoLearnsTheEndOfAQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if _, err := b.Ask(b.ctx, run.ID, question("AAAAA"), item("anna", "May I?")); err != nil {
		t.Fatal(err)
	}
	want(t, "asked", []string{"May I?"}, b.texts(t))
	m := domain.QuestionMessage{Person: "telegram:bob"}
	if _, err := b.AskAlso(b.ctx, run.ID, "AAAAA", m, false, item("bob", "May it?")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Settle(b.ctx, "AAAAA", domain.QuestionExpired, nil, "Over"); err != nil {
		t.Fatal(err)
	}
	ds := b.deliveries(t, "telegram")
	if len(ds) != 1 || ds[0].Item.To != item("anna", "").To || ds[0].Item.Text != "Over" || !ds[0].Item.OrSend || ds[0].Target != "m-May I?" {
		t.Errorf("%+v", ds)
	}
}

// A message that is to be pinned is, once it was sent, and no longer when it says how the question ended.
// Behaviour: ask-pin.
func TestPinnedQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	q := question("AAAAA")
	q.Messages[0].Pinned = true
	if _, err := b.Ask(b.ctx, run.ID, q, item("anna", "May I?")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.AskAlso(b.ctx, run.ID, "AAAAA", domain.QuestionMessage{Person: "telegram:bob"}, false, item("bob", "May it?")); err != nil {
		t.Fatal(err)
	}
	var got []string
	deliver := func() {
		t.Helper()
		for ds := b.deliveries(t, "telegram"); len(ds) > 0; ds = b.deliveries(t, "telegram") {
			for _, d := range ds {
				ids := []chat.MessageID{chat.MessageID("m-" + d.Item.Text)}
				what := d.Item.Text
				switch {
				case d.Item.Pin != nil:
					what, ids = fmt.Sprintf("%s pinned %t", d.Target, *d.Item.Pin), nil
				case d.Item.Edits != 0:
					what, ids = string(d.Target)+"="+what, []chat.MessageID{d.Target}
				}
				if d.Item.To == item("anna", "").To {
					got = append(got, what)
				} else if d.Item.Pin != nil {
					t.Errorf("pinned where it is not to be: %+v", d)
				}
				if err := b.Delivered(b.ctx, d.ID, ids); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	deliver()
	want(t, "asked", []string{"May I?", "m-May I? pinned true"}, got)
	if _, _, err := b.Settle(b.ctx, "AAAAA", domain.QuestionExpired, nil, "Over"); err != nil {
		t.Fatal(err)
	}
	deliver()
	want(t, "over", []string{"May I?", "m-May I? pinned true", "m-May I?=Over", "m-May I? pinned false"}, got)
}

// A question ends when none of its messages arrives, unless others are still to be asked.
// Behaviour: ask-undelivered.
func TestQuestionIsLostWithItsLastMessage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		further bool
		want    domain.QuestionState
	}{
		"the last": {false, domain.QuestionUnseen}, "others are asked": {true, domain.QuestionOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, inbound("anna", 1))
			run := b.claim(t)
			if _, err := b.Ask(b.ctx, run.ID, question("AAAAA"), item("anna", "May I?")); err != nil {
				t.Fatal(err)
			}
			m := domain.QuestionMessage{Person: "telegram:bob"}
			if _, err := b.AskAlso(b.ctx, run.ID, "AAAAA", m, test.further, item("anna", "May it?")); err != nil {
				t.Fatal(err)
			}
			b.kill(t, "blocked")
			if q, err := b.Question(b.ctx, "AAAAA"); err != nil || q.State != domain.QuestionOpen || q.Lost() || !q.Messages[0].Lost {
				t.Fatalf("one is lost: %+v, %v", q, err)
			}
			b.kill(t, "blocked")
			if q, err := b.Question(b.ctx, "AAAAA"); err != nil || q.State != test.want || !q.Lost() {
				t.Errorf("both are lost: %+v, %v", q, err)
			}
		})
	}
}

// What may have changed a question is announced, and nothing else is.
func TestChangesOfQuestionsAreAnnounced(t *testing.T) {
	t.Parallel()
	settle := func(id string, state domain.QuestionState) func(*testing.T, *bundle) {
		return func(t *testing.T, b *bundle) {
			t.Helper()
			if _, _, err := b.Settle(b.ctx, id, state, nil, "over"); err != nil {
				t.Fatal(err)
			}
		}
	}
	type step struct {
		do        func(*testing.T, *bundle)
		announced bool
	}
	for name, steps := range map[string][]step{
		"an answer":              {{settle("AAAAA", domain.QuestionAnswered), true}},
		"another answer":         {{settle("AAAAA", domain.QuestionAnswered), true}, {settle("AAAAA", domain.QuestionAnswered), false}},
		"an answer that is void": {{settle("AAAAA", domain.QuestionAnswered), true}, {settle("AAAAA", domain.QuestionVoid), true}},
		"the end of its time":    {{settle("AAAAA", domain.QuestionExpired), true}},
		"a message that is lost": {{func(t *testing.T, b *bundle) { t.Helper(); b.kill(t, "blocked") }, true}},
		"another item that is lost": {{func(t *testing.T, b *bundle) {
			t.Helper()
			b.texts(t) // sends the question
			b.post(t, "", item("anna", "hello"))
			b.kill(t, "blocked")
		}, false}},
		"another body": {{func(t *testing.T, b *bundle) {
			t.Helper()
			if done, err := b.Redraft(b.ctx, "AAAAA", question("").Body, json.RawMessage(`{}`)); !done || err != nil {
				t.Fatal(done, err)
			}
		}, false}},
		"the person is forgotten": {{func(t *testing.T, b *bundle) {
			t.Helper()
			who := store.Person{Users: []store.PersonUser{{Channel: "telegram", ID: "anna"}}}
			if done, err := b.Forget(b.ctx, who, false); err != nil || done.Rows["questions"] != 1 {
				t.Fatal(done, err)
			}
		}, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, inbound("anna", 1))
			run := b.claim(t)
			changed, unwatch := b.WatchQuestions()
			defer unwatch()
			if _, err := b.Ask(b.ctx, run.ID, question("AAAAA"), item("anna", "May I?")); err != nil {
				t.Fatal(err)
			}
			for i, s := range append([]step{{do: func(*testing.T, *bundle) {}}}, steps...) {
				if s.do(t, b); poked(changed) != s.announced {
					t.Errorf("step %d is announced: %t", i, !s.announced)
				}
			}
		})
	}
}

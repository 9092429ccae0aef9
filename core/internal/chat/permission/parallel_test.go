package permission_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The same that is asked by two tools side by side is asked twice, and each gets an answer of its own.
func TestIdenticalQuestionsAreAnsweredSeparately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.taking = func() { time.Sleep(time.Second) } // so that both could see the answer
		d := r.desk(t)
		decided := make(chan agent.Decision, 2)
		for range 2 {
			go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), odd) }()
		}
		allowed := 0
		for _, answer := range []string{"once", "no"} {
			if _, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), r.next(t), answer); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-decided:
				if got.Allow {
					allowed++
				}
			case <-time.After(time.Minute):
				t.Fatal("a tool waits for an answer that was given")
			}
		}
		if allowed != 1 || len(r.questions) != 2 {
			t.Errorf("%d of 2 are allowed, %d were asked", allowed, len(r.questions))
		}
	})
}

// If one of several identical parallel questions gets a lasting permission, the others are not asked.
func TestGrantAnswersIdenticalQuestions(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	decided := make(chan agent.Decision, 3)
	for range 3 {
		go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), ls) }()
	}
	if _, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), r.next(t), "session"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := receive(t, decided); !got.Allow {
			t.Error(got)
		}
	}
}

// Where there are buttons a number does not give permission: it is for Claude, which may have asked
// for it in so many words. A choice is one of several, and several cannot be pressed.
func TestNumbersAreForClaudeWhereThereAreButtons(t *testing.T) {
	t.Parallel()
	for _, q := range []agent.Question{ls, plan, colour, odd} {
		synctest.Test(t, func(t *testing.T) {
			r := newFixture()
			d := r.desk(t)
			asked(t, d, r, runOf("owner", chat.Owner), q)
			if _, answer, ok := reading(t, d, caller("owner", chat.Owner), "1"); ok != (q.Tool == colour.Tool) {
				t.Errorf("%s is answered by %q", q.Tool, answer)
			}
		})
	}
}

// A reason is what is written next where a person said that there is one, not in another chat of theirs.
// Behaviour: ask-reason.
func TestReasonIsTakenFromTheSameChat(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), runOf("bob", chat.Other), ls) }()
	id := r.next(t)
	elsewhere := caller("owner", chat.Owner)
	elsewhere.Address.Chat = "group"
	if said, _, _ := d.Answer(t.Context(), elsewhere, id, "why"); !strings.Contains(said, "next message here") {
		t.Error(said)
	}
	if _, _, ok := reading(t, d, caller("owner", chat.Owner), "what time is it?"); ok {
		t.Error("a message in another chat is taken for the reason")
	}
	d = r.desk(t) // another process of the host keeps the promise
	if got, answer, ok := reading(t, d, elsewhere, "not now"); !ok || got != id || answer != "no not now" {
		t.Error(got, answer, ok)
	}
	d.End(t.Context(), "s", 7, false)
}

// Each of two people who have a reason gives it with their next message, also where both say so at once.
// Behaviour: ask-reason.
func TestTwoPeopleGiveReasons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		id, _, _ := asked(t, d, r, runOf("owner", chat.Owner), ls)
		announce := func(who string) {
			if reply, _, err := d.Answer(t.Context(), caller(who, chat.Owner), id, "why"); reply == "" || err != nil {
				t.Error(who, reply, err)
			}
		}
		r.meanwhile = func() { announce("another owner") }
		announce("owner")
		for _, who := range []string{"owner", "another owner"} {
			if got, answer, ok := reading(t, d, caller(who, chat.Owner), "not now"); !ok || got != id || answer != "no not now" {
				t.Error(who, got, answer, ok)
			}
		}
	})
}

// A question that another version has written and this one cannot read is over, and disturbs no others.
func TestAQuestionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, owner := newFixture(), caller("owner", chat.Owner)
	r.questions = []domain.Question{{ID: "ABCDE", Session: "s", Messages: []domain.QuestionMessage{{To: owner.Address}}, State: domain.QuestionOpen, Body: json.RawMessage(`{"about":5,"kind":1}`)}}
	d := r.desk(t)
	if err := d.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	said, known, err := d.Answer(t.Context(), owner, "ABCDE", "once")
	if said != "This question cannot be read any more." || !known || err != nil {
		t.Error(said, known, err)
	}
	if _, answer, ok := reading(t, d, owner, "1"); ok {
		t.Errorf("it is answered by %q", answer)
	}
	if open, err := d.Open(t.Context()); len(open) != 0 || err != nil {
		t.Errorf("%+v, %v", open, err)
	}
	d.End(t.Context(), "s", 7, false)
	d.Expire(t.Context())
}

package permission_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A question outlives the host, before it is answered and after.
// Behaviour: ask-durable.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newFixture()
	life, end := context.WithCancelCause(t.Context())
	first := r.desk(t)
	done := make(chan agent.Decision, 1)
	go func() { done <- first.Ask(life, runOf("owner", chat.Owner), ls) }()
	id := r.next(t)
	end(agent.ErrShutdown)
	receive(t, done)
	if r.questions[0].State != domain.QuestionOpen || len(r.edits) != 0 {
		t.Fatalf("the question is %s", r.questions[0].State)
	}
	second := r.desk(t)
	if said, known, err := second.Answer(t.Context(), caller("owner", chat.Owner), id, "once"); said != "" || !known || err != nil {
		t.Fatal(said, known, err)
	}
	if got := second.Ask(t.Context(), runOf("owner", chat.Owner), ls); !got.Allow {
		t.Errorf("the answer is lost: %+v", got)
	}
	r.next(t)
	// Another life finds it unanswered, and waits for the same message.
	go func() { done <- second.Ask(life, runOf("owner", chat.Owner), rm) }()
	id = r.next(t)
	receive(t, done)
	third := r.desk(t)
	if got, _ := ask(t, third, r, runOf("owner", chat.Owner), rm, caller("owner", chat.Owner), "once"); !got.Allow {
		t.Errorf("%+v", got)
	}
	if len(r.questions) != 2 || len(r.asked) != 2 {
		t.Errorf("%d questions, %d messages for %s", len(r.questions), len(r.asked), id)
	}
}

// A turn waits in its own chat, also where somebody else is asked; not where a grant spares the question.
// Behaviour: preview-behind.
func TestTurnsWaitForTheirQuestions(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d, owner := r.desk(t), caller("owner", chat.Owner)
	ask(t, d, r, runOf("owner", chat.Owner), ls, owner, "always")
	d.Ask(t.Context(), runOf("owner", chat.Owner), ls) // It was granted.
	ask(t, d, r, runOf("guest", chat.Authorised), rm, owner, "no")
	life, end := context.WithCancelCause(t.Context())
	done := make(chan agent.Decision, 1)
	go func() { done <- d.Ask(life, runOf("owner", chat.Owner), odd) }()
	r.next(t)
	end(agent.ErrShutdown)
	receive(t, done)
	ask(t, r.desk(t), r, runOf("owner", chat.Owner), odd, owner, "no")
	want := []string{
		"owner waits, sent true", "owner goes on", "guest waits, sent true", "guest goes on",
		"owner waits, sent true", "owner goes on", "owner waits, sent false", "owner goes on",
	}
	if diff := cmp.Diff(want, r.waits); diff != "" {
		t.Error(diff)
	}
}

// What was answered of several questions is kept until all are.
// Behaviour: ask-durable.
func TestRestartBetweenChoices(t *testing.T) {
	t.Parallel()
	r := newFixture()
	life, end := context.WithCancelCause(t.Context())
	first := r.desk(t)
	done := make(chan agent.Decision, 1)
	go func() { done <- first.Ask(life, runOf("owner", chat.Owner), colour) }()
	if _, known, err := first.Answer(t.Context(), caller("owner", chat.Owner), r.next(t), "blue"); !known || err != nil {
		t.Fatal(known, err)
	}
	r.next(t)
	end(agent.ErrShutdown)
	receive(t, done)
	got, _ := ask(t, r.desk(t), r, runOf("owner", chat.Owner), colour, caller("owner", chat.Owner), "next", "1,3")
	var given struct{ Answers map[string]string }
	if err := json.Unmarshal(got.Input, &given); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"Which colour?": "Blue", "Which sizes?": "S, L"}, given.Answers); diff != "" || len(r.asked) != 2 {
		t.Error(diff, len(r.asked))
	}
	for _, q := range r.questions {
		if q.State != domain.QuestionTaken {
			t.Errorf("the answer to %s is good for another turn: %s", q.Body, q.State)
		}
	}
}

// At the start what is asked in a conversation that no turn is in any more is over, whatever else the session does.
// Behaviour: ask-durable.
func TestQuestionsOfAConversationThatWasLeft(t *testing.T) {
	t.Parallel()
	r := newFixture()
	life, end := context.WithCancelCause(t.Context())
	first, done := r.desk(t), make(chan agent.Decision)
	left := runOf("owner", chat.Owner)
	left.Head.ClaudeSession = "c0"
	for run, q := range map[*conversation.Turn]agent.Question{left: ls, runOf("owner", chat.Owner): rm} {
		go func() { done <- first.Ask(life, run, q) }()
		r.next(t)
	}
	end(agent.ErrShutdown)
	receive(t, done)
	receive(t, done)
	r.unfinished = true
	if err := r.desk(t).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range r.questions {
		want := map[string]domain.QuestionState{"c0": domain.QuestionWithdrawn, "c1": domain.QuestionOpen}[q.ClaudeSession]
		if q.State != want {
			t.Errorf("a question of %s is %s", q.ClaudeSession, q.State)
		}
	}
}

// A permission that a turn did not take is not valid for a later one, even in another process of the host.
// Behaviour: ask-durable.
func TestAnAnswerIsForItsTurn(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"the same life": false, "another life": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			life, end := context.WithCancelCause(t.Context())
			d := r.desk(t)
			done := make(chan agent.Decision, 1)
			go func() { done <- d.Ask(life, runOf("owner", chat.Owner), ls) }()
			id := r.next(t)
			end(agent.ErrShutdown)
			receive(t, done)
			if _, known, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, "once"); !known || err != nil {
				t.Fatal(known, err)
			}
			if restarted {
				d = r.desk(t)
			}
			d.End(t.Context(), "s", 7, false)
			if said := r.edits[len(r.edits)-1]; said != "This answer came too late, Claude had gone on without it: Bash `ls -l`" {
				t.Errorf("said: %s", said)
			}
			if got, _ := ask(t, d, r, runOf("owner", chat.Owner), ls, caller("owner", chat.Owner), "no"); got.Allow {
				t.Error("a later turn has the leave")
			}
		})
	}
}

package permission_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/sdk/chat"
)

const page = "the state page"

// An operator decides without a chat, also where another person would be asked; the chat and the grants say who has.
// Behaviour: ask-operator.
func TestOperatorDecides(t *testing.T) {
	t.Parallel()
	for answer, test := range map[string]struct {
		q      agent.Question
		want   agent.Decision
		edit   string
		grants []domain.Grant
	}{
		"once": {q: ls, want: agent.Decision{Allow: true}, edit: "✅ Allowed once by an operator (the state page): Bash `ls -l`"},
		"always": {
			q: ls, want: agent.Decision{Allow: true}, edit: "✅ Always allowed here by an operator (the state page): Bash `ls -l`",
			grants: []domain.Grant{{Session: "s", Authority: chat.Authorised, Rule: "Bash(ls *)", By: page}},
		},
		"no not here": {
			q: rm, want: agent.Decision{Message: "It was not allowed, for this reason: not here"},
			edit: "❌ an operator (the state page) denied: Bash `rm -rf /tmp/x`\n\nnot here",
		},
		"yes": {q: plan, want: agent.Decision{Allow: true}, edit: "✅ Claude's plan: approved by an operator (the state page)."},
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			r.buttons = chat.ButtonLimits{}
			d := r.desk(t)
			decided := make(chan agent.Decision, 1)
			run := runOf("anna", chat.Authorised)
			go func() { decided <- d.Ask(t.Context(), run, test.q) }()
			id := r.next(t)
			if err := d.Decide(t.Context(), page, id, answer); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, receive(t, decided)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{test.edit}, r.edits); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.grants, r.grants); diff != "" {
				t.Error(diff)
			}
			closed := &permission.ClosedError{}
			if err := d.Decide(t.Context(), page, id, answer); !errors.As(err, &closed) || !closed.Answered {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// Behaviour: ask-operator.
func TestOperatorChooses(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), runOf("anna", chat.Authorised), colour) }()
	first := r.next(t)
	open, err := d.Open(t.Context())
	if err != nil || len(open) != 1 || open[0].Asked.Line != "Which colour?" || open[0].Asked.About != wording.AboutChoice {
		t.Fatalf("%+v, %v", open, err)
	}
	if diff := cmp.Diff([]permission.Option{{Word: "1", Label: "Red", Help: "warm"}, {Word: "2", Label: "Blue"}}, open[0].Options); diff != "" {
		t.Error(diff)
	}
	if err := d.Decide(t.Context(), page, first, "2"); err != nil {
		t.Fatal(err)
	}
	if err := d.Decide(t.Context(), page, r.next(t), "1,3"); err != nil {
		t.Fatal(err)
	}
	var got struct{ Answers map[string]string }
	if d := receive(t, decided); !d.Allow || json.Unmarshal(d.Input, &got) != nil || got.Answers["Which colour?"] != "Blue" || got.Answers["Which sizes?"] != "S, L" {
		t.Errorf("%+v, %s", got, d.Input)
	}
	if len(r.edits) != 2 || !strings.Contains(r.edits[0], "Blue, said an operator (the state page).") {
		t.Errorf("edits %q", r.edits)
	}
}

// Of an operator and a person the first counts, and the other is told.
// Behaviour: ask-operator.
func TestFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), ls) }()
	id := r.next(t)
	unfit := &permission.UnfitError{}
	for _, answer := range []string{"", "maybe", "why", "7", "go"} {
		if err := d.Decide(t.Context(), page, id, answer); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "once, session, always, no, no with a reason") {
			t.Errorf("%q: %v", answer, err)
		}
	}
	if err := d.Decide(t.Context(), page, "ZZZZZ", "once"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an unknown question: %v", err)
	}
	r.meanwhile = func() { // a person answers between the look at the question and the answer
		if said, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, "no"); said != "" || err != nil {
			t.Error(said, err)
		}
	}
	closed := &permission.ClosedError{}
	if err := d.Decide(t.Context(), page, id, "always"); !errors.As(err, &closed) || !closed.Answered {
		t.Errorf("the second answer: %v", err)
	}
	if got := receive(t, decided); got.Allow || len(r.grants) > 0 || len(r.edits) != 1 {
		t.Errorf("decided %+v, granted %+v, edits %q", got, r.grants, r.edits)
	}
}

// Work goes on in its chat, with the authority that it had, as if nobody in particular had asked for it.
// Behaviour: ask-operator.
func TestOperatorHasWorkGoOn(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	run := runOf("anna", chat.Authorised)
	run.Head.ConsumedAt = run.StartedAt.AddDate(1, 0, 0)
	if err := d.Offer(t.Context(), run, "It was given up."); err != nil {
		t.Fatal(err)
	}
	id := r.next(t)
	if err := d.Decide(t.Context(), page, id, "go"); err != nil {
		t.Fatal(err)
	}
	if len(r.sent) != 1 || !strings.HasSuffix(r.sent[0], ": s by  as authorised in anna: Go on from where you left off.") {
		t.Errorf("sent %q", r.sent)
	}
	if diff := cmp.Diff([]string{"It was given up.\n\n▶ Continued by an operator (the state page)."}, r.edits); diff != "" {
		t.Error(diff)
	}
	closed := &permission.ClosedError{}
	if err := d.Decide(t.Context(), page, id, "leave"); !errors.As(err, &closed) {
		t.Errorf("afterwards: %v", err)
	}
}

package permission_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestUnauthorisedPeopleCannotDecide: whatever a person who may not decide presses or writes, wherever, a question of an owner's turn stays open
// and grants nothing; and what was pressed under an older question answers no newer one.
func TestUnauthorisedPeopleCannotDecide(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]agent.Question{"a tool": ls, "a plan": plan, "a choice": colour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			d := r.desk(t)
			owner := caller("owner", chat.Owner)
			ask(t, d, r, runOf("owner", chat.Owner), rm, owner, "no")
			older := r.questions[0].ID

			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan agent.Decision, 1)
			go func() { done <- d.Ask(ctx, runOf("owner", chat.Owner), q) }()
			id := r.next(t)
			rapid.Check(t, func(t *rapid.T) {
				answer := rapid.OneOf(
					rapid.SampledFrom([]string{"once", "session", "always", "yes", "no", "why", "go", "leave", "1", "2", "3", "4", "Red", "1,2", "", "no because", "ONCE ", "allow"}),
					rapid.String(),
				).Draw(t, "answer")
				who := caller(rapid.SampledFrom([]string{"anna", "bob", "Owner", "owner "}).Draw(t, "who"), rapid.SampledFrom([]chat.Authority{0, chat.Other, chat.Authorised}).Draw(t, "authority"))
				who.Kind = rapid.SampledFrom([]chat.Kind{chat.Direct, chat.Group, chat.Broadcast}).Draw(t, "kind")
				who.Address.Chat = chat.ID(rapid.SampledFrom([]string{"owner", "anna", "elsewhere"}).Draw(t, "chat"))
				if _, _, err := d.Answer(t.Context(), who, id, answer); err != nil {
					t.Fatal(err)
				}
				written := domain.Message{Text: answer}
				if rapid.Bool().Draw(t, "reply") {
					written.ReplyTo = &chat.Quote{ID: "m2"}
				}
				to, reading, reads, err := answerOf(t.Context(), d, who, written, true)
				if err == nil && reads {
					_, err = d.Hear(t.Context(), to, reading, permission.Written{ID: "w", Text: answer, Caller: who})
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := d.Answer(t.Context(), owner, older, answer); err != nil {
					t.Fatal(err)
				}
				if now, err := r.Question(t.Context(), id); err != nil || now.State != domain.QuestionOpen || len(r.grants) > 0 {
					t.Fatalf("%q of %+v: the question is %s, %v, granted %v", answer, who, now.State, err, r.grants)
				}
			})
			cancel()
			receive(t, done)
		})
	}
}

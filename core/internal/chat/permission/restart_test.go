package permission_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
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

// screen is a chat that shows a turn, and keeps what could be seen.
type screen struct {
	stream.Surface

	seen []string
}

func (s *screen) Early(ctx context.Context, e domain.Early) (int64, error) {
	if e.Unpreview {
		s.seen = append(s.seen, "deleted")
	}
	if e.Preview != nil {
		return 1, s.Show(ctx, 0, e.Preview.Text)
	}
	return 0, nil
}

func (s *screen) Show(_ context.Context, _ int64, text string) error {
	s.seen = append(s.seen, text)
	return nil
}

func (*screen) Behind(context.Context) (time.Time, error) { return time.Time{}, nil }
func (*screen) Deletes() bool                             { return true }

// redrawn is when a change can be seen, and well before the running time of a tool is shown.
const redrawn = 1500 * time.Millisecond

// show has a run's chat show a turn in which a tool runs, until end is called.
func (s *screen) show(t *testing.T, chats *activity.Chats, run *conversation.Run) (end func()) {
	t.Helper()
	shown := stream.New(stream.Options{Mode: stream.Preview, To: run.Head.Message.Address()}, s, run.Run)
	shown.Start(t.Context())
	chats.Begin(shown, run.Head.Message.Address())
	shown.Progress(agent.Progress{Text: "Look", Running: []agent.ToolUse{{Name: "Bash"}}})
	time.Sleep(redrawn)
	synctest.Wait()
	s.seen = nil
	return func() { chats.End(shown); shown.End() }
}

// A turn waits in its own chat, also where another person is asked; not where a grant spares the question. What it shows moves
// behind a question that was sent, and hides the tool until it is answered.
// Behaviour: preview-behind.
func TestTurnsWaitForTheirQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		var own, guests screen
		defer own.show(t, r.chats, runOf("owner", chat.Owner))()
		defer guests.show(t, r.chats, runOf("guest", chat.Authorised))()
		sees := func(what string, s *screen, want ...string) {
			t.Helper()
			time.Sleep(redrawn)
			synctest.Wait()
			if diff := cmp.Diff(want, s.seen); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
			s.seen = nil
		}
		d, done := r.desk(t), make(chan agent.Decision, 1)
		answer := func(id, answer string) {
			t.Helper()
			if _, known, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, answer); !known || err != nil {
				t.Fatal(known, err)
			}
			receive(t, done)
		}
		go func() { done <- d.Ask(t.Context(), runOf("owner", chat.Owner), ls) }()
		id := r.next(t)
		sees("a question", &own, "deleted", "Look")
		answer(id, "always")
		sees("an answer", &own, "Look\n\n🔧 Bash")
		d.Ask(t.Context(), runOf("owner", chat.Owner), ls)
		sees("what was granted", &own)

		go func() { done <- d.Ask(t.Context(), runOf("guest", chat.Authorised), rm) }()
		id = r.next(t)
		sees("a guest's question", &guests, "deleted", "Look")
		answer(id, "no")
		sees("its answer", &guests, "Look\n\n🔧 Bash")
		sees("where it was asked", &own)

		life, end := context.WithCancelCause(t.Context())
		go func() { done <- d.Ask(life, runOf("owner", chat.Owner), odd) }()
		r.next(t)
		sees("another question", &own, "deleted", "Look")
		end(agent.ErrShutdown)
		receive(t, done)
		sees("the end of the host", &own, "Look\n\n🔧 Bash")
		d = r.desk(t)
		go func() { done <- d.Ask(t.Context(), runOf("owner", chat.Owner), odd) }()
		id = r.next(t)
		sees("a question that was sent before", &own, "Look")
		answer(id, "no")
		sees("its answer", &own, "Look\n\n🔧 Bash")
	})
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
	for run, q := range map[*conversation.Run]agent.Question{left: ls, runOf("owner", chat.Owner): rm} {
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

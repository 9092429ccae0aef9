package permission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: ask.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for answer, test := range map[string]struct {
		q      agent.Question
		want   agent.Decision
		edit   string
		grants []domain.Grant
	}{
		"once":    {q: ls, want: agent.Decision{Allow: true}, edit: "✅ Allowed once by Anna\\_owner: Bash `ls -l`"},
		"1":       {q: ls, want: agent.Decision{Allow: true}, edit: "✅ Allowed once by Anna\\_owner: Bash `ls -l`"},
		"Yes":     {q: ls, want: agent.Decision{Allow: true}, edit: "✅ Allowed once by Anna\\_owner: Bash `ls -l`"},
		"session": {q: ls, want: agent.Decision{Allow: true}, edit: "✅ Allowed for this conversation by Anna\\_owner: Bash `ls -l`", grants: []domain.Grant{{Session: "s", ClaudeSession: "c1", Authority: chat.Owner, Rule: "Bash(ls *)", By: "tg:owner"}}},
		"3":       {q: ls, want: agent.Decision{Allow: true}, edit: "✅ Always allowed here by Anna\\_owner: Bash `ls -l`", grants: []domain.Grant{{Session: "s", Authority: chat.Owner, Rule: "Bash(ls *)", By: "tg:owner"}}},
		"deny":    {q: ls, want: agent.Decision{Message: "It was not allowed."}, edit: "❌ Anna\\_owner denied: Bash `ls -l`"},
		"no not *here*": {
			q: rm, want: agent.Decision{Message: "It was not allowed, for this reason: not *here*"},
			edit: "❌ Anna\\_owner denied: Bash `rm -rf /tmp/x`\n\nnot \\*here\\*",
		},
		"yes": {q: plan, want: agent.Decision{Allow: true}, edit: "✅ Claude's plan: approved by Anna\\_owner."},
		"2":   {q: plan, want: agent.Decision{Message: "The plan was not approved."}, edit: "❌ Anna\\_owner denied: Claude's plan"},
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			d := r.desk(t)
			got, reply := ask(t, d, r, runOf("owner", chat.Owner), test.q, caller("owner", chat.Owner), answer)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{test.edit}, r.edits); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.grants, r.grants); diff != "" {
				t.Error(diff)
			}
			if reply[0] != "" || r.questions[0].State != domain.QuestionTaken {
				t.Errorf("got %q, the question is %s", reply[0], r.questions[0].State)
			}
			if said, known, err := d.Answer(t.Context(), caller("owner", chat.Owner), r.questions[0].ID, "no"); said != "This question is closed.\n\n"+test.edit || !known || err != nil {
				t.Errorf("a second answer: %q %v %v", said, known, err)
			}
		})
	}
}

// What was granted is not asked again, but only where it was granted: for the session, its authority, and its claude session.
// Behaviour: ask-grant.
func TestGrantsSpareTheQuestion(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	owner := caller("owner", chat.Owner)
	ask(t, d, r, runOf("owner", chat.Owner), ls, owner, "session")
	ask(t, d, r, runOf("owner", chat.Owner), odd, owner, "always")
	other := ls
	other.Input = json.RawMessage(`{"command":"ls /"}`)
	fresh := runOf("owner", chat.Owner)
	fresh.Head.ClaudeSession = "c2"
	if got := d.Ask(t.Context(), runOf("owner", chat.Owner), other); !got.Allow {
		t.Errorf("what fits the rule: %+v", got)
	}
	if got := d.Ask(t.Context(), fresh, odd); !got.Allow {
		t.Errorf("always: %+v", got)
	}
	if len(r.questions) != 2 {
		t.Errorf("%d questions", len(r.questions))
	}
	another := odd
	another.Input = json.RawMessage(`{"url":"https://example.org"}`)
	for name, test := range map[string]struct {
		run *conversation.Run
		q   agent.Question
	}{
		"another authority":      {runOf("anna", chat.Authorised), other},
		"another claude session": {fresh, other},
		"another rule":           {runOf("owner", chat.Owner), rm},
		"another input":          {runOf("owner", chat.Owner), another},
	} {
		if got, _ := ask(t, d, r, test.run, test.q, owner, "no"); got.Allow {
			t.Errorf("%s is not asked about", name)
		}
	}
}

// Of two who answer at once the first does, and nothing is left of what the other would have allowed.
// Behaviour: ask-grant.
func TestSecondAnswerGrantsNothing(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan agent.Decision, 1)
	go func() { done <- d.Ask(ctx, runOf("owner", chat.Owner), ls) }()
	id := r.next(t)
	r.meanwhile = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.questions[0].State, r.questions[0].Answer = domain.QuestionAnswered, json.RawMessage(`{"allow":false}`)
	}
	if said, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, "always"); said != "This question is closed." || err != nil {
		t.Error(said, err)
	}
	if len(r.grants) != 0 {
		t.Errorf("granted: %+v", r.grants)
	}
	end()
	receive(t, done)
}

// A turn that says nothing in its chat asks nothing there either. What was granted before it may do.
// Behaviour: ask-silent.
func TestSilentTurnAsksNoQuestions(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	silent := runOf("owner", chat.Owner)
	silent.Head.Message.Silent = true
	for _, q := range []agent.Question{ls, plan, colour} {
		want := agent.Decision{Message: "Nobody can be asked, because nothing of this turn is sent to the chat. Go on without it."}
		if diff := cmp.Diff(want, d.Ask(t.Context(), silent, q)); diff != "" || len(r.asked) != 0 {
			t.Errorf("%s: %s, asked %+v", q.Tool, diff, r.asked)
		}
	}
	ask(t, d, r, runOf("owner", chat.Owner), ls, caller("owner", chat.Owner), "always")
	if got := d.Ask(t.Context(), silent, ls); !got.Allow {
		t.Errorf("what was granted: %+v", got)
	}
}

// People are asked for permission also in turns that no person started, with their purpose. A memory flush has nothing
// else to ask them.
// Behaviour: ask-background.
func TestQuestionsOfBackgroundTurns(t *testing.T) {
	t.Parallel()
	for origin, test := range map[domain.Origin]struct {
		purpose string
		asks    []agent.Question
		refused []agent.Question
	}{
		"":                     {asks: []agent.Question{ls, plan, colour}},
		domain.OriginHeartbeat: {purpose: "it is part of the heartbeat", asks: []agent.Question{ls, plan, colour}},
		domain.OriginFlush:     {purpose: "before this conversation is compacted", asks: []agent.Question{ls}, refused: []agent.Question{plan, colour}},
	} {
		r := newFixture()
		d := r.desk(t)
		run := runOf("owner", chat.Owner)
		run.Head.Message.Origin = origin
		for _, q := range test.refused {
			want := agent.Decision{Message: "Nobody is asked, because nobody has asked for this turn. Decide yourself what is worth keeping."}
			if diff := cmp.Diff(want, d.Ask(t.Context(), run, q)); diff != "" || len(r.asked) != 0 {
				t.Errorf("%q, %s: %s, asked %+v", origin, q.Tool, diff, r.asked)
			}
		}
		for _, q := range test.asks {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan agent.Decision, 1)
			go func() { done <- d.Ask(ctx, run, q) }()
			r.next(t)
			cancel()
			receive(t, done)
			if text := r.asked[len(r.asked)-1].Text; strings.Contains(text, "Nobody asked") != (origin != "") || !strings.Contains(text, test.purpose) {
				t.Errorf("%q, %s: %s", origin, q.Tool, text)
			}
		}
	}
}

// The memory flush of a conversation that is not an owner's writes none of the owner's files, and asks no one.
// Behaviour: ask-background, memory-flush-when.
func TestTheFlushOfAGroupWritesNoFiles(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	write := agent.Question{Tool: "Write", Input: json.RawMessage(`{"file_path":"` + testWorkspace + `/MEMORY.md","content":"x"}`)}
	for authority, want := range map[chat.Authority]bool{chat.Owner: true, chat.Other: false} {
		run := runOf("owner", authority)
		run.Head.Message.Origin, run.Head.Message.Silent = domain.OriginFlush, authority != chat.Owner
		if got := d.Ask(t.Context(), run, write); got.Allow != want || len(r.asked) != 0 {
			t.Errorf("as %v: %+v, asked %+v", authority, got, r.asked)
		}
	}
}

// The end of a run comes a moment after its completion, when the next one of its session may ask already.
// Behaviour: ask-time.
func TestEndKeepsQuestionsOfTheNextRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		before, next := runOf("owner", chat.Owner), runOf("owner", chat.Owner)
		next.ID = 8
		ctx, cutOff := context.WithCancel(t.Context())
		decided := make(chan agent.Decision, 1)
		go func() { decided <- d.Ask(ctx, before, ls) }()
		r.next(t)
		cutOff()
		receive(t, decided)
		for _, q := range []agent.Question{ls, rm} { // one that the run before has asked, too, and a new one
			go func() { decided <- d.Ask(t.Context(), next, q) }()
			id := r.next(t)
			synctest.Wait() // until it waits for the answer
			d.End(t.Context(), "s", before.ID, false)
			if said, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, "once"); said != "" || err != nil {
				t.Fatal(said, err)
			}
			if got := receive(t, decided); !got.Allow {
				t.Errorf("%s: %+v", q.Input, got)
			}
		}
		go func() { decided <- d.Ask(t.Context(), next, colour) }()
		for _, answer := range []string{"1", "2"} { // the first is answered, and not taken, while the second is asked
			id := r.next(t)
			synctest.Wait()
			d.End(t.Context(), "s", before.ID, false)
			if said, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, answer); said != "" || err != nil {
				t.Fatal(said, err)
			}
		}
		if got := receive(t, decided); !got.Allow {
			t.Errorf("%+v", got)
		}
		d.End(t.Context(), "s", next.ID, false)
		if len(r.edits) != 4 {
			t.Errorf("what was answered and taken has ended, too: %q", r.edits)
		}
	})
}

// If the end of a run closes a question while the next run asks the same one, it is asked again.
// Behaviour: ask-time.
func TestQuestionClosedByEarlierRunIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		_, decided, cutOff := asked(t, d, r, runOf("owner", chat.Owner), ls)
		cutOff(agent.ErrShutdown)
		receive(t, decided)
		next := runOf("owner", chat.Owner)
		next.ID = 8
		again := make(chan agent.Decision, 1)
		r.meanwhile = func() {
			go func() { again <- d.Ask(t.Context(), next, ls) }()
			r.next(t)
			synctest.Wait() // until it waits for the answer
		}
		d.End(t.Context(), "s", 7, false)
		if _, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), r.next(t), "once"); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-again:
			if !got.Allow || len(r.questions) != 2 {
				t.Errorf("%+v, after %d questions", got, len(r.questions))
			}
		case <-time.After(time.Minute):
			t.Error("the next run waits for an answer that it has")
		}
	})
}

// Behaviour: ask-who, ask-owner.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	const refused = "Only an owner, or somebody named in the config for it, can answer this."
	r := newFixture()
	d := r.desk(t)
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), runOf("anna", chat.Authorised), ls) }()
	id := r.next(t)
	if said, _, _ := d.Answer(t.Context(), caller("anna", chat.Authorised), id, "once"); said != refused {
		t.Errorf("the person themselves: %q", said)
	}
	if reply := r.asked[0]; reply.To.Chat != "anna" || reply.Text != "I need an owner's permission to use Bash, and have asked for it." {
		t.Errorf("told in %s: %s", reply.To.Chat, reply.Text)
	}
	if q := r.asked[1]; q.To.Chat != "owner" || !strings.Contains(q.Text, "working for `Anna_anna`") {
		t.Errorf("asked in %s: %s", q.To.Chat, q.Text)
	}
	if said, known, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, "once"); said != "" || !known || err != nil {
		t.Error(said, known, err)
	}
	if got := receive(t, decided); !got.Allow {
		t.Errorf("%+v", got)
	}
	// People may answer questions about their own wishes. Nobody else may, except those who may decide.
	go func() { decided <- d.Ask(t.Context(), runOf("anna", chat.Other), colour) }()
	id = r.next(t)
	if said, _, _ := d.Answer(t.Context(), caller("bob", chat.Other), id, "1"); said != refused {
		t.Errorf("another person: %q", said)
	}
	for _, answer := range []string{"2", "1,3"} {
		if said, _, err := d.Answer(t.Context(), caller("anna", chat.Other), id, answer); said != "" || err != nil {
			t.Error(said, err)
		}
		if answer == "2" {
			id = r.next(t)
		}
	}
	got := receive(t, decided)
	var input struct{ Answers map[string]string }
	if err := json.Unmarshal(got.Input, &input); err != nil || !got.Allow {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(map[string]string{"Which colour?": "Blue", "Which sizes?": "S, L"}, input.Answers); diff != "" {
		t.Error(diff)
	}
}

func TestAskWithoutAnyoneToAsk(t *testing.T) {
	t.Parallel()
	for _, r := range []*fixture{{posted: make(chan string, 1), unheard: true}, {posted: make(chan string, 1), refuse: errors.New("the disk is full")}} {
		got := r.desk(t).Ask(t.Context(), runOf("anna", chat.Authorised), ls)
		if diff := cmp.Diff(agent.Decision{Message: "Nobody could be asked, because the host failed to. Go on without it."}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Behaviour: ask.
func TestReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.buttons = chat.ButtonLimits{}
		d := r.desk(t)
		owner := caller("owner", chat.Owner)
		if _, _, ok := reading(t, d, owner, "1"); ok {
			t.Error("a number answers although nothing is asked")
		}
		decided := make(chan agent.Decision, 2)
		go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), ls) }()
		id := r.next(t)
		synctest.Wait()
		for text, want := range map[string]bool{"2": true, " 4 ": true, "6": false, "0": false, "yes": false, "2 apples": false, "": false} {
			if got, _, ok := reading(t, d, owner, text); ok != want || ok && got != id {
				t.Errorf("%q answers: %v", text, ok)
			}
		}
		if _, _, ok := reading(t, d, caller("bob", chat.Other), "1"); ok {
			t.Error("another person's number answers")
		}
		// Who says that they have a reason gives it with their next message.
		if said, _, _ := d.Answer(t.Context(), owner, id, "why"); said == "" {
			t.Error("the reason is not asked for")
		}
		got, answer, ok := reading(t, d, owner, "it is late")
		if !ok || got != id || answer != "no it is late" {
			t.Fatal(got, answer, ok)
		}
		if _, _, err := d.Answer(t.Context(), owner, got, answer); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, decided); got.Message != "It was not allowed, for this reason: it is late" {
			t.Errorf("%+v", got)
		}
		// Of two open questions a number could mean either.
		ctx, end := context.WithCancelCause(t.Context())
		go func() { decided <- d.Ask(ctx, runOf("owner", chat.Owner), ls) }()
		go func() { decided <- d.Ask(ctx, runOf("owner", chat.Owner), rm) }()
		r.next(t)
		r.next(t)
		synctest.Wait()
		if _, _, ok := reading(t, d, owner, "1"); ok {
			t.Error("a number answers one of two questions")
		}
		end(agent.ErrShutdown)
		synctest.Wait()
		d.End(t.Context(), "s", 7, false)
		if _, _, ok := reading(t, d, owner, "1"); ok {
			t.Error("a number answers a question that is over")
		}
		for _, q := range r.questions[1:] {
			if q.State != domain.QuestionWithdrawn {
				t.Errorf("%+v", q)
			}
		}
	})
}

// Behaviour: ask-timeout.
func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		began := time.Now()
		got := d.Ask(t.Context(), runOf("owner", chat.Owner), ls)
		if waited := time.Since(began); got.Allow || got.Message != "Nobody answered in time." || waited != time.Hour {
			t.Errorf("%+v after %v", got, waited)
		}
		if diff := cmp.Diff([]string{"⌛ Nobody answered within an hour, so it counts as no: Bash `ls -l`"}, r.edits); diff != "" || r.questions[0].State != domain.QuestionExpired {
			t.Error(diff, r.questions[0].State)
		}
	})
}

// A question that claude withdraws, or whose turn has lost its lane, is retired at once.
// Behaviour: ask-time.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{agent.ErrWithdrawn, domain.ErrFenced} {
		r := newFixture()
		d := r.desk(t)
		ctx, end := context.WithCancelCause(t.Context())
		done := make(chan agent.Decision, 1)
		go func() { done <- d.Ask(ctx, runOf("owner", chat.Owner), ls) }()
		r.next(t)
		end(cause)
		receive(t, done)
		if diff := cmp.Diff([]string{"This question is closed: Bash `ls -l`"}, r.edits); diff != "" || r.questions[0].State != domain.QuestionWithdrawn {
			t.Error(cause, diff, r.questions[0].State)
		}
	}
}

// Behaviour: ask.
func TestTexts(t *testing.T) {
	t.Parallel()
	hostile := agent.Question{
		Tool: "Ba*sh", Input: json.RawMessage(`{"command":"echo '` + "```" + `'\n\u202etxt.exe\u200b","x":1}`), Description: "Looks\nharmless **really**",
		Suggested: []string{"Bash(echo `id`)", "Bash(rm)"},
	}
	long := agent.Question{Tool: "Write", Input: json.RawMessage(fmt.Sprintf(`{"file_path":"/a/b.txt","content":%q}`, strings.Repeat("x", 4000)))}
	var all strings.Builder
	for _, q := range []agent.Question{ls, rm, odd, plan, colour, hostile, long} {
		for _, limits := range []chat.ButtonLimits{{Rows: 8, Columns: 2, DataBytes: 64}, {}} {
			r := newFixture()
			r.buttons = limits
			d := r.desk(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan agent.Decision, 1)
			go func() { done <- d.Ask(ctx, runOf("owner", chat.Owner), q) }()
			id := r.next(t)
			cancel()
			receive(t, done)
			fmt.Fprintf(&all, "=== %s, buttons %d\n%s\n", q.Tool, limits.Rows, r.asked[0].Text)
			for _, row := range r.asked[0].Buttons {
				for _, b := range row {
					fmt.Fprintf(&all, "[%s](%s) ", b.Label, b.Data)
				}
				all.WriteString("\n")
			}
			text := strings.ReplaceAll(all.String(), id, "AB2CD")
			all.Reset()
			all.WriteString(text)
		}
	}
	path := filepath.Join("testdata", "texts.golden")
	if *update {
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Error("run the tests with -update if this is meant:", diff)
	}
}

// Whatever the model asks, the message can be sent and answered.
func FuzzQuestion(f *testing.F) {
	for _, q := range []agent.Question{ls, rm, odd, plan, colour} {
		f.Add(q.Tool, string(q.Input), q.Description)
	}
	f.Fuzz(func(t *testing.T, tool, input, description string) {
		if !json.Valid([]byte(input)) {
			return
		}
		r := newFixture()
		d := r.desk(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan agent.Decision, 1)
		go func() {
			done <- d.Ask(ctx, runOf("owner", chat.Owner), agent.Question{Tool: tool, Input: json.RawMessage(input), Description: description})
		}()
		select {
		case <-r.posted:
			cancel()
			receive(t, done)
			if r.asked[0].Text == "" || len([]rune(r.asked[0].Text)) > 10_000 {
				t.Errorf("%d characters", len([]rune(r.asked[0].Text)))
			}
		case got := <-done:
			cancel()
			if got.Allow {
				t.Errorf("allowed without asking: %+v", got)
			}
		}
	})
}

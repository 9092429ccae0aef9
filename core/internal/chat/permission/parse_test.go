package permission_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// reading is what a plain message that is addressed to the agent and replies to nothing is read as.
func reading(t *testing.T, d *permission.Approvals, who chat.Caller, text string) (id, answer string, ok bool) {
	t.Helper()
	id, answer, ok, err := answerOf(t.Context(), d, who, domain.Message{Text: text}, true)
	if err != nil {
		t.Fatal(err)
	}
	return id, answer, ok
}

// asked has a person's turn ask in the background, and returns the question's id. The turn waits until the test, which runs
// in a bubble, ends, or until it is ended.
func asked(t *testing.T, d *permission.Approvals, r *fixture, run *conversation.Run, q agent.Question) (id string, decided <-chan agent.Decision, end context.CancelCauseFunc) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	decisions := make(chan agent.Decision, 1)
	go func() { decisions <- d.Ask(ctx, run, q) }()
	id = r.next(t)
	synctest.Wait()
	t.Cleanup(func() { end(agent.ErrShutdown) })
	return id, decisions, end
}

// reads reports whether a number answers a question.
func reads(t *testing.T, d *permission.Approvals, q domain.Question) bool {
	t.Helper()
	who := caller("owner", chat.Owner)
	who.Address = q.To()
	_, _, ok, err := answerOf(t.Context(), d, who, domain.Message{Text: "1", ReplyTo: &chat.Quote{ID: "m1"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// inGroup makes a caller, or a run, be of a group.
var group = chat.Address{Channel: "tg", Chat: "group"}

func inGroup(c chat.Caller) chat.Caller {
	c.Address, c.Kind = group, chat.Group
	return c
}

// What is written while something is asked is an answer, or is not.
// Behaviour: ask-words, ask-no-approval-by-words.
func TestMessagesThatAnswerQuestions(t *testing.T) {
	t.Parallel()
	owner, bob, carol := caller("owner", chat.Owner), caller("bob", chat.Other), caller("carol", chat.Other)
	counted := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"How many?","options":[{"label":"2"},{"label":"1"}]}]}`)}
	sizes := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Which sizes?","options":[{"label":"Small one"},{"label":"Large"}],"multiSelect":true}]}`)}
	buttons := chat.ButtonLimits{Rows: 8, Columns: 3, DataBytes: 64}
	const unread = ""
	for name, test := range map[string]struct {
		ask       []agent.Question // by Bob, in his chat or the group
		buttons   chat.ButtonLimits
		who       chat.Caller
		unheard   bool // it is not addressed to the agent
		reply     chat.MessageID
		says      string
		want      string
		otherwise bool // the owner asks, in their own chat
	}{
		"words for a choice":                     {ask: []agent.Question{colour}, buttons: buttons, who: bob, says: "neither, thank you", want: "neither, thank you"},
		"words for a choice with numbers":        {ask: []agent.Question{colour}, who: bob, says: "neither", want: "neither"},
		"a label":                                {ask: []agent.Question{colour}, buttons: buttons, who: bob, says: " blue", want: "2"},
		"a label among words":                    {ask: []agent.Question{colour}, buttons: buttons, who: bob, says: "blue, I think", want: "blue, I think"},
		"a number":                               {ask: []agent.Question{colour}, buttons: buttons, who: bob, says: "2", want: "2"},
		"a number that is a label":               {ask: []agent.Question{counted}, buttons: buttons, who: bob, says: "2", want: "1"},
		"a number that is a label, and numbered": {ask: []agent.Question{counted}, who: bob, says: "2", want: "2"},
		"labels":                                 {ask: []agent.Question{sizes}, buttons: buttons, who: bob, says: "large, small one", want: "2,1"},
		"too many labels":                        {ask: []agent.Question{colour}, buttons: buttons, who: bob, says: "red, blue", want: "red, blue"},
		"words where more is asked":              {ask: []agent.Question{sizes, colour}, buttons: buttons, who: bob, says: "neither", want: unread},
		"a number where more is asked":           {ask: []agent.Question{sizes, colour}, buttons: buttons, who: bob, says: "1", want: unread},
		"a reply where more is asked":            {ask: []agent.Question{sizes, colour}, buttons: buttons, who: bob, reply: "m2", says: "neither", want: "neither"},
		"a reply to something else":              {ask: []agent.Question{colour}, buttons: buttons, who: bob, reply: "m77", says: "blue", want: unread},
		"another person's words":                 {ask: []agent.Question{colour}, buttons: buttons, who: inGroup(carol), says: "blue", want: unread},
		"another person's reply":                 {ask: []agent.Question{colour}, buttons: buttons, who: inGroup(carol), reply: "m1", says: "blue", want: unread},
		"words in a group":                       {ask: []agent.Question{colour}, buttons: buttons, who: inGroup(bob), unheard: true, says: "neither", want: unread},
		"a number in a group":                    {ask: []agent.Question{colour}, who: inGroup(bob), unheard: true, says: "1", want: unread},
		"words in a group for the agent":         {ask: []agent.Question{colour}, buttons: buttons, who: inGroup(bob), says: "neither", want: "neither"},
		"a reply in a group":                     {ask: []agent.Question{colour}, buttons: buttons, who: inGroup(bob), unheard: true, reply: "m1", says: "neither", want: "neither"},
		"an owner's words in a group":            {ask: []agent.Question{colour}, buttons: buttons, who: inGroup(owner), says: "neither", want: "neither"},
		"leave by a number in a group":           {ask: []agent.Question{ls}, who: inGroup(owner), unheard: true, says: "1", want: unread},
		"words where leave is asked for":         {otherwise: true, ask: []agent.Question{ls}, who: owner, says: "yes, please", want: unread},
		"yes where leave is asked for":           {otherwise: true, ask: []agent.Question{ls}, who: owner, says: "yes", want: unread},
		"words beside a question for leave":      {otherwise: true, ask: []agent.Question{ls, colour}, buttons: buttons, who: owner, says: "neither", want: unread},
		"a label beside a question for leave":    {otherwise: true, ask: []agent.Question{ls, colour}, buttons: buttons, who: owner, says: "Red", want: "1"},
		"a number beside buttons":                {otherwise: true, ask: []agent.Question{ls}, buttons: buttons, who: owner, says: "1", want: unread},
		"a number as a reply":                    {otherwise: true, ask: []agent.Question{ls}, buttons: buttons, who: owner, reply: "m1", says: "1", want: "1"},
		"yes as a reply":                         {otherwise: true, ask: []agent.Question{ls}, buttons: buttons, who: owner, reply: "m1", says: "Yes", want: "Yes"},
		"words as a reply":                       {otherwise: true, ask: []agent.Question{ls}, buttons: buttons, who: owner, reply: "m1", says: "yes, but quietly", want: "no yes, but quietly"},
		"why, as a reply":                        {otherwise: true, ask: []agent.Question{ls}, buttons: buttons, who: owner, reply: "m1", says: "why", want: "no why"},
		"what is wrong with a plan":              {otherwise: true, ask: []agent.Question{plan}, buttons: buttons, who: owner, reply: "m1", says: "use less", want: "no use less"},
		"yes to a plan":                          {otherwise: true, ask: []agent.Question{plan}, buttons: buttons, who: owner, reply: "m1", says: "y", want: "y"},
		"nothing":                                {ask: []agent.Question{colour}, buttons: buttons, who: bob, says: " ", want: unread},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				r.buttons = test.buttons
				d := r.desk(t)
				run := runOf("bob", chat.Other)
				if test.otherwise {
					run = runOf("owner", chat.Owner)
				}
				if test.who.Kind == chat.Group {
					run.Head.Message.Chat = chat.Chat{ID: group.Chat, Kind: chat.Group}
				}
				for _, q := range test.ask {
					asked(t, d, r, run, q)
				}
				message := domain.Message{Text: test.says}
				if test.reply != "" {
					message.ReplyTo = &chat.Quote{ID: test.reply}
				}
				_, answer, ok, err := answerOf(t.Context(), d, test.who, message, !test.unheard)
				if answer != test.want || ok != (test.want != unread) {
					if ok || test.want != unread {
						t.Errorf("%q is read as %q (%v), want %q", test.says, answer, ok, test.want)
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func wrote(who chat.Caller, text string) permission.Written {
	return permission.Written{ID: "u1", Text: text, Caller: who}
}

// Words are the answer, whole and once; heard again, as after a crash, they are nothing more.
// Behaviour: ask-late-words.
func TestWordsAreHeardOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		bob := caller("bob", chat.Other)
		one := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Which colour?","options":[{"label":"Red"},{"label":"Blue"}]}]}`)}
		id, decided, _ := asked(t, d, r, runOf("bob", chat.Other), one)
		words := strings.Repeat("the one that we had last year, ", 200)
		for range 2 {
			if reply, err := d.Hear(t.Context(), id, words, wrote(bob, words)); reply != "" || err != nil {
				t.Error(reply, err)
			}
		}
		var input struct{ Answers map[string]string }
		if err := json.Unmarshal(receive(t, decided).Input, &input); err != nil {
			t.Fatal(err)
		}
		if got := input.Answers["Which colour?"]; got != strings.TrimSpace(words) {
			t.Errorf("Claude gets %d characters of %d", len(got), len(words))
		}
		if len(r.sent) != 0 || len(r.edits) != 1 {
			t.Errorf("got %q, edits %q", r.sent, r.edits)
		}
	})
}

// Words that come too late become an ordinary message; a number that gives permission does not.
// Behaviour: ask-late-words.
func TestWordsThatComeTooLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		q      agent.Question
		answer string
		said   string
		want   []string
	}{
		"words for a choice": {colour, "neither", "This question is closed. Claude gets your text as a message.", []string{"words:u1: s by owner as owner in owner: as written"}},
		"a reason":           {ls, "no use less", "This question is closed. Claude gets your text as a message.", []string{"words:u1: s by owner as owner in owner: as written"}},
		"leave":              {ls, "1", "This question is closed.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				d := r.desk(t)
				id, _, end := asked(t, d, r, runOf("owner", chat.Owner), test.q)
				end(agent.ErrShutdown)
				d.End(t.Context(), "s", 7, false)
				reply, err := d.Hear(t.Context(), id, test.answer, wrote(caller("owner", chat.Owner), "as written"))
				if reply != test.said || err != nil {
					t.Error(reply, err)
				}
				if diff := cmp.Diff(test.want, r.sent); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// An answer in words that no turn takes becomes a message, whether the turn ended in this process of the host or in the
// previous one. If the turn was stopped, the answer is dropped.
// Behaviour: ask-late-words.
func TestWordsThatNoTurnTakes(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"the same life": false, "another life": true, "a stopped turn": false, "as it ends": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				d := r.desk(t)
				id, decided, end := asked(t, d, r, runOf("bob", chat.Other), colour)
				end(agent.ErrShutdown)
				receive(t, decided)
				hear := func() {
					if reply, err := d.Hear(t.Context(), id, "neither", wrote(caller("bob", chat.Other), "neither")); reply != "" || err != nil {
						t.Fatal(reply, err)
					}
				}
				if name == "as it ends" {
					r.meanwhile = hear
				} else {
					hear()
				}
				if restarted {
					d = r.desk(t)
					r.unfinished = true
					if err := d.Recover(t.Context()); err != nil || len(r.sent) != 0 {
						t.Fatal(err, r.sent) // the turn may ask the same again
					}
					r.unfinished = false
					if err := d.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				} else {
					d.End(t.Context(), "s", 7, name == "a stopped turn")
				}
				reply, edit := []string{"words:u1: s by bob as other in bob: neither"}, "This answer came too late, so Claude gets it as a message: Which colour?"
				if name == "a stopped turn" {
					reply, edit = nil, "This answer came too late, Claude had gone on without it: Which colour?"
				}
				if diff := cmp.Diff(reply, r.sent); diff != "" {
					t.Error(diff)
				}
				if said := r.edits[len(r.edits)-1]; said != edit {
					t.Errorf("said: %s", said)
				}
			})
		})
	}
}

// Words that a turn takes in the moment in which they are written are its answer, and no separate message.
func TestAnswerTakenAtOnceIsNoMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Which colour?","options":[{"label":"Red"},{"label":"Blue"}]}]}`)}
		r := newFixture()
		d := r.desk(t)
		id, decided, end := asked(t, d, r, runOf("bob", chat.Other), one)
		end(agent.ErrShutdown)
		receive(t, decided)
		again := make(chan agent.Decision, 1)
		r.afterwards = func() {
			r.afterwards = nil
			go func() { again <- d.Ask(t.Context(), runOf("bob", chat.Other), one) }()
			r.next(t)
			synctest.Wait() // the turn is as far as it comes
		}
		if reply, err := d.Hear(t.Context(), id, "neither", wrote(caller("bob", chat.Other), "neither")); reply != "" || err != nil {
			t.Fatal(reply, err)
		}
		if got := receive(t, again); !got.Allow {
			t.Fatalf("the turn is told: %+v", got)
		}
		d.End(t.Context(), "s", 7, false)
		if len(r.sent) != 0 {
			t.Errorf("told as a message, too: %q", r.sent)
		}
	})
}

// The writer of a message that is no answer learns that Claude reads it later; not for a question elsewhere, or an offer.
// Behaviour: ask-no-approval-by-words.
func TestUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		bob, owner := caller("bob", chat.Other), caller("owner", chat.Owner)
		if _, _, ok, err := d.OpenNotice(t.Context(), bob); ok || err != nil {
			t.Error("nothing is asked", err)
		}
		if err := d.Offer(t.Context(), runOf("bob", chat.Other), "I gave it up."); err != nil {
			t.Fatal(err)
		}
		r.next(t)
		if _, _, ok, err := d.OpenNotice(t.Context(), bob); ok || err != nil {
			t.Error("an offer keeps nothing waiting", err)
		}
		asked(t, d, r, runOf("bob", chat.Other), ls) // of the owner
		owner.Session = "another"
		if _, _, ok, err := d.OpenNotice(t.Context(), owner); ok || err != nil {
			t.Error("the owner's own session waits for nothing", err)
		}
		id, _, _ := asked(t, d, r, runOf("bob", chat.Other), colour)
		if got, reply, ok, err := d.OpenNotice(t.Context(), bob); got != id || reply == "" || !ok || err != nil {
			t.Error(got, reply, ok, err)
		}
	})
}

// A question whose message is given up is over at once, whether its turn waits already or not, and the chat gets what was asked.
// Behaviour: ask-undelivered.
func TestUndeliverable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run   *conversation.Run
		q     agent.Question
		reply string
	}{
		"a tool":          {runOf("owner", chat.Owner), ls, "I asked for permission to use Bash `ls -l`. Nobody could answer, so it counted as no."},
		"for another one": {runOf("bob", chat.Other), ls, "I asked an owner for permission to use Bash `ls -l`. Nobody could answer, so it counted as no."},
		"a plan":          {runOf("owner", chat.Owner), plan, "I asked whether my plan may go ahead. Nobody could answer, so it counted as no."},
		"a choice":        {runOf("bob", chat.Other), colour, "I asked: Which colour? Nobody could answer, so I went on without it."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				d := r.desk(t)
				_, decided, _ := asked(t, d, r, test.run, test.q)
				if got := r.questions[0].Unseen; got != test.reply {
					t.Errorf("the chat gets %q", got)
				}
				r.announce() // of another item
				synctest.Wait()
				if len(decided) != 0 {
					t.Error("the turn waits no longer")
				}
				r.questions[0].State = domain.QuestionUnseen
				r.announce()
				select {
				case got := <-decided:
					if got.Allow || got.Message != "The question could not be delivered, so nobody has answered it." {
						t.Errorf("%+v", got)
					}
				case <-time.After(time.Minute):
					t.Error("the turn waits for an answer to what no one sees")
				}
				if open := r.questions[0]; reads(t, d, open) {
					t.Error("the question is open still")
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.lost = true
		d := r.desk(t)
		r.shown = r.announce
		began := time.Now()
		if got := d.Ask(t.Context(), runOf("owner", chat.Owner), ls); got.Allow || time.Since(began) != 0 {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
	})
}

// Words that arrive at the moment when the question appears are its answer, although the turn that asks does not know yet
// that it is stored.
// Behaviour: ask-words.
func TestWordsAsSoonAsTheQuestionIsSeen(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d, owner := r.desk(t), caller("owner", chat.Owner)
	type read struct {
		id, answer string
		err        error
	}
	reads := make(chan read, 1)
	r.shown = func() {
		id, answer, _, err := answerOf(t.Context(), d, owner, domain.Message{Text: "Blue"}, true)
		reads <- read{id, answer, err}
	}
	decided := make(chan agent.Decision, 1)
	one := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Which colour?","options":[{"label":"Red"},{"label":"Blue"}]}]}`)}
	go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), one) }()
	id := r.next(t)
	if got, want := <-reads, (read{id: id, answer: "2"}); got != want {
		t.Fatalf("read as %+v, want %+v", got, want)
	}
	if reply, _, err := d.Answer(t.Context(), owner, id, "2"); reply != "" || err != nil {
		t.Fatal(reply, err)
	}
	if got := receive(t, decided); !got.Allow {
		t.Errorf("%+v", got)
	}
}

package permission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// people is a config with two owners and an approver.
func people(to []string, escalateAfter time.Duration) *config.Config {
	return &config.Config{
		Settings:  config.Settings{Access: config.Access{Owners: []string{"tg:owner", "tg:olga", "irc:away"}, Approvers: []string{"tg:ann", "tg:annie"}}, Session: config.Session{IdentityLinks: map[string][]string{"Ann": {"tg:annie", "tg:ann"}}}},
		Approvals: config.Approvals{To: to, EscalateAfter: escalateAfter},
	}
}

func groupRun(user string, authority chat.Authority) *conversation.Run {
	run := runOf(user, authority)
	run.Head.Message.Chat = chat.Chat{ID: "group", Title: "Family", Kind: chat.Group}
	run.Caller.Address, run.Caller.Kind = group, chat.Group
	return run
}

// nobodys is a turn in an owner's chat that no person has begun.
func nobodys() *conversation.Run {
	run := runOf("owner", chat.Owner)
	run.Head.Message.Sender, run.Caller.Sender = chat.Sender{}, chat.Sender{}
	return run
}

// Who is asked, and when, if nobody answers.
// Behaviour: ask-others, ask-owner.
func TestQuestionsFindSomebody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to    []string
		after time.Duration
		run   *conversation.Run
		q     agent.Question
		want  string // chats, each with the minute in which it is asked
	}{
		"a guest, by default":                 {nil, 2 * time.Minute, runOf("guest", chat.Authorised), ls, "owner 0, olga 2"},
		"an owner, by default":                {nil, 2 * time.Minute, runOf("owner", chat.Owner), ls, "owner 0"},
		"a guest's choice, by default":        {nil, 2 * time.Minute, runOf("guest", chat.Authorised), colour, "guest 0"},
		"a guest in a group, by default":      {nil, 2 * time.Minute, groupRun("guest", chat.Other), ls, "group 0, owner 2, olga 4"},
		"an owner in a group, by default":     {nil, 2 * time.Minute, groupRun("owner", chat.Owner), ls, "group 0"},
		"an owner":                            {[]string{"owners"}, 2 * time.Minute, runOf("owner", chat.Owner), ls, "owner 0, olga 2"},
		"a heartbeat":                         {[]string{"owners"}, 2 * time.Minute, nobodys(), ls, "owner 0, olga 2"},
		"a guest's choice":                    {[]string{"owners"}, 2 * time.Minute, runOf("guest", chat.Authorised), colour, "guest 0, owner 2, olga 2"},
		"a guest, one after another":          {[]string{"tg:olga", "approvers", "owners"}, 5 * time.Minute, runOf("guest", chat.Authorised), ls, "olga 0, ann 5, owner 10"},
		"an owner, one after another":         {[]string{"approvers", "tg:olga"}, 5 * time.Minute, runOf("owner", chat.Owner), ls, "owner 0, ann 5, olga 10"},
		"a guest, and all owners at once":     {[]string{"owners"}, 2 * time.Minute, runOf("guest", chat.Authorised), ls, "owner 0, olga 0"},
		"somebody with several names":         {[]string{"tg:ann", "tg:annie", "owners"}, 2 * time.Minute, runOf("guest", chat.Authorised), ls, "ann 0, owner 2, olga 2"},
		"an owner in a group, and the others": {[]string{"owners", "approvers"}, 5 * time.Minute, groupRun("owner", chat.Owner), ls, "group 0, olga 5, ann 10"},
		"all at once":                         {[]string{"owners", "approvers"}, 0, groupRun("guest", chat.Other), ls, "group 0, owner 0, olga 0, ann 0"},
		"whose channel does not run":          {[]string{"irc:away", "tg:olga"}, 5 * time.Minute, runOf("guest", chat.Authorised), ls, "olga 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				r.config = people(test.to, test.after)
				begun := time.Now()
				asked(t, r.desk(t), r, test.run, test.q)
				time.Sleep(30 * time.Minute)
				synctest.Wait()
				var got []string
				for _, m := range r.questions[0].Messages {
					got = append(got, fmt.Sprintf("%s %d", m.To.Chat, m.AskedAt.Sub(begun)/time.Minute))
				}
				if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" || r.questions[0].Further {
					t.Error(diff, r.questions[0].Further)
				}
			})
		})
	}
}

// The first answer counts, whoever gives it, and the others learn it. A copy says for whom Claude works.
// Behaviour: ask-others, ask-first.
func TestTheFirstOfSeveralAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.config = people([]string{"owners"}, 2*time.Minute)
		d := r.desk(t)
		id, decided, _ := asked(t, d, r, groupRun("guest", chat.Other), ls)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(r.asked) != 3 || r.asked[2].To.Chat != "olga" || !strings.HasPrefix(r.asked[2].Text, "**Claude, working for `Anna_guest in Family`, asks to use Bash.**") || len(r.asked[2].Buttons) == 0 {
			t.Fatalf("asked are %+v", r.asked)
		}
		said, _, err := d.Answer(t.Context(), caller("olga", chat.Owner), id, "once")
		if said != "" || err != nil {
			t.Fatal(said, err)
		}
		if got := receive(t, decided); !got.Allow {
			t.Errorf("%+v", got)
		}
		want := "This question is closed.\n\n✅ Allowed once by Anna\\_olga: Bash `ls -l`"
		if said, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), id, "no"); said != want || err != nil {
			t.Errorf("the other owner learns %q, %v", said, err)
		}
		if said, _, err := d.Answer(t.Context(), caller("guest", chat.Other), id, "no"); said != "This question is closed." || err != nil {
			t.Errorf("who may not answer learns %q, %v", said, err)
		}
	})
}

// A person who is asked later answers by words where they are asked: in a reply, or with a number where there are no buttons.
// Behaviour: ask-others, ask-words.
func TestCopiesAreAnsweredByWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.buttons = chat.ButtonLimits{}
		r.config = people([]string{"tg:olga"}, time.Minute)
		d := r.desk(t)
		id, _, _ := asked(t, d, r, runOf("owner", chat.Owner), ls)
		if _, _, ok := reading(t, d, caller("olga", chat.Owner), "1"); ok {
			t.Error("a number answers a question that nobody has asked there")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, answer, ok := reading(t, d, caller("olga", chat.Owner), "1"); got != id || answer != "1" || !ok {
			t.Error("a number:", got, answer, ok)
		}
		reply := domain.Message{Text: "not now", ReplyTo: &chat.Quote{ID: "m2"}}
		if got, answer, ok, err := answerOf(t.Context(), d, caller("olga", chat.Owner), reply, true); got != id || answer != "no not now" || !ok || err != nil {
			t.Error("a reply:", got, answer, ok, err)
		}
	})
}

// Words of a person who is asked about another conversation are for their own one, unless they reply to the question.
// Behaviour: ask-words, ask-others.
func TestWordsBelongToOnesOwnConversation(t *testing.T) {
	t.Parallel()
	for text, buttons := range map[string]chat.ButtonLimits{
		"Or reply to this with your own words": {Rows: 8, Columns: 3}, "Answer in a reply to this with a number": {},
	} {
		words := []string{"What is the weather?", "Red"}
		if buttons.Rows == 0 {
			words = words[:1] // an answer may be named where there are no buttons
		}
		synctest.Test(t, func(t *testing.T) {
			r := newFixture()
			r.buttons = buttons
			r.config = people([]string{"tg:olga"}, time.Minute)
			d := r.desk(t)
			id, _, _ := asked(t, d, r, runOf("guest", chat.Authorised), colour)
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(r.asked) != 2 || !strings.Contains(r.asked[1].Text, text) {
				t.Fatalf("asked are %+v", r.asked)
			}
			for _, text := range words {
				if _, answer, ok := reading(t, d, caller("olga", chat.Owner), text); ok {
					t.Errorf("%q is the answer %q", text, answer)
				}
				if _, _, ok := reading(t, d, caller("guest", chat.Authorised), text); !ok {
					t.Errorf("%q of whose turn it is answers nothing", text)
				}
			}
			reply := domain.Message{Text: "Green", ReplyTo: &chat.Quote{ID: "m2"}}
			if got, answer, ok, err := answerOf(t.Context(), d, caller("olga", chat.Owner), reply, true); got != id || answer != "Green" || !ok || err != nil {
				t.Error("a reply:", got, answer, ok, err)
			}
		})
	}
}

// A restart asks nobody twice, and whose time has come while the host was away is asked at once.
// Behaviour: ask-others, ask-durable.
func TestEscalationSurvivesARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.config = people([]string{"tg:olga", "tg:ann", "tg:owner"}, 10*time.Minute)
		for _, then := range []struct {
			away time.Duration
			want string
		}{{0, "olga"}, {time.Minute, "olga"}, {9 * time.Minute, "olga ann"}, {time.Minute, "olga ann"}, {9 * time.Minute, "olga ann owner"}, {0, "olga ann owner"}} {
			time.Sleep(then.away)
			life, end := context.WithCancelCause(t.Context())
			done := make(chan agent.Decision, 1)
			d := r.desk(t)
			go func() { done <- d.Ask(life, runOf("guest", chat.Authorised), ls) }()
			synctest.Wait()
			end(agent.ErrShutdown)
			receive(t, done)
			var got []string
			for _, m := range r.questions[0].Messages {
				got = append(got, string(m.To.Chat))
			}
			if diff := cmp.Diff(then.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		}
		if len(r.questions) != 1 || len(r.asked) != 4 { // the guest is told
			t.Errorf("%d questions, %+v", len(r.questions), r.asked)
		}
	})
}

// If nobody of those who are asked gets the question, the next ones are asked at once.
// Behaviour: ask-others, ask-undelivered.
func TestLostQuestionsGoToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.config = people([]string{"tg:olga", "tg:ann", "tg:owner"}, 10*time.Minute)
		d := r.desk(t)
		asked(t, d, r, runOf("guest", chat.Authorised), ls)
		lose := func(i int, further bool, want int) {
			t.Helper()
			r.mu.Lock()
			r.questions[0].Messages[i].Lost = true
			r.mu.Unlock()
			r.announce()
			synctest.Wait()
			if q := r.questions[0]; len(q.Messages) != want || q.Further != further {
				t.Fatalf("%d messages are lost, and there are %+v", i+1, q)
			}
		}
		lose(0, true, 2)
		lose(1, false, 3)
		lose(2, false, 3) // the store ends it
	})
}

// At most eight people are asked one question.
// Behaviour: ask-others.
func TestFewPeopleAreAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.config = people([]string{"owners", "approvers"}, time.Minute)
		r.config.Access.Owners = nil
		for i := range 6 {
			r.config.Access.Owners = append(r.config.Access.Owners, fmt.Sprint("tg:o", i))
			r.config.Access.Approvers = append(r.config.Access.Approvers, fmt.Sprint("tg:a", i))
		}
		asked(t, r.desk(t), r, groupRun("guest", chat.Other), ls)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if q := r.questions[0]; len(q.Messages) != 9 || q.Further {
			t.Errorf("%d messages, further %t", len(q.Messages), q.Further)
		}
	})
}

// The chats that are asked are reminded once, half-way through the question's time, but at most after an hour. A chat that was asked
// just before is not.
// Behaviour: ask-remind.
func TestOneReminder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		life  time.Duration
		after time.Duration // until another owner is asked
		at    time.Duration // of the reminder; zero: none
		want  []string
	}{
		"half-way":            {time.Hour, 10 * time.Minute, 30 * time.Minute, []string{"group re m1: 30 minutes", "olga re m2: 30 minutes"}},
		"asked just before":   {time.Hour, 28 * time.Minute, 30 * time.Minute, []string{"group re m1: 30 minutes"}},
		"at most an hour":     {24 * time.Hour, 30 * time.Hour, time.Hour, []string{"group re m1: 23 hours"}},
		"too short to be one": {9 * time.Minute, time.Hour, 0, nil},
		"just about long":     {10 * time.Minute, time.Hour, 5 * time.Minute, []string{"group re m1: 5 minutes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				r.config = people([]string{"tg:olga"}, test.after)
				begun := time.Now()
				reminders := func() (list []string) {
					for _, p := range r.reminders {
						_, left, _ := strings.Cut(p.Text, "In ")
						left, _, _ = strings.Cut(left, " it counts")
						list = append(list, fmt.Sprintf("%s re %s: %s", p.To.Chat, p.ReplyTo, left))
					}
					return list
				}
				// Each restart looks again, and the store knows that it has reminded.
				for time.Since(begun) < test.life-time.Minute {
					life, end := context.WithCancelCause(t.Context())
					run := groupRun("owner", chat.Owner)
					run.Agent.Claude.AskTimeout = test.life
					done, d := make(chan agent.Decision, 1), r.desk(t)
					go func() { done <- d.Ask(life, run, ls) }()
					time.Sleep(test.life / 20)
					synctest.Wait()
					r.next(t)
					end(agent.ErrShutdown)
					<-done
					if since := time.Since(begun); since < test.at && len(r.reminders) > 0 {
						t.Fatalf("after %s already: %q", since, reminders())
					}
				}
				if diff := cmp.Diff(test.want, reminders()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

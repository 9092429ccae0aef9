package permission_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/permission"
	"github.com/clawhost/clawhost/sdk/chat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixture is a store in memory, and the chats.
type fixture struct {
	mu         sync.Mutex
	questions  []domain.Question
	grants     []domain.Grant
	asked      []domain.OutboxItem
	edits      []string
	posted     chan string // the ids of questions as they are asked
	refuse     error
	buttons    chat.ButtonLimits
	told       []string
	waits      []string // what turns do, by their chats
	unfinished bool     // a turn was begun and not completed
	lost       bool     // no message arrives
	unheard    bool     // nobody who may decide can be reached
	meanwhile  func()   // what happens before a question is settled
	afterwards func()   // what happens once it is, before anybody is told
	crowded    bool     // too many turns wait for people
	paused     int      // questions that turns wait for
}

func newRoom() *fixture {
	return &fixture{posted: make(chan string, 10), buttons: chat.ButtonLimits{Rows: 8, Columns: 3, DataBytes: 64}}
}

// patience bounds each wait of a test.
const patience = 10 * time.Second

// next is the id of the question that is asked next.
func (r *fixture) next(t *testing.T) string {
	t.Helper()
	select {
	case id := <-r.posted:
		return id
	case <-time.After(patience):
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Fatalf("no question is asked; so far %+v, told %q, edits %q", r.questions, r.told, r.edits)
	return ""
}

// receive is what comes next of decisions.
func receive(t *testing.T, decided <-chan agent.Decision) agent.Decision {
	t.Helper()
	select {
	case d := <-decided:
		return d
	case <-time.After(patience):
		t.Fatal("nothing is decided")
		return agent.Decision{}
	}
}

func (r *fixture) Ask(_ context.Context, _ int64, q domain.Question, items ...domain.OutboxItem) (domain.Question, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return domain.Question{}, r.refuse
	}
	for _, known := range r.questions {
		if known.Digest == q.Digest && known.Authority == q.Authority && (known.State == domain.QuestionOpen || known.State == domain.QuestionAnswered) {
			r.posted <- known.ID
			return known, nil
		}
	}
	q.Session, q.State, q.Item = "s", domain.QuestionOpen, int64(len(r.questions)+1)
	r.questions = append(r.questions, q)
	r.asked = append(r.asked, items...)
	if r.lost {
		r.questions[len(r.questions)-1].State = domain.QuestionUnseen
	}
	r.posted <- q.ID
	return q, nil
}

func (r *fixture) Post(_ context.Context, key string, items ...domain.OutboxItem) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range items {
		r.told = append(r.told, key+": "+p.Text)
	}
	return 0, nil
}

func (r *fixture) Pause(int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crowded {
		return false
	}
	r.paused++
	return true
}

func (r *fixture) Resume(context.Context, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused--
}

func (r *fixture) Settle(_ context.Context, id string, state domain.QuestionState, answer json.RawMessage, said string, grants ...domain.Grant) (domain.Question, bool, error) {
	if r.meanwhile != nil {
		r.meanwhile()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.questions {
		if q.ID != id {
			continue
		}
		if want := map[bool]domain.QuestionState{false: domain.QuestionOpen, true: domain.QuestionAnswered}[state == domain.QuestionVoid]; q.State != want {
			return q, false, nil
		}
		r.questions[i].State, r.questions[i].Answer = state, answer
		r.edits, r.grants = append(r.edits, said), append(r.grants, grants...)
		settled := r.questions[i]
		if r.afterwards != nil {
			r.mu.Unlock()
			r.afterwards()
			r.mu.Lock()
		}
		return settled, true, nil
	}
	return domain.Question{}, false, domain.ErrNotFound
}

func (r *fixture) TakeAnswers(_ context.Context, ids ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.questions {
		if slices.Contains(ids, q.ID) && q.State == domain.QuestionAnswered {
			r.questions[i].State = domain.QuestionTaken
		}
	}
	return nil
}

func (r *fixture) Question(_ context.Context, id string) (domain.Question, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.questions {
		if q.ID == id {
			return q, nil
		}
	}
	return domain.Question{}, domain.ErrNotFound
}

func (r *fixture) Redraft(_ context.Context, id string, body json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.questions {
		if q.ID == id {
			r.questions[i].Body = body
		}
	}
	return nil
}

func (r *fixture) Questions(context.Context) ([]domain.Question, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]domain.Question(nil), r.questions...), nil
}

func (r *fixture) Grants(context.Context, string) ([]domain.Grant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]domain.Grant(nil), r.grants...), nil
}

func (r *fixture) SentItem(_ context.Context, item int64) (chat.MessageID, time.Time, error) {
	if item == 0 {
		return "", time.Time{}, domain.ErrNotFound
	}
	return chat.MessageID(fmt.Sprint("m", item)), time.Time{}, nil
}

func (r *fixture) Unfinished(_ context.Context, _, claude string) (bool, error) {
	return r.unfinished && claude == "c1", nil
}

func (r *fixture) desk(t *testing.T) *permission.Approvals {
	t.Helper()
	d, err := permission.New(t.Context(), permission.Options{
		Store: r, Turns: r, Patience: time.Hour,
		Conversations: conversations{whole{}, r}, Owners: owners{r}, Chats: chats{r}, Intake: intake{r},
	}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// conversations know what holds in the chats of a fixture.
type conversations struct {
	whole
	fixture *fixture
}

func (conversations) Decides(c chat.Caller) bool { return c.Authority == chat.Owner }

func (c conversations) Limits(string, chat.Kind) chat.Limits {
	return chat.Limits{Buttons: c.fixture.buttons}
}

// owners are those of a fixture.
type owners struct{ fixture *fixture }

func (o owners) Reachable(context.Context) (chat.Address, bool) {
	return chat.Address{Channel: "tg", Chat: "owner"}, !o.fixture.unheard
}

// chats note which turns wait in a fixture.
type chats struct{ fixture *fixture }

func (c chats) Asking(at chat.Address, sent bool) func() {
	c.note(fmt.Sprintf("%s waits, sent %t", at.Chat, sent))
	return func() { c.note(fmt.Sprintf("%s goes on", at.Chat)) }
}

func (c chats) note(line string) {
	c.fixture.mu.Lock()
	defer c.fixture.mu.Unlock()
	c.fixture.waits = append(c.fixture.waits, line)
}

// intake notes what is taken for the sessions of a fixture.
type intake struct{ fixture *fixture }

func (i intake) Tell(_ context.Context, id chat.EventID, session string, caller chat.Caller, text string) error {
	i.fixture.told = append(i.fixture.told, fmt.Sprintf("%s: %s by %s as %s in %s: %s", id, session, caller.Sender.ID, caller.Authority, caller.Address.Chat, text))
	return nil
}

func (i intake) Repeat(_ context.Context, id chat.EventID, session string, messages []domain.Message) error {
	for _, m := range messages {
		i.fixture.told = append(i.fixture.told, fmt.Sprintf("%s: %s of %s as %s in %s: %s", id, session, m.Sender.ID, m.Authority, m.Chat.ID, m.Text))
	}
	return nil
}

// runOf is a run of somebody's message in their direct chat.
func runOf(user string, authority chat.Authority) *conversation.Turn {
	return turnOf(&domain.Run{ID: 7, Session: domain.Session{Key: "s"}, Message: domain.Queued{ClaudeSession: "c1", Message: domain.Message{
		Channel: "tg", Chat: chat.Chat{ID: chat.ID(user), Kind: chat.Direct}, Sender: chat.Sender{ID: chat.UserID(user), DisplayName: "Anna_" + user}, Authority: authority,
	}}})
}

// whole sends each text in one message.
type whole struct{}

func (whole) Notice(to chat.Address, _ chat.Kind, text string) []domain.OutboxItem {
	return []domain.OutboxItem{{To: to, Text: text}}
}

// turnOf resolves the conversation of a run over an empty config.
func turnOf(run *domain.Run) *conversation.Turn {
	return conversation.NewResolver(&config.Config{}, noChannels{}, unmoved{}).Turn(run)
}

// noChannels are channels that have told nothing, and unmoved chats that have kept their ids.
type (
	noChannels struct{}
	unmoved    struct{}
)

func (noChannels) Limits(string, chat.Kind) (chat.Limits, bool) { return chat.Limits{}, false }

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

func caller(user string, authority chat.Authority) chat.Caller {
	return chat.Caller{Session: "s", Address: chat.Address{Channel: "tg", Chat: chat.ID(user)}, Kind: chat.Direct, Sender: chat.Sender{ID: chat.UserID(user), DisplayName: "Anna_" + user}, Authority: authority}
}

var (
	ls = agent.Question{Tool: "Bash", Input: json.RawMessage(`{"command":"ls -l","description":"List files"}`), Description: "List files", Suggested: []string{"Bash(ls *)"}}
	rm = agent.Question{Tool: "Bash", Input: json.RawMessage(`{"command":"rm -rf /tmp/x"}`), Suggested: []string{"Bash(rm *)"}, Outside: "/tmp/x"}
	// A tool of which claude suggests no rule.
	odd    = agent.Question{Tool: "WebFetch", Input: json.RawMessage(`{"url":"https://example.com","prompt":"sum up"}`)}
	plan   = agent.Question{Tool: "ExitPlanMode", Input: json.RawMessage(`{"plan":"# Plan\n\n1. Do it."}`)}
	colour = agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[
		{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":""}],"multiSelect":false},
		{"question":"Which sizes?","header":"Size","options":[{"label":"S"},{"label":"M"},{"label":"L"}],"multiSelect":true}]}`)}
)

// ask asks, has somebody answer, and returns the decision and what who answered was told.
func ask(t *testing.T, d *permission.Approvals, r *fixture, run *conversation.Turn, q agent.Question, who chat.Caller, answers ...string) (agent.Decision, []string) {
	t.Helper()
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), run, q) }()
	var told []string
	id := r.next(t)
	for i, answer := range answers {
		if answer == "next" {
			id = r.next(t)
			continue
		}
		said, known, err := d.Answer(t.Context(), who, id, answer)
		if err != nil || !known {
			t.Fatalf("answer %d: known %v, error %v", i, known, err)
		}
		told = append(told, said)
	}
	return receive(t, decided), told
}

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
			r := newRoom()
			d := r.desk(t)
			got, told := ask(t, d, r, runOf("owner", chat.Owner), test.q, caller("owner", chat.Owner), answer)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{test.edit}, r.edits); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.grants, r.grants); diff != "" {
				t.Error(diff)
			}
			if told[0] != "" || r.questions[0].State != domain.QuestionTaken {
				t.Errorf("told %q, the question is %s", told[0], r.questions[0].State)
			}
			if said, known, err := d.Answer(t.Context(), caller("owner", chat.Owner), r.questions[0].ID, "no"); said != "This question is closed." || !known || err != nil {
				t.Errorf("a second answer: %q %v %v", said, known, err)
			}
		})
	}
}

// What was granted is not asked again, but only where it was granted: for the session, its authority, and its claude session.
// Behaviour: ask-grant.
func TestGrantsSpareTheQuestion(t *testing.T) {
	t.Parallel()
	r := newRoom()
	d := r.desk(t)
	owner := caller("owner", chat.Owner)
	ask(t, d, r, runOf("owner", chat.Owner), ls, owner, "session")
	ask(t, d, r, runOf("owner", chat.Owner), odd, owner, "always")
	other := ls
	other.Input = json.RawMessage(`{"command":"ls /"}`)
	fresh := runOf("owner", chat.Owner)
	fresh.Message.ClaudeSession = "c2"
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
		run *conversation.Turn
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
func TestAnAnswerThatLosesGrantsNothing(t *testing.T) {
	t.Parallel()
	r := newRoom()
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
func TestASilentTurnAsksNobody(t *testing.T) {
	t.Parallel()
	r := newRoom()
	d := r.desk(t)
	silent := runOf("owner", chat.Owner)
	silent.Message.Message.Silent = true
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

// People are asked for permission also in turns that nobody started, with their purpose. A memory flush has nothing
// else to ask them.
// Behaviour: ask-background.
func TestTurnsThatNobodyHasAskedFor(t *testing.T) {
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
		r := newRoom()
		d := r.desk(t)
		run := runOf("owner", chat.Owner)
		run.Message.Message.Origin = origin
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

// The end of a run comes a moment after its completion, when the next one of its session may ask already.
// Behaviour: ask-time.
func TestAnEndIsOfItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
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
		d.End(t.Context(), "s", next.ID, false)
		if len(r.edits) != 2 {
			t.Errorf("what was answered and taken has ended, too: %q", r.edits)
		}
	})
}

// Behaviour: ask-who, ask-owner.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	const refused = "Only an owner, or somebody named in the config for it, can answer this."
	r := newRoom()
	d := r.desk(t)
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), runOf("anna", chat.Authorised), ls) }()
	id := r.next(t)
	if said, _, _ := d.Answer(t.Context(), caller("anna", chat.Authorised), id, "once"); said != refused {
		t.Errorf("the person themselves: %q", said)
	}
	if told := r.asked[0]; told.To.Chat != "anna" || told.Text != "I need an owner's permission to use Bash, and have asked for it." {
		t.Errorf("told in %s: %s", told.To.Chat, told.Text)
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
	// What is asked of them about their own wishes they answer themselves, and nobody else who may not decide does.
	go func() { decided <- d.Ask(t.Context(), runOf("anna", chat.Other), colour) }()
	id = r.next(t)
	if said, _, _ := d.Answer(t.Context(), caller("bob", chat.Other), id, "1"); said != refused {
		t.Errorf("somebody else: %q", said)
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

func TestNobodyToAsk(t *testing.T) {
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
		r := newRoom()
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
			t.Error("somebody else's number answers")
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
		go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), ls) }()
		go func() { decided <- d.Ask(t.Context(), runOf("owner", chat.Owner), rm) }()
		r.next(t)
		r.next(t)
		synctest.Wait()
		if _, _, ok := reading(t, d, owner, "1"); ok {
			t.Error("a number answers one of two questions")
		}
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
		r := newRoom()
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

// A question outlives the host, before it is answered and after.
// Behaviour: ask-durable.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newRoom()
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
	r := newRoom()
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
	r := newRoom()
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
	r := newRoom()
	life, end := context.WithCancelCause(t.Context())
	first, done := r.desk(t), make(chan agent.Decision)
	left := runOf("owner", chat.Owner)
	left.Message.ClaudeSession = "c0"
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
			r := newRoom()
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

// A question that claude withdraws, or whose turn has lost its lane, is retired at once.
// Behaviour: ask-time.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{agent.ErrWithdrawn, domain.ErrFenced} {
		r := newRoom()
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
			r := newRoom()
			r.buttons = limits
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan agent.Decision, 1)
			go func() { done <- r.desk(t).Ask(ctx, runOf("owner", chat.Owner), q) }()
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
		r := newRoom()
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
				t.Errorf("allowed unasked: %+v", got)
			}
		}
	})
}

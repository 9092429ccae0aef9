package permission_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/questions"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

var update = flag.Bool("update", false, "write the golden files")

// fixture is a store in memory, and the chats.
type fixture struct {
	mu         sync.Mutex
	questions  []domain.Question
	grants     []domain.Grant
	asked      []domain.OutboxItem
	edits      []string
	reminded   []domain.Key
	reminders  []domain.OutboxItem
	posted     chan string // the ids of questions as they are asked
	refuse     error
	buttons    chat.ButtonLimits
	sent       []string
	chats      *activity.Chats // which show turns
	unfinished bool            // a turn was begun and not completed
	lost       bool            // no message arrives
	opening    sync.Once
	opened     *store.Store
	config     *config.Config // nil: there is one owner
	changed    engine.Hub     // announces questions.Changed
	unheard    bool           // no one who may decide can be reached
	shown      func()         // what happens once a question can be seen, before its turn knows
	meanwhile  func()         // what happens before a question is settled or redrafted the next time
	taking     func()         // what happens before an answer is taken
	afterwards func()         // what happens once it is, before anyone is notified
}

func newFixture() *fixture {
	return &fixture{chats: activity.NewChats(plugins.New(nil), nil), posted: make(chan string, 10), buttons: chat.ButtonLimits{Rows: 8, Columns: 3, DataBytes: 64}}
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
	t.Fatalf("no question is asked; so far %+v, got %q, edits %q", r.questions, r.sent, r.edits)
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
	q.Session, q.State, q.CreatedAt = "s", domain.QuestionOpen, time.Now()
	q.Messages[0].Item, q.Messages[0].To, q.Messages[0].AskedAt = int64(len(r.asked)+len(items)), items[len(items)-1].To, time.Now()
	r.questions = append(r.questions, q)
	r.asked = append(r.asked, items...)
	if r.lost {
		r.questions[len(r.questions)-1].State = domain.QuestionUnseen
	}
	r.posted <- q.ID
	if r.shown != nil {
		r.mu.Unlock()
		r.shown()
		r.mu.Lock()
	}
	return q, nil
}

func (r *fixture) AskAlso(_ context.Context, _ int64, id string, m domain.QuestionMessage, further bool, items ...domain.OutboxItem) (domain.Question, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.questions {
		if q.ID != id {
			continue
		}
		asked := slices.ContainsFunc(q.Messages, func(o domain.QuestionMessage) bool { return o.Person == m.Person })
		if q.State == domain.QuestionOpen && !asked {
			r.asked = append(r.asked, items...)
			m.Item, m.To, m.AskedAt = int64(len(r.asked)), items[len(items)-1].To, time.Now()
			r.questions[i].Messages, r.questions[i].Further = append(slices.Clone(q.Messages), m), further
		}
		return r.questions[i], nil
	}
	return domain.Question{}, domain.ErrNotFound
}

func (r *fixture) Post(_ context.Context, key domain.Key, items ...domain.OutboxItem) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key.Kind() == domain.KeyReminder {
		if !slices.Contains(r.reminded, key) {
			r.reminded, r.reminders = append(r.reminded, key), append(r.reminders, items...)
		}
		return 0, nil
	}
	for _, p := range items {
		r.sent = append(r.sent, fmt.Sprint(key, ": ", p.Text))
	}
	return 0, nil
}

func (r *fixture) Settle(_ context.Context, id string, state domain.QuestionState, answer json.RawMessage, said string, grants ...domain.Grant) (domain.Question, bool, error) {
	if meanwhile := r.meanwhile; meanwhile != nil {
		r.meanwhile = nil
		meanwhile()
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
		r.questions[i].State, r.questions[i].Answer, r.questions[i].Outcome = state, answer, said
		r.edits, r.grants = append(r.edits, said), append(r.grants, grants...)
		settled := r.questions[i]
		if r.afterwards != nil {
			r.mu.Unlock()
			r.afterwards()
			r.mu.Lock()
		}
		r.announce()
		return settled, true, nil
	}
	return domain.Question{}, false, domain.ErrNotFound
}

func (r *fixture) TakeAnswers(_ context.Context, ids ...string) error {
	if r.taking != nil {
		r.taking()
	}
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

func (r *fixture) WatchQuestions() (<-chan struct{}, func()) {
	return r.changed.Watch(questions.Changed)
}

// announce tells those who wait that a question has changed.
func (r *fixture) announce() { r.changed.Announce([]engine.Topic{questions.Changed}) }

func (r *fixture) Redraft(_ context.Context, id string, was, body json.RawMessage) (bool, error) {
	if meanwhile := r.meanwhile; meanwhile != nil {
		r.meanwhile = nil
		meanwhile()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.questions {
		if q.ID == id && q.State == domain.QuestionOpen && string(q.Body) == string(was) {
			r.questions[i].Body = body
			return true, nil
		}
	}
	return false, nil
}

func (r *fixture) Questions(context.Context) ([]domain.Question, error) {
	return r.those(func(domain.Question) bool { return true }), nil
}

func (r *fixture) QuestionsOf(_ context.Context, session string) ([]domain.Question, error) {
	return r.those(func(q domain.Question) bool { return q.Session == session }), nil
}

func (r *fixture) OpenQuestions(_ context.Context, at chat.Address, person chat.ID, noted string) ([]domain.Question, error) {
	return r.those(func(q domain.Question) bool {
		here := slices.ContainsFunc(q.Messages, func(m domain.QuestionMessage) bool {
			return m.To == at || m.To == chat.Address{Channel: at.Channel, Chat: person}
		})
		return q.State == domain.QuestionOpen && (here || strings.Contains(string(q.Body), noted))
	}), nil
}

// those are the questions that are not closed and satisfy a condition.
func (r *fixture) those(which func(domain.Question) bool) (list []domain.Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.questions {
		if (q.State == domain.QuestionOpen || q.State == domain.QuestionAnswered) && which(q) {
			list = append(list, q)
		}
	}
	return list
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

// testWorkspace is where no file is.
const testWorkspace = "/nonexistent/workspace"

func (r *fixture) desk(t *testing.T) *permission.Approvals {
	t.Helper()
	return r.deskOf(t, dispatch.New(nil, dispatch.Options{}, hclog.NewNullLogger()))
}

// deskOf asks for the turns of a dispatcher.
func (r *fixture) deskOf(t *testing.T, turns *dispatch.Dispatcher) *permission.Approvals {
	t.Helper()
	return permission.New(r.options(t, r, turns), hclog.NewNullLogger())
}

// options are those of approvals with a store, which is the fixture's own or another one.
func (r *fixture) options(t *testing.T, s permission.Store, turns *dispatch.Dispatcher) permission.Options {
	t.Helper()
	c := &config.Config{Settings: config.Settings{Access: config.Access{Owners: []string{"tg:owner"}}}}
	if r.config != nil {
		c = r.config
	}
	conversations := conversation.NewResolver(c, r.plugins(), unmoved{})
	return permission.Options{
		Store: s, Dispatcher: turns, Conversations: conversations,
		Owners: notice.NewOwners(r.people(t), conversations, r.plugins(), hclog.NewNullLogger()),
		Chats:  r.chats, Intake: intake{r},
	}
}

// people is the store that knows the direct chats of people, one for all desks: to open one takes a while on a busy disk.
func (r *fixture) people(t *testing.T) *store.Store {
	t.Helper()
	r.opening.Do(func() { r.opened = storetest.Open(t) })
	return r.opened
}

// plugins are the channel of a fixture, which runs unless no one can be reached.
func (r *fixture) plugins() *plugins.Registry {
	found := plugins.New([]*config.Plugin{{Label: "tg", Enabled: true}})
	if !r.unheard {
		limits := chat.Limits{Buttons: r.buttons}
		reported := map[chat.Kind]chat.Limits{chat.Direct: limits, chat.Group: limits}
		found.Entry("tg").Publish(&plugins.Plugin{Name: "tg", Reported: reported})
		found.Entry("tg").Update(func(s *plugins.Status) { s.State = plugins.Running })
	}
	return found
}

// intake notes what is taken for the sessions of a fixture.
type intake struct{ fixture *fixture }

func (i intake) Tell(_ context.Context, id domain.Key, session string, caller chat.Caller, text string) error {
	i.fixture.sent = append(i.fixture.sent, fmt.Sprintf("%s: %s by %s as %s in %s: %s", id, session, caller.Sender.ID, caller.Authority, caller.Address.Chat, text))
	return nil
}

func (i intake) Repeat(_ context.Context, id domain.Key, session string, messages []domain.Message) error {
	for _, m := range messages {
		i.fixture.sent = append(i.fixture.sent, fmt.Sprintf("%s: %s of %s as %s in %s: %s", id, session, m.Sender.ID, m.Authority, m.Chat.ID, m.Text))
	}
	return nil
}

// runOf is a run of a person's message in their direct chat.
func runOf(user string, authority chat.Authority) *conversation.Run {
	return turnOf(&domain.Run{ID: 7, Session: domain.Session{Key: "s"}, Head: domain.Queued{ClaudeSession: "c1", Message: domain.Message{
		Channel: "tg", Chat: chat.Chat{ID: chat.ID(user), Kind: chat.Direct}, Sender: chat.Sender{ID: chat.UserID(user), DisplayName: "Anna_" + user}, Authority: authority,
	}}})
}

// turnOf resolves the conversation of a run over an empty config.
func turnOf(run *domain.Run) *conversation.Run {
	c := &config.Config{Agent: config.Agent{Workspace: testWorkspace, Claude: config.Claude{AskTimeout: time.Hour}}}
	return conversation.NewResolver(c, plugins.New(nil), unmoved{}).Run(run)
}

// unmoved are chats that have kept their ids.
type unmoved struct{}

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

// ask asks, has a person answer, and returns the decision and what the person who answered got.
func ask(t *testing.T, d *permission.Approvals, r *fixture, run *conversation.Run, q agent.Question, who chat.Caller, answers ...string) (agent.Decision, []string) {
	t.Helper()
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(t.Context(), run, q) }()
	var replies []string
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
		replies = append(replies, said)
	}
	return receive(t, decided), replies
}

// answerOf returns the answer that a message gives.
func answerOf(ctx context.Context, d *permission.Approvals, who chat.Caller, m domain.Message, addressed bool) (id, answer string, ok bool, err error) {
	var to chat.MessageID
	if m.ReplyTo != nil {
		to = m.ReplyTo.ID
	}
	asked, err := d.Asked(ctx, who, to)
	id, answer, ok = asked.Answer(m.Text, addressed)
	return id, answer, ok, err
}

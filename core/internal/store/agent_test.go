package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// number posts a message of the agent and returns its number.
func (b *bundle) number(t *testing.T, run *domain.Run, name string, items ...domain.OutboxItem) int64 {
	t.Helper()
	n, err := b.PostByTool(b.ctx, run.ID, domain.ToolPost{Key: key(name), Numbered: true, Items: items, Labels: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// change changes a message of the agent.
func (b *bundle) change(t *testing.T, run *domain.Run, name string, number int64, items ...domain.OutboxItem) error {
	t.Helper()
	return b.ChangeByTool(b.ctx, run.ID, domain.ToolChange{Key: key(name), Number: number, Texts: items})
}

// What the agent has sent to its conversation has a number, which is the same for the same call, and by which it is changed
// once for a call, before and after it was sent.
// Behaviour: message-tool-change.
func TestTheAgentChangesWhatItHasSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	one := b.number(t, run, "k1", item("anna", "one"))
	two := b.number(t, run, "k2", item("anna", "two"), item("anna", "and more"))
	want(t, "the numbers", []int64{1, 2, 1}, []int64{one, two, b.number(t, run, "k1", item("anna", "one"))})
	for range 3 {
		d := b.head(t)
		if err := b.Delivered(b.ctx, d.ID, []chat.MessageID{chat.MessageID("m-" + d.Item.Text)}); err != nil {
			t.Fatal(err)
		}
	}
	three := b.number(t, run, "k3", item("anna", "three"))
	b.reopen(t)
	for _, err := range []error{
		b.change(t, run, "c1", one, item("anna", "first")),
		b.change(t, run, "c1", one, item("anna", "first, once more")),
		b.change(t, run, "c2", two, item("anna", "second")),
		b.change(t, run, "c3", three, item("anna", "third")),
		b.change(t, run, "c4", one, item("anna", "the first")),
		b.change(t, run, "c5", two),
		b.change(t, run, "c5", two),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want(t, "delivered", []string{"m-and more=", "third", "m-one=the first", "m-two="}, b.texts(t))
	for _, test := range []struct {
		number int64
		items  []domain.OutboxItem
		want   error
	}{
		{two, nil, domain.ErrNotFound},
		{4, nil, domain.ErrNotFound},
		{one, []domain.OutboxItem{item("anna", "x"), item("anna", "y")}, domain.ErrTooLong},
	} {
		if err := b.change(t, run, "c6", test.number, test.items...); !errors.Is(err, test.want) {
			t.Errorf("%d: %v, want %v", test.number, err, test.want)
		}
	}
	want(t, "the next number", int64(4), b.number(t, run, "k4", item("anna", "four")))
	m, err := b.AgentMessageByToken(b.ctx, key("k3").String())
	if err != nil || m.Number != three || m.Session != run.Session.Key {
		t.Errorf("by its token: %+v, %v", m, err)
	}
}

// No session changes what another one has sent, nor does a run that is over.
// Behaviour: message-tool-change.
func TestTheAgentChangesNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("bob", 1))
	anna, bob := b.claim(t), b.claim(t)
	one := b.number(t, anna, "k1", item("anna", "one"))
	if err := b.change(t, bob, "c1", one); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another session: %v", err)
	}
	b.complete(t, anna)
	if err := b.change(t, anna, "c2", one); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("a run that is over: %v", err)
	}
	want(t, "delivered", []string{"one"}, b.texts(t))
}

// Behaviour: message-tool-change.
func TestWhoseMessagesAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	b.complete(t, run, "an answer")
	b.post(t, "", item("anna", "a notice"))
	for _, id := range []chat.MessageID{"answer", "notice"} {
		if err := b.Delivered(b.ctx, b.head(t).ID, []chat.MessageID{id}); err != nil {
			t.Fatal(err)
		}
	}
	to := item("anna", "").To
	for _, test := range []struct {
		session string
		id      chat.MessageID
		want    bool
	}{{run.Session.Key, "answer", true}, {run.Session.Key, "notice", false}, {"another", "answer", false}, {run.Session.Key, "nothing", false}} {
		if own, err := b.SentBySession(b.ctx, test.session, to.Channel, to.Chat, test.id); err != nil || own != test.want {
			t.Errorf("%+v: %t, %v", test, own, err)
		}
	}
}

// A session's messages can be named while they wait, once they were answered, and where Claude only read them with others.
// Behaviour: message-ids.
func TestIDsOfMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := func(session string) []chat.MessageID {
		t.Helper()
		list, err := b.MessageIDs(b.ctx, session)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(list)
		return list
	}
	first := inbound("anna", 1)
	first.Message.ID = "first"
	second := inbound("anna", 2)
	second.Message.ID = "second"
	b.recordPassive(t, domain.Passive{
		EventID: "beside", Channel: "telegram", Session: first.Session, Limit: 10,
		Note: &domain.Note{Kind: domain.NoteHistory, At: start, Sender: "Bob", Text: "hm", MessageID: "beside"},
	})
	b.accept(t, first)
	run := b.claim(t)
	if len(run.Notes) != 1 || run.Notes[0].MessageID != "beside" {
		t.Errorf("the run gets %+v", run.Notes)
	}
	b.accept(t, second)
	want(t, "that wait", []chat.MessageID{"first", "second"}, ids(first.Session))
	b.complete(t, run)
	b.reopen(t)
	want(t, "that were answered", []chat.MessageID{"beside", "first", "second"}, ids(first.Session))
	want(t, "of another session", []chat.MessageID(nil), ids("another"))
}

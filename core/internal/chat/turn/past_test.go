package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// past is telegram, which reads what was said before.
type past struct {
	plugintest.Idle
	asked chan chat.MessageID // before which message
	read  func(ctx context.Context) ([]chat.Event, error)
}

// History implements [sdk.Historian].
func (p past) History(ctx context.Context, _ chat.Address, before chat.MessageID, _ int) ([]chat.Event, error) {
	p.asked <- before
	return p.read(ctx)
}

// wrote is a message that somebody wrote in a group.
func wrote(id chat.MessageID, by chat.Sender, m chat.Message) chat.Event {
	m.ID = id
	return chat.Event{ID: chat.EventID(id), Chat: chat.Chat{ID: "g", Kind: chat.Group}, Sender: by, At: time.Unix(1, 0), Body: m}
}

// What was said in a group before the agent came is read once, before its first turn there, where and as far as its history is
// kept; and it holds up no answer.
// Behaviour: group-past.
func TestThePastOfAGroup(t *testing.T) {
	t.Parallel()
	bob := chat.Sender{ID: "bob", DisplayName: "Bob"}
	events := []chat.Event{
		wrote("1", bob, chat.Message{Text: "{one}"}),
		wrote("2", chat.Sender{ID: "me", IsSelf: true}, chat.Message{Text: "{mine}"}),
		wrote("3", chat.Sender{ID: "it", IsBot: true}, chat.Message{Text: "{bot}"}),
		wrote("4", bob, chat.Message{Text: "{four}", Media: []chat.Media{{Kind: chat.Image}}}),
		wrote("", bob, chat.Message{Text: "{nameless}"}),
		wrote("5", bob, chat.Message{Text: "{five}"}),
		wrote("6", bob, chat.Message{Text: "{six}"}),
	}
	all := func(context.Context) ([]chat.Event, error) { return events, nil }
	fails := func(context.Context) ([]chat.Event, error) { return nil, errors.New("away") }
	hangs := func(ctx context.Context) ([]chat.Event, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, test := range map[string]struct {
		kept   int
		kind   chat.Kind
		origin domain.Origin
		read   func(context.Context) ([]chat.Event, error)
		later  bool // it is not the group's first turn
		begun  bool // Claude has read its message
		asked  bool
		noted  string // with what is known already
	}{
		"the first turn of a group":   {kept: 50, kind: chat.Group, read: all, asked: true, noted: "{five}{one}{four}{six}"},
		"at most as many as kept":     {kept: 2, kind: chat.Group, read: all, asked: true, noted: "{five}{six}"},
		"no more than kept already":   {kept: 1, kind: chat.Group, read: all, noted: "{five}"},
		"where no history is kept":    {kind: chat.Group, read: all, noted: "{five}"},
		"a direct chat":               {kept: 50, kind: chat.Direct, read: all, noted: "{five}"},
		"a later turn":                {kept: 50, kind: chat.Group, read: all, later: true, noted: "{five}"},
		"a turn that Claude has read": {kept: 50, kind: chat.Group, read: all, begun: true, noted: "{five}"},
		"a turn of the host's":        {kept: 50, kind: chat.Group, origin: domain.OriginHeartbeat, read: all},
		"a network that fails":        {kept: 50, kind: chat.Group, read: fails, asked: true, noted: "{five}"},
		"a network that hangs":        {kept: 50, kind: chat.Group, read: hangs, asked: true, noted: "{five}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t, func(c *config.Config) { c.Access.HistoryLimit = test.kept })
				network := past{asked: make(chan chat.MessageID, 9), read: test.read}
				if test.later {
					r.begin(t, agent.Result{})
				}
				plugintest.Run(t, r.plugins, "telegram", plugintest.Channel(chat.Limits{}, network))
				m := message("hello")
				m.ID, m.Chat, m.Thread, m.Origin = "7", chat.Chat{ID: "g", Kind: test.kind}, "t", test.origin
				five := &domain.Note{Kind: domain.NoteHistory, MessageID: "5", Text: "{five}"}
				_, err := r.store.RecordPassive(t.Context(), domain.Passive{EventID: "5", Channel: "telegram", Session: session, Limit: 50, Note: five})
				must(t, err)
				r.accept(t, m)
				run := r.claim(t)
				if test.begun {
					must(t, r.store.Consumed(t.Context(), run.ID))
					run = r.crash(t)
				}
				r.plays(costs(agent.Result{}, agent.Failure{Class: agent.Died}))
				began := time.Now()
				if err := r.Handle(t.Context(), run, nil); err == nil || time.Since(began) > 5*time.Second {
					t.Errorf("the answer waited for %v: %v", time.Since(began), err)
				}
				if (len(network.asked) == 1) != test.asked || test.asked && <-network.asked != "7" {
					t.Errorf("it is read before %d messages", len(network.asked))
				}
				var again string // for the next attempt
				for _, n := range r.crash(t).Notes {
					again += n.Text
				}
				if prompt := r.asked()[0].Prompt; marks(prompt) != test.noted || marks(again) != test.noted || strings.Contains(again, "{four}") != strings.Contains(again, "{four} <media:image>") {
					t.Errorf("it reads %q, want %q, and then %q", prompt, test.noted, again)
				}
			})
		})
	}
}

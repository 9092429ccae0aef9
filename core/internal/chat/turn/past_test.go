package turn_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// said is something that somebody said in a group.
func said(id chat.MessageID, by chat.Sender, body chat.Body) chat.Event {
	if m, ok := body.(chat.Message); ok {
		m.ID = id
		body = m
	}
	return chat.Event{ID: chat.EventID(id), Chat: chat.Chat{ID: "g", Kind: chat.Group}, Sender: by, At: time.Unix(1, 0), Body: body}
}

// What was said in a group before the agent came is read once, before its first turn there, where and as far as its history is
// kept; and it holds up no answer.
// Behaviour: group-past.
func TestThePastOfAGroup(t *testing.T) {
	t.Parallel()
	bob := chat.Sender{ID: "bob", DisplayName: "Bob"}
	events := []chat.Event{
		said("1", bob, chat.Message{Text: "one"}),
		said("2", chat.Sender{ID: "me", IsSelf: true}, chat.Message{Text: "mine"}),
		said("3", chat.Sender{ID: "it", IsBot: true}, chat.Message{Text: "a bot's"}),
		said("4", bob, chat.Message{Text: "four", Media: []chat.Media{{Kind: chat.Image}}}),
		said("", bob, chat.Message{Text: "without an id"}),
		said("5", bob, chat.Message{Text: "five"}),
		said("6", bob, chat.Message{Text: "six"}),
	}
	for name, test := range map[string]struct {
		change func(*domain.Run, *fixture)
		asked  bool
		noted  []string
	}{
		"the first turn of a group":   {func(*domain.Run, *fixture) {}, true, []string{"one", "four <media:image>", "six"}},
		"at most as many as kept":     {func(_ *domain.Run, f *fixture) { f.history = 2 }, true, []string{"six"}},
		"no more than kept already":   {func(_ *domain.Run, f *fixture) { f.history = 1 }, false, nil},
		"where no history is kept":    {func(_ *domain.Run, f *fixture) { f.history = 0 }, false, nil},
		"a direct chat":               {func(r *domain.Run, _ *fixture) { r.Head.Message.Chat.Kind = chat.Direct }, false, nil},
		"a later turn":                {func(r *domain.Run, _ *fixture) { r.PreviousAt = time.Unix(1, 0) }, false, nil},
		"a turn that Claude has read": {func(r *domain.Run, _ *fixture) { r.Head.ConsumedAt = time.Unix(1, 0) }, false, nil},
		"a turn of the host's":        {func(r *domain.Run, _ *fixture) { r.Head.Message.Origin = domain.OriginHeartbeat }, false, nil},
		"a network that fails":        {func(_ *domain.Run, f *fixture) { f.past.events, f.past.err = nil, errors.New("away") }, true, nil},
		"a network that hangs":        {func(_ *domain.Run, f *fixture) { f.past.hangs = true }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fixture{history: 50, past: past{events: events}, results: []outcome{{result: agent.Result{Text: "yes"}}}}
				run := message(1)
				run.Session.ClaudeStarted = false
				run.Head.Message.Channel, run.Head.Message.ID = "telegram", "7"
				run.Head.Message.Chat, run.Head.Message.Thread = chat.Chat{ID: "g", Kind: chat.Group}, "t"
				run.Notes = []domain.Note{{Kind: domain.NoteHint}, {Kind: domain.NoteHistory, MessageID: "5", Text: "five"}}
				test.change(run, f)
				began := time.Now()
				if err := f.handler().Handle(t.Context(), run, nil); err != nil || len(f.completed) != 1 {
					t.Fatalf("%v, completed %+v", err, f.completed)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("the answer waited for %v", took)
				}
				var noted []string
				for _, n := range f.past.noted {
					noted = append(noted, n.Text)
				}
				if (len(f.past.asked) == 1) != test.asked || !slices.Equal(noted, test.noted) {
					t.Errorf("asked %q, noted %q; want %q", f.past.asked, noted, test.noted)
				}
				if len(run.Notes) != 2+len(noted) {
					t.Errorf("the turn has the notes %+v", run.Notes)
				}
			})
		})
	}
}

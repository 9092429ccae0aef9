package inbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/chat"
)

// The journal knows that the group g has become that of moved.
// Behaviour: group-moves.
func TestAGroupThatMoves(t *testing.T) {
	t.Parallel()
	moves := func(from, to chat.ID) chat.Event {
		e := inGroup(from, event("somebody", chat.Migrated{To: to}))
		e.Sender.IsBot = true // an anonymous admin
		return e
	}
	for name, test := range map[string]struct {
		event   chat.Event
		want    chat.Verdict
		changes []string
	}{
		"a listed group":  {moves("g", "new"), chat.Accepted, []string{"tg/g is new"}},
		"once more":       {moves("moved", "new"), chat.Accepted, []string{"tg/moved is new"}},
		"an unlisted one": {moves("h", "new"), chat.Rejected, nil},
		"to itself":       {moves("g", "g"), chat.Rejected, nil},
		"back":            {moves("moved", "g"), chat.Rejected, nil},
		"nowhere":         {moves("g", ""), chat.Rejected, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{}
			outcome, err := box(j).Submit(t.Context(), "tg", test.event)
			if diff := cmp.Diff(test.changes, j.changes); diff != "" || err != nil || outcome.Verdict != test.want {
				t.Errorf("%v, %v\n%s", outcome.Verdict, err, diff)
			}
		})
	}
	j := &journal{}
	in := box(j)
	for _, want := range []chat.Verdict{chat.Accepted, chat.Duplicate} {
		if outcome, err := in.Submit(t.Context(), "tg", moves("g", "new")); err != nil || outcome.Verdict != want {
			t.Errorf("%v, %v; want %v", outcome.Verdict, err, want)
		}
	}
	if _, err := box(&journal{fail: errors.New("disk full")}).Submit(t.Context(), "tg", moves("g", "new")); err == nil {
		t.Error("a move that could not be noted is acknowledged")
	}
}

// Behaviour: group-moves.
func TestAGroupThatHasMovedIsTheSame(t *testing.T) {
	t.Parallel()
	j := &journal{}
	outcome, err := box(j).Submit(t.Context(), "tg", inGroup("moved", event("owner", chat.Message{ID: "m", Text: "hello", MentionsSelf: true})))
	if err != nil || outcome.Verdict != chat.Accepted || outcome.Session != "tg:group:g" {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if got := j.accepted[0].Message.Chat.ID; got != "moved" {
		t.Errorf("it is answered in %s", got)
	}
	if outcome, _ := box(j).Submit(t.Context(), "other", inGroup("moved", event("owner", chat.Message{ID: "m", Text: "hello", MentionsSelf: true}))); outcome.Verdict != chat.Rejected {
		t.Errorf("on another channel: %+v", outcome)
	}
}

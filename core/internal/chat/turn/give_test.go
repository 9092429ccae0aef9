package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/network/hook"
)

// Behaviour: hooks-conversation.
func TestAConversationIsGivenATextOnce(t *testing.T) {
	t.Parallel()
	// given is what a conversation has of hooks after a turn, and the texts of hooks in the turn's prompt.
	given := func(before map[string]string, consumed bool, results []outcome, added ...hook.Added) (after map[string]string, texts string) {
		t.Helper()
		r, run := &fixture{added: added, results: results}, message(1)
		if run.Session.Given = before; consumed {
			run.Head.ConsumedAt = time.Now()
		}
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		prompt := strings.Fields(r.turns[len(r.turns)-1].Prompt)
		return r.completed[0].Turn.Given, strings.TrimSuffix(prompt[2], "(fresh")
	}
	ok := []outcome{{result: agent.Result{Text: "hi"}}}
	notes, tea := hook.Added{Name: "a", Prepend: "now", Conversation: "notes"}, hook.Added{Name: "b", Conversation: "tea"}

	has, texts := given(nil, false, ok, notes, tea)
	if texts != "notes+now+tea" || len(has) != 2 {
		t.Errorf("a new conversation is given %q, and has %v", texts, has)
	}
	if after, texts := given(has, false, ok, notes, tea, hook.Added{Name: "c", Prepend: "only"}); texts != "now+only" || after != nil {
		t.Errorf("one that has all is given %q, and has %v", texts, after)
	}
	changed := tea
	changed.Conversation = "coffee"
	after, texts := given(has, false, ok, notes, changed)
	if texts != "now+coffee" || after["a"] != has["a"] || after["b"] == has["b"] {
		t.Errorf("after a change it is given %q, and has %v", texts, after)
	}
	if after, texts := given(has, false, ok, hook.Added{Name: "b", Conversation: "notes"}); texts != "notes" || after["a"] != has["a"] {
		t.Errorf("another hook's text counts as this one's: %q, %v", texts, after)
	}
	if after, _ := given(nil, false, []outcome{failure(agent.Auth)}, notes); after != nil {
		t.Errorf("after a failure it has %v", after)
	}
	if after, _ := given(nil, true, ok, notes); after != nil {
		t.Errorf("a prompt of an earlier attempt counts as this one: %v", after)
	}
	after, texts = given(has, false, []outcome{failure(agent.ContextOverflow), ok[0]}, notes, tea)
	if diff := cmp.Diff(has, after); texts != "notes+now+tea" || diff != "" {
		t.Errorf("a conversation that replaces another is given %q, and has %v", texts, after)
	}
}

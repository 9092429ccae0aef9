package turn_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
)

// hooked has two plugins add to each turn what is returned, which may change.
func (r *rig) hooked(t *testing.T) (notes, tea *sdk.AgentContext) {
	t.Helper()
	notes, tea = &sdk.AgentContext{}, &sdk.AgentContext{}
	for name, adds := range map[string]*sdk.AgentContext{"notes": notes, "tea": tea} {
		plugintest.Run(t, r.plugins, name, sdk.BeforeAgentStart(func(context.Context, sdk.AgentStart) (sdk.AgentContext, error) { return *adds, nil }))
	}
	return notes, tea
}

// marks are the words in braces of a text.
func marks(text string) string {
	return strings.Join(regexp.MustCompile(`\{\w+\}`).FindAllString(text, -1), "")
}

// A conversation is given each text of a hook once, until that changes, and only what Claude has certainly read counts.
// Behaviour: hooks-conversation.
func TestAConversationIsGivenATextOnce(t *testing.T) {
	t.Parallel()
	r := open(t)
	notes, tea := r.hooked(t)
	given := func(want string, script ...step) {
		t.Helper()
		if script == nil {
			script = []step{says("hi")}
		}
		r.plays(script...)
		r.do(t, message("hello"))
		if got := marks(r.asked()[len(r.asked())-1].Prompt); got != want {
			t.Errorf("it is given %q, want %q", got, want)
		}
	}
	*notes, *tea = sdk.AgentContext{Prepend: "{now}", Conversation: "{notes}"}, sdk.AgentContext{Conversation: "{tea}"}
	given("{notes}{now}{tea}", fails(agent.Auth)) // it does not count
	given("{notes}{now}{tea}")
	tea.Prepend = "{only}"
	given("{now}{only}")
	tea.Conversation = "{coffee}"
	given("{now}{coffee}{only}")
	given("{now}{only}")
	tea.Conversation = "{notes}" // of another hook than before
	given("{now}{notes}{only}")

	notes.Conversation = "{changed}"
	r.accept(t, message("hello"))
	must(t, r.store.Consumed(t.Context(), r.claim(t).ID))
	must(t, r.Handle(t.Context(), r.crash(t), nil)) // The first attempt may have had another prompt.
	given("{changed}{now}{only}")
	given("{changed}{now}{notes}{only}", fails(agent.ContextOverflow), says("hi")) // in a new conversation
	given("{now}{only}")
}

package store_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// A choice is made in the step that accepts its command, once for an event, and an empty one ends it.
// Behaviour: agent-choose.
func TestChosenAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	chosen := func(want string) {
		t.Helper()
		got, err := b.ChosenAgent(b.ctx, "anna")
		if err != nil || got != want {
			t.Errorf("chosen: %q, %v, want %q", got, err, want)
		}
	}
	choose := func(id int, agent string) {
		t.Helper()
		in := inbound("anna", id)
		in.Lane, in.Choice = domain.ControlLane, &domain.AgentChoice{Conversation: "anna", Agent: agent}
		if _, err := b.Accept(b.ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	chosen("")
	choose(1, "app")
	chosen("app")
	choose(2, "server")
	chosen("server")
	choose(1, "app") // the same event again
	chosen("server")
	choose(3, "")
	chosen("")
}

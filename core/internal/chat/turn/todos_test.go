package turn_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// plans has the list change, notes what was known before, and then does what next does.
func plans(known *[]domain.Todo, next step, lists ...[]domain.Todo) step {
	return func(ctx context.Context, t agent.Turn) (agent.Result, error) {
		*known = t.Watcher.Todos()
		for _, list := range lists {
			t.Watcher.Progress(agent.Progress{Todos: list})
		}
		t.Watcher.Progress(agent.Progress{Text: "a progress that does not name it"})
		return next(ctx, t)
	}
}

// What the agent plans to do is recorded when it changes, also if the turn fails or is interrupted, and is known to the next turn of the
// conversation. A new conversation has no list.
// Behaviour: todo-status.
func TestTodosOutliveTheTurn(t *testing.T) {
	t.Parallel()
	first, second := []domain.Todo{{ID: "1", Text: "Boil water"}}, []domain.Todo{{ID: "1", Text: "Boil water", State: domain.TodoDone}}
	for name, end := range map[string]step{"it answers": says("yes"), "it fails": fails(agent.ContentFilter)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			check := func(when string, want, got []domain.Todo) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
			}
			kept := func() []domain.Todo {
				t.Helper()
				list, err := r.store.Todos(t.Context(), r.known(t).ClaudeSession)
				must(t, err)
				return list
			}
			var known []domain.Todo
			r.plays(plans(&known, end, first, second))
			r.do(t, message("make tea"))
			check("in the first turn", nil, known)
			check("behind the first turn", second, kept())
			r.plays(plans(&known, end))
			r.do(t, message("go on"))
			check("in the second turn", second, known)
			check("behind the second turn", second, kept())
			r.plays(plans(&known, end, []domain.Todo{}))
			r.do(t, message("forget it"))
			check("behind an empty list", []domain.Todo{}, kept())
			r.plays(plans(&known, fails(agent.TranscriptMissing), first), plans(&known, end))
			r.do(t, message("and now"))
			check("in a new conversation", nil, known)
			check("behind the turn of a new conversation", nil, kept())
		})
	}
}

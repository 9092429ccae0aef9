package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// The list of a conversation outlives its turn and the host, and no other conversation has it.
// Behaviour: todo-status.
func TestTodosOfAConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	claude := run.Head.ClaudeSession
	todos := func() []domain.Todo {
		t.Helper()
		list, err := b.Todos(b.ctx, claude)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	want(t, "before", []domain.Todo(nil), todos())
	list := []domain.Todo{{ID: "1", Text: "Boil water", Doing: "Boiling", State: domain.TodoDone}, {Text: "Fetch tea"}}
	for _, now := range [][]domain.Todo{list[:1], list} {
		if err := b.SetTodos(b.ctx, run.ID, now); err != nil {
			t.Fatal(err)
		}
		want(t, "during the turn", now, todos())
	}
	b.complete(t, run, "done")
	b.reopen(t)
	want(t, "after the turn", list, todos())
	if err := b.SetTodos(b.ctx, run.ID, nil); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("a run that has ended: %v", err)
	}
	other, err := b.Todos(b.ctx, "another conversation")
	if err != nil || other != nil {
		t.Errorf("another conversation has %v, %v", other, err)
	}
	b.accept(t, inbound("anna", 2))
	run = b.claim(t)
	many := make([]domain.Todo, 2*domain.MaxTodos)
	for i := range many {
		many[i].Text = fmt.Sprint(i)
	}
	if err := b.SetTodos(b.ctx, run.ID, many); err != nil {
		t.Fatal(err)
	}
	want(t, "of a long list", many[:domain.MaxTodos], todos())
	if err := b.SetTodos(b.ctx, run.ID, []domain.Todo{}); err != nil {
		t.Fatal(err)
	}
	want(t, "of an empty one", []domain.Todo{}, todos())
}

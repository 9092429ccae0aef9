package exchange

import (
	"encoding/json"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// todos follows the list of what the agent plans to do. Depending on the model and its environment, Claude Code has the tool TodoWrite, which
// replaces the list, or TaskCreate, TaskUpdate and TaskList, which change and read one that it keeps for the conversation, or none.
type todos struct {
	list []domain.Todo             // replaced when it changes
	open map[string]protocol.Block // the uses of these tools that run, by their ids
}

// planning are the tools that change the list, or read it.
var planning = map[string]bool{"TodoWrite": true, "TaskCreate": true, "TaskUpdate": true, "TaskList": true}

// maxPlanning bounds how many uses of these tools run at a time. Further ones are not followed.
const maxPlanning = 100

// assistant handles a message of the model.
func (t *todos) assistant(m *protocol.Message) {
	for _, b := range m.Content {
		if b.Type != "tool_use" || b.ID == "" || !planning[b.Name] || len(t.open) >= maxPlanning {
			continue
		}
		if t.open == nil {
			t.open = map[string]protocol.Block{}
		}
		t.open[b.ID] = b
	}
}

// user handles a message of the user's side, with what the tool reports whose result it has. It reports whether the list is another one.
func (t *todos) user(m *protocol.Message, reported json.RawMessage) (changed bool) {
	for _, b := range m.Content {
		use, ok := t.open[b.ToolUseID]
		if !ok {
			continue
		}
		delete(t.open, b.ToolUseID)
		if b.IsError {
			continue
		}
		if list := t.after(use, reported); list != nil && !slices.Equal(list, t.list) {
			t.list, changed = list, true
		}
	}
	return changed
}

// task is a task in the input of a tool, and in what one reports.
type task struct {
	ID      string `json:"id"`
	TaskID  string `json:"taskId"`
	Subject string `json:"subject"`
	Content string `json:"content"`
	Active  string `json:"activeForm"`
	Status  string `json:"status"`
}

// after returns the list after a use; nil: it is as before.
func (t *todos) after(use protocol.Block, reported json.RawMessage) []domain.Todo {
	var in struct {
		task
		Todos []task `json:"todos"`
	}
	var said struct {
		Success *bool  `json:"success"`
		Task    task   `json:"task"`
		Tasks   []task `json:"tasks"`
	}
	if json.Unmarshal(use.Input, &in) != nil {
		return nil
	}
	known := json.Unmarshal(reported, &said) == nil
	switch use.Name {
	case "TodoWrite":
		return todosOf(in.Todos, nil)
	case "TaskCreate":
		if !known || said.Task.ID == "" {
			return nil
		}
		made := todoOf(task{ID: said.Task.ID, Subject: said.Task.Subject, Active: in.Active})
		list := slices.DeleteFunc(slices.Clone(t.list), func(one domain.Todo) bool { return one.ID == made.ID })
		if len(list) >= domain.MaxTodos {
			return nil
		}
		return append(list, made)
	case "TaskUpdate":
		at := slices.IndexFunc(t.list, func(one domain.Todo) bool { return one.ID != "" && one.ID == in.TaskID })
		if !known || at < 0 || said.Success != nil && !*said.Success {
			return nil
		}
		return t.updated(at, in.task)
	case "TaskList":
		if !known || said.Tasks == nil {
			return nil
		}
		return todosOf(said.Tasks, t.list)
	}
	return nil
}

// updated returns the list with a changed item.
func (t *todos) updated(at int, by task) []domain.Todo {
	list := append(make([]domain.Todo, 0, len(t.list)), t.list...)
	if by.Status == "deleted" {
		return slices.Delete(list, at, at+1)
	}
	now := todoOf(by)
	if by.Subject != "" {
		list[at].Text = now.Text
	}
	if by.Active != "" {
		list[at].Doing = now.Doing
	}
	if by.Status != "" {
		list[at].State = now.State
	}
	return list
}

// todosOf returns a whole list, which is not nil. What is being done keeps its words of the list before.
func todosOf(tasks []task, before []domain.Todo) []domain.Todo {
	doing := map[string]string{}
	for _, one := range before {
		doing[one.ID] = one.Doing
	}
	list := []domain.Todo{}
	for _, one := range tasks[:min(len(tasks), domain.MaxTodos)] {
		made := todoOf(one)
		if made.ID != "" && made.Doing == "" {
			made.Doing = doing[made.ID]
		}
		list = append(list, made)
	}
	return list
}

// states are the states by their names in Claude Code. All others are open.
var states = map[string]domain.TodoState{"in_progress": domain.TodoDoing, "completed": domain.TodoDone}

func todoOf(one task) domain.Todo {
	return domain.Todo{ID: oneLine(one.ID), Text: oneLine(one.Subject + one.Content), Doing: oneLine(one.Active), State: states[one.Status]}
}

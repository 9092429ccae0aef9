package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// used are the events of a use of a tool, as Claude Code 2.1.331 writes them.
func used(name, input, content, reported string, failed bool) []string {
	call := "toolu_" + name
	return []string{
		fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":null,"message":{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`, call, name, input),
		fmt.Sprintf(`{"type":"user","parent_tool_use_id":null,"message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%q,"is_error":%t}]},"tool_use_result":%s}`, call, content, failed, reported),
	}
}

func observe(t *testing.T, x *Exchange, uses ...[]string) {
	t.Helper()
	for _, lines := range uses {
		for _, line := range lines {
			e, err := protocol.Parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			x.Observe(e)
		}
	}
}

// Behaviour: todo-list.
func TestTodos(t *testing.T) {
	t.Parallel()
	var (
		water   = used("TaskCreate", `{"subject":"Boil water","description":"Boil it","activeForm":"Boiling water"}`, "Task #1 created successfully: Boil water", `{"task":{"id":"1","subject":"Boil water","description":"Boil it"}}`, false)
		tea     = used("TaskCreate", `{"subject":"Fetch tea","description":"Fetch it"}`, "Task #2 created successfully: Fetch tea", `{"task":{"id":"2","subject":"Fetch tea","description":"Fetch it"}}`, false)
		begun   = used("TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "Updated task #1 status", `{"success":true,"taskId":"1","updatedFields":["status"],"statusChange":{"from":"pending","to":"in_progress"}}`, false)
		done    = used("TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1 status", `{"success":true,"taskId":"1","updatedFields":["status"]}`, false)
		renamed = used("TaskUpdate", `{"taskId":"2","subject":"Fetch  green\ntea","activeForm":"Fetching"}`, "Updated task #2", `{"success":true,"taskId":"2","updatedFields":["subject"]}`, false)
		deleted = used("TaskUpdate", `{"taskId":"2","status":"deleted"}`, "Updated task #2 deleted", `{"success":true,"taskId":"2","updatedFields":["deleted"]}`, false)
		missing = used("TaskUpdate", `{"taskId":"2","status":"completed"}`, "Task not found", `{"success":false,"taskId":"2","updatedFields":[],"error":"Task not found"}`, false)
		refused = used("TaskCreate", `{"subject":"Boil water"}`, "<tool_use_error>Error: No such tool available: TaskCreate.</tool_use_error>", `"Error: No such tool available: TaskCreate."`, true)
		listed  = used("TaskList", `{}`, "#1 [completed] Boil water", `{"tasks":[{"id":"1","subject":"Boil water","status":"completed","blockedBy":[]}]}`, false)
		none    = used("TaskList", `{}`, "No tasks found", `{"tasks":[]}`, false)
		written = used("TodoWrite", `{"todos":[{"content":"Boil water","status":"in_progress","activeForm":"Boiling water"},{"content":"Fetch tea","status":"pending","activeForm":"Fetching"}]}`, "Todos have been modified successfully.", `{"oldTodos":[],"newTodos":[]}`, false)
		many    = used("TodoWrite", `{"todos":[`+strings.Repeat(`{"content":"x","status":"pending"},`, 60)+`{"content":"y","status":"pending"}]}`, "ok", `{}`, false)
		other   = used("mcp__clawhost__TaskCreate", `{"subject":"Boil water"}`, "ok", `{"task":{"id":"9","subject":"Boil water"}}`, false)
		one     = domain.Todo{ID: "1", Text: "Boil water", Doing: "Boiling water"}
		two     = domain.Todo{ID: "2", Text: "Fetch tea"}
		is      = func(one domain.Todo, state domain.TodoState) domain.Todo { one.State = state; return one }
	)
	for name, test := range map[string]struct {
		known []domain.Todo // of earlier turns
		uses  [][]string
		want  []domain.Todo
	}{
		"tasks":               {nil, [][]string{water, tea, begun}, []domain.Todo{is(one, domain.TodoDoing), two}},
		"a task is done":      {nil, [][]string{water, tea, begun, done}, []domain.Todo{is(one, domain.TodoDone), two}},
		"a task is renamed":   {nil, [][]string{tea, renamed}, []domain.Todo{{ID: "2", Text: "Fetch green tea", Doing: "Fetching"}}},
		"a task is deleted":   {nil, [][]string{water, tea, deleted}, []domain.Todo{one}},
		"all are deleted":     {nil, [][]string{tea, deleted}, []domain.Todo{}},
		"of an earlier turn":  {[]domain.Todo{one, two}, [][]string{done}, []domain.Todo{is(one, domain.TodoDone), two}},
		"created again":       {[]domain.Todo{is(one, domain.TodoDone)}, [][]string{water}, []domain.Todo{one}},
		"a list is read":      {[]domain.Todo{one, two}, [][]string{listed}, []domain.Todo{is(one, domain.TodoDone)}},
		"an empty list":       {[]domain.Todo{one}, [][]string{none}, []domain.Todo{}},
		"nothing has changed": {[]domain.Todo{is(one, domain.TodoDone)}, [][]string{listed, missing, refused, other}, nil},
		"unknown tasks":       {nil, [][]string{done, deleted, missing}, nil},
		"a whole list": {
			[]domain.Todo{one},
			[][]string{written},
			[]domain.Todo{{Text: "Boil water", Doing: "Boiling water", State: domain.TodoDoing}, {Text: "Fetch tea", Doing: "Fetching"}},
		},
	} {
		x := New("m", test.known...)
		observe(t, x, test.uses...)
		p, _ := x.Progress()
		if diff := cmp.Diff(test.want, p.Todos); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	x := New("m")
	observe(t, x, many)
	if p, _ := x.Progress(); len(p.Todos) != domain.MaxTodos {
		t.Errorf("a list of 61 has %d", len(p.Todos))
	}
	observe(t, x, used("TaskCreate", `{"subject":"z"}`, "ok", `{"task":{"id":"61","subject":"z"}}`, false))
	if p, _ := x.Progress(); len(p.Todos) != domain.MaxTodos || p.Todos[domain.MaxTodos-1].Text != "x" {
		t.Errorf("and with one more %d", len(p.Todos))
	}
}

// What a turn has done is counted: what was run, not what was refused.
// Behaviour: turn-summary.
func TestUses(t *testing.T) {
	t.Parallel()
	x := New("m")
	observe(
		t, x,
		used("Bash", `{"command":"true"}`, "", `{}`, false),
		used("Bash", `{"command":"false"}`, "Exit code 1", `"Error: Exit code 1"`, true),
		used("Bash", `{"command":"rm"}`, "You may not.", `"Error: You may not."`, true),
		used("WebFetch", `{"url":"https://example.com"}`, "text", `{}`, false),
		used("WebFetch", `{"url":"https://example.com"}`, "Request failed with status code 404", `"Error"`, true),
		used("WebSearch", `{"query":"tea"}`, "text", `{}`, false),
		used("Task", `{"prompt":"look"}`, "found", `{}`, false),
		used("Read", `{"file_path":"/w/a"}`, "text", `{}`, false),
	)
	if diff := cmp.Diff(agent.Uses{Commands: 2, Pages: 1, Searches: 1, Subagents: 1}, x.Outcome().Uses); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

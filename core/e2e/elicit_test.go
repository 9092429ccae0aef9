//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// asksPeople has the model use a tool of the test's MCP server that asks people for something.
func asksPeople(params map[string]any) messagesapi.Reply { return uses("mcp__local__ask", params) }

// form are the parameters of an elicitation with fields.
func form(message string, properties map[string]any, required ...string) map[string]any {
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return map[string]any{"message": message, "requestedSchema": schema}
}

// asksLocally has the tools of the test's MCP server allowed.
func asksLocally(c *runner) {
	c.AllowedTools = []string{"mcp__local__*"}
	c.Env["CLAUDE_CODE_MCP_STARTUP_WAIT_MS"] = "60000" // a busy machine may take long to start it
}

// turnOfServer is a turn that has the test's MCP server.
func (r *rig) turnOfServer(text string) agent.Turn {
	r.Helper()
	turn := r.turn(text)
	turn.Profile.Setup = &agent.Setup{Servers: []agent.MCPServer{{
		Name: "local", Command: []string{strings.Trim(program(r.T), `[]"`)}, Env: map[string]string{serverVariable: "1"},
	}}}
	return turn
}

// What an MCP server asks people for reaches whoever decides, as the server wrote it, and the server gets what they decide.
// Behaviour: elicit.
func TestElicitation(t *testing.T) {
	t.Parallel()
	fields := map[string]any{
		"name":  map[string]any{"type": "string", "title": "Your name", "minLength": 1},
		"size":  map[string]any{"type": "string", "enum": []any{"s", "m"}},
		"count": map[string]any{"type": "integer", "minimum": 1, "default": 2},
		"gift":  map[string]any{"type": "boolean"},
	}
	for name, tc := range map[string]struct {
		asks     map[string]any
		decision agent.Decision
		want     agent.Elicitation // without the schema
		fields   bool
		answer   string // that the server gets
	}{
		"accepted": {
			form("Order a shirt?", fields, "name", "size"),
			agent.Decision{Allow: true, Input: json.RawMessage(`{"name":"Ada","size":"m","count":3,"gift":true}`)},
			agent.Elicitation{Server: "local", Message: "Order a shirt?"},
			true, `{"action":"accept","content":{"name":"Ada","size":"m","count":3,"gift":true}}`,
		},
		"declined":     {form("Order a shirt?", fields), agent.Decision{Declined: true}, agent.Elicitation{Server: "local", Message: "Order a shirt?"}, true, `{"action":"decline"}`},
		"not answered": {form("Order a shirt?", fields), agent.Decision{Message: "Nobody answered in time."}, agent.Elicitation{Server: "local", Message: "Order a shirt?"}, true, `{"action":"cancel"}`},
		"a link": {
			map[string]any{"mode": "url", "message": "Log in", "url": "https://example.com/login?a=1", "elicitationId": "e1"},
			agent.Decision{Allow: true},
			agent.Elicitation{Server: "local", Message: "Log in", URL: "https://example.com/login?a=1"},
			false, `{"action":"accept"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, asksLocally)
			r.api.Enqueue(asksPeople(tc.asks), messagesapi.Reply{Text: "done"})
			var asked []agent.Question
			turn := r.turnOfServer("ask them")
			turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
				asked = append(asked, q)
				return tc.decision
			})
			got := r.run(r.pool(), turn)
			if got.Text != "done" || len(got.Tools) != 1 || got.Tools[0].Output != tc.answer {
				t.Errorf("the turn brings %+v, want the answer %s", got, tc.answer)
			}
			if len(asked) != 1 || asked[0].Elicits == nil {
				t.Fatalf("asked %+v", asked)
			}
			q := *asked[0].Elicits
			var schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if tc.fields && (json.Unmarshal(q.Schema, &schema) != nil || len(schema.Properties) != len(fields)) {
				t.Errorf("the schema is %s", q.Schema)
			}
			if q.Schema = nil; q.Server != tc.want.Server || q.Message != tc.want.Message || q.URL != tc.want.URL {
				t.Errorf("asked %+v, want %+v", q, tc.want)
			}
		})
	}
}

// A call of a tool has its time also while its server asks people: then the question is withdrawn, and the turn goes on.
// Behaviour: ask-time.
func TestElicitationTakesTheTimeOfItsCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, func(c *runner) {
		asksLocally(c)
		c.Env["MCP_TOOL_TIMEOUT"] = "1000"
	})
	r.api.Enqueue(asksPeople(form("Order a shirt?", map[string]any{"name": map[string]any{"type": "string"}})), messagesapi.Reply{Text: "a pity"})
	turn, ended := r.turnOfServer("ask them"), make(chan error, 1)
	turn.Asker = askFunc(func(ctx context.Context, _ agent.Question) agent.Decision {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return agent.Decision{Declined: true}
	})
	got := r.run(r.pool(), turn)
	if got.Text != "a pity" || len(got.Tools) != 1 || !got.Tools[0].Failed || !strings.Contains(got.Tools[0].Output, "no answer came before the time limit") {
		t.Errorf("the turn brings %+v", got)
	}
	if cause := <-ended; !errors.Is(cause, agent.ErrWithdrawn) {
		t.Errorf("the question has ended: %v", cause)
	}
}

// A person fills in the form of an MCP server in the chat. What they have answered survives a kill of host and claude, and the form
// that the turn asks for again goes on where it was.
// Behaviour: elicit, elicit-link.
func TestFormInTheChat(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{
		claude: map[string]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000"},
		tools:  []string{"mcp__local__*"},
		limits: `
  mcp "local" {
    command = ` + program(t) + `
    env     = { ` + serverVariable + ` = "1" }
  }`,
	})
	h.start()
	owner := h.owner()
	asked := asksPeople(form("Order a shirt?", map[string]any{
		"name": map[string]any{"type": "string", "minLength": 2},
		"size": map[string]any{"type": "string", "enum": []any{"s", "m"}},
	}, "name", "size"))
	h.api.Enqueue(asked)
	owner.say("a shirt")
	owner.questioned("The MCP server local asks you:")
	owner.say("A")
	owner.shows("This does not fit. Write a text, at least 2 characters.")
	owner.say("Ada")
	owner.questioned("For the MCP server local:")
	h.delivered()
	h.crash()
	h.api.Enqueue(asked, messagesapi.Reply{Text: "ordered"})
	h.start()
	owner.press(owner.questioned("For the MCP server local:"), "m")
	owner.press(owner.questioned("Send this to the MCP server local?"), "Send")
	owner.shows(continued + "ordered")
	if got, want := strings.Join(h.last().Prompt.ToolResults(), "\n"), `{"action":"accept","content":{"name":"Ada","size":"m"}}`; strings.Count(got, want) != 1 {
		t.Errorf("the tools brought %s", got)
	}

	h.api.Enqueue(asksPeople(map[string]any{"mode": "url", "message": "Pay", "url": "https://pay.example/1", "elicitationId": "e"}), messagesapi.Reply{Text: "a pity"})
	owner.say("pay")
	owner.press(owner.questioned("The MCP server local asks you:"), "Decline")
	owner.shows("a pity")
	if got := h.last().Prompt.ToolResults(); got[len(got)-1] != `{"action":"decline"}` {
		t.Errorf("the tools brought %q", got)
	}
}

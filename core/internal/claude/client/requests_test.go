package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// stdin takes what is sent to a process that is not there.
type stdin struct {
	Process
	lines chan []byte
}

func (s stdin) Send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.lines <- line
}

// askFunc is an [agent.Asker].
type askFunc func(context.Context, agent.Question) agent.Decision

func (f askFunc) Ask(ctx context.Context, q agent.Question) agent.Decision { return f(ctx, q) }

// unstarted is a client without a process.
type unstarted struct {
	*Client
	stdin
}

func newUnstarted(t *testing.T, turn agent.Turn) unstarted {
	t.Helper()
	in := stdin{lines: make(chan []byte, 256)}
	log := hclog.NewNullLogger()
	s := &Client{
		session: turn.Session, command: new(cli.Command), inventory: new(Inventory), log: log, process: in, requests: newRequests(in, []string{""}, turn.Profile, log),
		moved: make(chan struct{}), ready: make(chan struct{}), exchange: exchange.New("m"),
	}
	s.Attend(t.Context(), turn)
	t.Cleanup(s.Dismiss)
	return unstarted{s, in}
}

// line has the session take a line.
func (s unstarted) line(t *testing.T, line []byte) {
	t.Helper()
	if err := s.Line(line, false); err != nil {
		t.Fatal(err)
	}
}

// reply is what was written for a request.
type reply struct {
	Response struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
}

func (s unstarted) replied(t *testing.T) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal(receive(t, s.lines, "an answer is written"), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// receive waits for what comes through a channel.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("did not happen: %s", what)
		panic("unreachable")
	}
}

// recorded is the session of a recording.
func recorded(t *testing.T, lines [][]byte) string {
	t.Helper()
	for _, line := range lines {
		if e, err := protocol.Parse(line); err == nil && e.Session != "" {
			return e.Session
		}
	}
	t.Fatal("the recording has no session")
	return ""
}

// toolFunc is an [agent.ToolServer].
type toolFunc func(context.Context, json.RawMessage) (json.RawMessage, error)

func (f toolFunc) Handle(ctx context.Context, m json.RawMessage) (json.RawMessage, error) {
	return f(ctx, m)
}

// A process whose turn is only expected learns the tools, and calls none of them, even if the server is that of another turn.
func TestNoToolIsCalledBeforeATurn(t *testing.T) {
	t.Parallel()
	var handled []string
	tools := toolFunc(func(_ context.Context, m json.RawMessage) (json.RawMessage, error) {
		handled = append(handled, string(m))
		return json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{}}`), nil
	})
	s := newUnstarted(t, agent.Turn{Session: "s", Tools: tools})
	ask := func(method string) string {
		t.Helper()
		s.line(t, fmt.Appendf(nil, `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"clawhost","message":{"jsonrpc":"2.0","id":1,"method":%q}}}`, method))
		return string(s.replied(t).Response.Response)
	}
	if got := ask("tools/call"); !strings.Contains(got, "no turn is running") || len(handled) > 0 {
		t.Errorf("a call is answered by %s, the tools got %q", got, handled)
	}
	if got := ask("tools/list"); strings.Contains(got, "error") || len(handled) != 1 {
		t.Errorf("a question for the tools is answered by %s, the tools got %q", got, handled)
	}
	s.Attend(t.Context(), agent.Turn{Session: "s", UUID: "m", Tools: tools})
	if got := ask("tools/call"); strings.Contains(got, "error") || len(handled) != 2 {
		t.Errorf("a call in the turn is answered by %s, the tools got %q", got, handled)
	}
}

// What the real CLI asked, as it was recorded, and what it is answered.
func TestRecordedQuestions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]agent.Question{
		"2.1.197_permissions": {
			question("Bash", `{"command":"touch /srv/claw/ws/a/x1"}`, "touch /srv/claw/ws/a/x1", "/srv/claw/ws/a/x1"),
			question("Bash", `{"command":"touch /srv/claw/ws/a/x2"}`, "touch /srv/claw/ws/a/x2", "/srv/claw/ws/a/x2"),
			question("Bash", `{"command":"touch /srv/claw/ws/a/x3"}`, "touch /srv/claw/ws/a/x3", "/srv/claw/ws/a/x3"),
		},
		"2.1.197_askuser": {question("AskUserQuestion",
			`{"questions":[{"question":"Which one?","header":"Pick","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multiSelect":false}]}`,
			"", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan agent.Question, 10)
			lines := recordings.Stream(t, name)
			s := newUnstarted(t, agent.Turn{Session: recorded(t, lines), Asker: askFunc(func(_ context.Context, q agent.Question) agent.Decision {
				asked <- q
				return agent.Decision{Allow: true, Input: json.RawMessage(`{"answers":{"Which one?":"B"}}`)}
			})})
			for _, line := range lines {
				s.line(t, line)
				e, err := protocol.Parse(line)
				if err != nil || e.Type != "control_request" {
					continue
				}
				r := s.replied(t)
				switch {
				case e.Request.Subtype == "mcp_message":
					if !strings.HasPrefix(string(r.Response.Response), `{"mcp_response":`) {
						t.Errorf("a message for a server is answered by %+v", r)
					}
				case e.Request.Subtype != "can_use_tool":
					if r.Response.Subtype != "error" {
						t.Errorf("%s is answered by %+v", e.Request.Subtype, r)
					}
				case r.Response.RequestID != e.RequestID || string(r.Response.Response) != `{"behavior":"allow","updatedInput":{"answers":{"Which one?":"B"}}}`:
					t.Errorf("the answer is %+v", r)
				}
			}
			close(asked)
			var got []agent.Question
			for q := range asked {
				if q.ToolUseID == "" {
					t.Errorf("question without a tool use: %+v", q)
				}
				q.ToolUseID = ""
				got = append(got, q)
			}
			if len(want) < len(got) {
				got = got[:len(want)]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		})
	}
}

func question(tool, input, description, path string) agent.Question {
	return agent.Question{Tool: tool, Input: json.RawMessage(input), Description: description, Outside: path}
}

// The CLI names each path that would be written. What is said to be outside the workspace is.
// Behaviour: ask.
func TestOutside(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"": false, "/srv/work": false, "/srv/work/tea": false, "/srv/work/a/..tea": false,
		"/srv": true, "/srv/worker": true, "/srv/work/../tea": true, "/etc/passwd": true,
	} {
		asked := make(chan agent.Question, 1)
		s := newUnstarted(t, agent.Turn{Asker: askFunc(func(_ context.Context, q agent.Question) agent.Decision {
			asked <- q
			return agent.Decision{}
		})})
		s.requests.folders = []string{"/srv/work"}
		s.line(t, ask(t, "1", map[string]any{"blocked_path": path}))
		s.replied(t)
		if q := <-asked; (q.Outside != "") != want || want && q.Outside != path {
			t.Errorf("of %q it is told that %q is outside", path, q.Outside)
		}
	}
}

// ask is a request of the CLI's to use a tool.
func ask(t *testing.T, id string, fields map[string]any) []byte {
	t.Helper()
	request := map[string]any{"subtype": "can_use_tool", "tool_name": "Bash", "input": map[string]any{}, "tool_use_id": "t"}
	maps.Copy(request, fields)
	line, err := json.Marshal(map[string]any{"type": "control_request", "request_id": id, "request": request})
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// Questions are open side by side; one that is withdrawn is not answered any more, the others are.
// Behaviour: ask-time.
func TestQuestionsSideBySide(t *testing.T) {
	t.Parallel()
	begun := make(chan string)
	decide := map[string]chan agent.Decision{"a": make(chan agent.Decision, 1), "b": make(chan agent.Decision, 1), "c": make(chan agent.Decision, 1)}
	s := newUnstarted(t, agent.Turn{Asker: askFunc(func(ctx context.Context, q agent.Question) agent.Decision {
		begun <- q.Tool
		select {
		case d := <-decide[q.Tool]:
			if withdrawn := errors.Is(context.Cause(ctx), agent.ErrWithdrawn); withdrawn != (q.Tool == "b") {
				t.Errorf("%s was withdrawn: %v", q.Tool, withdrawn)
			}
			return d
		case <-t.Context().Done():
			return agent.Decision{}
		}
	})})
	for id := range decide {
		s.line(t, ask(t, id, map[string]any{"tool_name": id}))
		receive(t, begun, "a question is asked")
	}
	if !s.look().asking {
		t.Error("no one is being asked")
	}
	s.line(t, []byte(`{"type":"control_cancel_request","request_id":"b"}`))
	decide["b"] <- agent.Decision{Allow: true} // though its context has ended
	decide["c"] <- agent.Decision{Message: "no"}
	if r := s.replied(t); r.Response.RequestID != "c" || string(r.Response.Response) != `{"behavior":"deny","message":"no"}` {
		t.Errorf("the first answer is %+v", r)
	}
	decide["a"] <- agent.Decision{Message: "no", Stop: true}
	if r := s.replied(t); r.Response.RequestID != "a" || string(r.Response.Response) != `{"behavior":"deny","interrupt":true,"message":"no"}` {
		t.Errorf("the second answer is %+v", r)
	}
	if s.look().asking {
		t.Error("somebody is still being asked")
	}
	s.Dismiss()
	if len(s.lines) > 0 {
		t.Errorf("a question that was withdrawn is answered: %s", <-s.lines)
	}
	s.line(t, ask(t, "late", nil))
	if r := s.replied(t); !strings.Contains(string(r.Response.Response), "not allowed here") {
		t.Errorf("without a turn the answer is %+v", r)
	}
}

// When a process has ended, no one is asked for it any more.
func TestTheEndOfAProcessEndsItsQuestions(t *testing.T) {
	t.Parallel()
	begun, over := make(chan struct{}, 1), make(chan error, 1)
	s := newUnstarted(t, agent.Turn{Asker: askFunc(func(ctx context.Context, _ agent.Question) agent.Decision {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			over <- ctx.Err()
		case <-time.After(10 * time.Second):
			over <- nil
		}
		return agent.Decision{Allow: true}
	})})
	s.line(t, ask(t, "1", nil))
	receive(t, begun, "a question is asked")
	s.End()
	select {
	case err := <-over:
		if err == nil {
			t.Error("the question is still open")
		}
	default:
		t.Error("End has not waited for the question")
	}
	if s.look().asking || len(s.lines) > 0 {
		t.Errorf("somebody is being asked: %t; %d answers were written", s.look().asking, len(s.lines))
	}
}

// What a question shows is bounded, and what cannot be shown is not asked.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	asked := make(chan agent.Question, 1)
	hold := make(chan struct{})
	s := newUnstarted(t, agent.Turn{Asker: askFunc(func(ctx context.Context, q agent.Question) agent.Decision {
		if q.Tool == "hold" {
			<-hold
		} else {
			asked <- q
		}
		return agent.Decision{Allow: true}
	})})
	defer close(hold)
	s.line(t, ask(t, "1", map[string]any{"input": map[string]any{"command": strings.Repeat("x", maxInput)}}))
	if r := s.replied(t); !strings.Contains(string(r.Response.Response), "at most 256 KB") {
		t.Errorf("a large input is answered by %+v", r)
	}
	s.line(t, ask(t, "2", map[string]any{
		"tool_name": strings.Repeat("é", maxRule), "description": strings.Repeat("d", maxInput), "blocked_path": "/" + strings.Repeat("p", maxInput), "input": 5,
	}))
	s.replied(t)
	q := receive(t, asked, "the question is asked")
	if len(q.Tool) > maxRule || len(q.Description) != maxDescription || len(q.Outside) != maxPath || string(q.Input) != "{}" {
		t.Errorf("asked %d %d %d %s", len(q.Tool), len(q.Description), len(q.Outside), q.Input)
	}
	for i := range maxRequests + 1 {
		s.line(t, ask(t, fmt.Sprint("many", i), map[string]any{"tool_name": "hold"}))
	}
	if r := s.replied(t); !strings.Contains(string(r.Response.Response), "Too many questions") {
		t.Errorf("one question too many is answered by %+v", r)
	}
}

// What would spare a question is offered only where rules alone do: those that stand with something else, or with a rule that is
// dropped, would spare less than the question, and a grant of them must not spare more.
// Behaviour: ask-grant.
func TestSuggestedRules(t *testing.T) {
	t.Parallel()
	const npm, test = `{"toolName":"Bash","ruleContent":"npm test *"}`, `{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"npm test *"}]}`
	add := func(rules ...string) string {
		return `{"type":"addRules","behavior":"allow","rules":[` + strings.Join(rules, ",") + `]}`
	}
	for name, tc := range map[string]struct {
		suggested string
		want      []string
	}{
		"none":             {``, nil},
		"rules":            {add(npm, `{"toolName":"Read"}`), []string{"Bash(npm test *)", "Read"}},
		"of two sorts":     {test + `,` + add(`{"toolName":"Read","ruleContent":"//etc/**"}`), []string{"Bash(npm test *)", "Read(//etc/**)"}},
		"a folder beside":  {test + `,{"type":"addDirectories","directories":["/etc"],"destination":"session"}`, nil},
		"a mode beside":    {test + `,{"type":"setMode","mode":"acceptEdits","destination":"session"}`, nil},
		"a denial beside":  {test + `,{"type":"addRules","behavior":"deny","rules":[` + npm + `]}`, nil},
		"one too long":     {add(npm, `{"toolName":"Bash","ruleContent":"`+strings.Repeat("y", maxRule)+`"}`), nil},
		"one of no tool":   {add(npm, `{"toolName":""}`), nil},
		"too many of them": {add(slices.Repeat([]string{npm}, maxRules+1)...), nil},
	} {
		e, err := protocol.Parse([]byte(`{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"Bash","permission_suggestions":[` + tc.suggested + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, new(requests).question(e).Suggested); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What a group does not use is denied before anything else is asked, in any permission mode.
// Behaviour: group-settings.
func TestToolsThatAGroupDoesNotUse(t *testing.T) {
	t.Parallel()
	for tool, denied := range map[string]bool{
		"Read": false, "Bash": true, "mcp__clawhost__todo_add": false, "mcp__clawhost__message": true, "todo_add": false,
		"AskUserQuestion": false, "": true,
	} {
		s := newUnstarted(t, agent.Turn{Profile: agent.Profile{Only: config.PatternsOf("Read", "todo_*")}})
		s.line(t, fmt.Appendf(nil, `{"type": "control_request", "request_id": "1", "request": {"subtype": "hook_callback",
			"callback_id": %q, "input": {"hook_event_name": "PreToolUse", "tool_name": %q}}}`, toolHook, tool))
		if got := string(receive(t, s.lines, "an answer is written")); strings.Contains(got, `"permissionDecision":"deny"`) != denied {
			t.Errorf("%q is answered by %s", tool, got)
		}
	}
}

// A request that the host does not know, such as a dialog that it has not declared, is refused, and is a line of the log.
func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := newUnstarted(t, agent.Turn{Session: "s", UUID: "m", Asker: askFunc(func(context.Context, agent.Question) agent.Decision {
		t.Error("somebody is asked")
		return agent.Decision{}
	})})
	s.requests.log = hclog.New(&hclog.LoggerOptions{Output: &log})
	for _, request := range []string{`{"subtype":"request_user_dialog","dialog_kind":"refusal_fallback_prompt","payload":{}}`, `{"subtype":"new"}`, `{"subtype":"hook_callback","callback_id":"other"}`} {
		s.line(t, []byte(`{"type":"control_request","request_id":"r","request":`+request+`}`))
		if got := s.replied(t).Response; got.Subtype != "error" || got.RequestID != "r" || got.Error == "" {
			t.Errorf("%s is answered by %+v", request, got)
		}
	}
	if got := log.String(); strings.Count(got, "is not supported") != 3 || !strings.Contains(got, "dialog=refusal_fallback_prompt") {
		t.Errorf("the log is %s", got)
	}
}

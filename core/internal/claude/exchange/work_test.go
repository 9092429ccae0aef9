package exchange

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"command":"ls -la","description":"List"}`:        "ls -la",
		`{"file_path":"/srv/a b.txt","content":"secret"}`:  "/srv/a b.txt",
		`{"pattern":"TODO","path":"/srv"}`:                 "TODO",
		`{"query":"  weather\n in  Rome "}`:                "weather in Rome",
		`{"url":"https://example.org/","prompt":"sum up"}`: "https://example.org/",
		`{"command":"a\u001b[31m\u0000b\u202ec"}`:          "a [31m b c",
		`{"command":"` + strings.Repeat("é", 121) + `"}`:   strings.Repeat("é", 119) + "…",
		`{"command":"` + strings.Repeat("é", 120) + `"}`:   strings.Repeat("é", 120),
		`{"command":"","path":"/x"}`:                       "/x",
		`{"command":["ls"],"path":{"a":1}}`:                "",
		`{"unknown":"x"}`:                                  "",
		`[1]`:                                              "",
		``:                                                 "",
	} {
		if got := summary(json.RawMessage(input)); got != want {
			t.Errorf("summary(%s) = %q, want %q", input, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		input, err := json.Marshal(map[string]string{"command": rapid.String().Draw(t, "command")})
		if err != nil {
			t.Fatal(err)
		}
		got := summary(input)
		if utf8.RuneCountInString(got) > agent.MaxSummary || strings.ContainsAny(got, "\r\n\x00") || !utf8.ValidString(got) {
			t.Fatalf("summary(%s) = %q", input, got)
		}
	})
}

func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	var w work
	for i := range 2 * agent.MaxTools {
		id := fmt.Sprint(i)
		w.add(&protocol.Block{Type: "tool_use", ID: id, Name: id})
		w.add(&protocol.Block{Type: "thinking", Thinking: strings.Repeat("ü", 1000)})
		w.ended(&protocol.Block{Type: "tool_result", ToolUseID: id, IsError: true})
	}
	var r agent.Result
	w.report(&r)
	w.report(&r)
	if len(r.Tools) != agent.MaxTools || !r.Tools[agent.MaxTools-1].Failed {
		t.Errorf("%d tools", len(r.Tools))
	}
	if len(r.Reasoning) > agent.MaxReasoning || len(r.Reasoning) < agent.MaxReasoning-utf8.UTFMax || !utf8.ValidString(r.Reasoning) {
		t.Errorf("%d bytes of reasoning", len(r.Reasoning))
	}
	if w.running() {
		t.Error("a tool still runs")
	}
}

// A tool that Claude Code, people or a hook do not allow is marked, and one that was allowed and fails is not.
// Behaviour: verbose-denied.
func TestDeniedTools(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, result string // the event before the result, and a field of the result
		failed, denied bool
	}{
		"by the CLI":          {`{"type":"system","subtype":"permission_denied","tool_use_id":"t1","tool_name":"Bash","decision_reason_type":"rule"}`, ``, true, true},
		"another one":         {`{"type":"system","subtype":"permission_denied","tool_use_id":"t2","tool_name":"Bash"}`, ``, true, false},
		"by people":           {``, `"tool_result_meta":[{"id":"t1","permission_decision":{"decision":"reject","source":"user_reject"}}],`, true, true},
		"allowed":             {``, `"tool_result_meta":[{"id":"t1","permission_decision":{"decision":"accept"}}],`, true, false},
		"of another form":     {``, `"tool_result_meta":{"id":"t1"},`, true, false},
		"that has an outcome": {`{"type":"system","subtype":"permission_denied","tool_use_id":"t1"}`, ``, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := New("m")
			for _, line := range []string{
				`{"type":"system","subtype":"init"}`,
				`{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`,
				tc.before,
				fmt.Sprintf(`{"type":"user",%s"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":%t,"content":"x"}]}}`, tc.result, tc.failed),
			} {
				if line == "" {
					continue
				}
				e, err := protocol.Parse([]byte(line))
				if err != nil {
					t.Fatal(err)
				}
				x.Observe(e)
			}
			p, _ := x.Progress()
			if len(p.Done) != 1 || p.Done[0].Tool.Failed != tc.failed || p.Done[0].Tool.Denied != tc.denied {
				t.Errorf("done %+v", p.Done)
			}
			if got := x.Outcome().Tools; len(got) != 1 || got[0].Denied != tc.denied {
				t.Errorf("used %+v", got)
			}
		})
	}
}

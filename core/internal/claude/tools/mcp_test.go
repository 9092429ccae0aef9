package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The messages are those that Claude Code sends when it starts and uses a tool, as they were recorded.
// Behaviour: tools.
func TestConversationWithClaude(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	send := offering("send")
	send.specs[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	send.call = func(_ context.Context, call chat.ToolCall) (chat.ToolResult, error) {
		return chat.ToolResult{Text: "sent: " + string(call.Arguments) + " <&>", Details: json.RawMessage(`{"n":1}`)}, nil
	}
	r.run(t, "gw", send)
	turn := r.Turn("41", anna)
	for _, step := range []struct{ message, want string }{
		{
			`{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","title":"Claude Code","version":"2.1.197","description":"Anthropic's agentic coding tool","websiteUrl":"https://claude.com/claude-code"}},"jsonrpc":"2.0","id":0}`,
			`{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25","serverInfo":{"name":"clawhost","version":"1.2.3"}}}`,
		},
		{`{"method":"notifications/initialized","jsonrpc":"2.0"}`, ``},
		{`{"method":"ping","jsonrpc":"2.0","id":"p"}`, `{"jsonrpc":"2.0","id":"p","result":{}}`},
		{
			`{"method":"tools/call","params":{"name":"gw_send","arguments":{"text":"hey"},"_meta":{"claudecode/toolUseId":"toolu_f2bebe72917b2d7dfade784a","progressToken":2}},"jsonrpc":"2.0","id":2}`,
			`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"sent: {\"text\":\"hey\"} <&>"}]}}`,
		},
	} {
		answer, err := turn.Handle(t.Context(), json.RawMessage(step.message))
		if err != nil || string(answer) != step.want {
			t.Errorf("%s\nis answered %s, %v\nwant %s", step.message, answer, err, step.want)
		}
	}
	list, err := turn.Handle(t.Context(), json.RawMessage(`{"method":"tools/list","jsonrpc":"2.0","id":1}`))
	const listed = `{"name":"gw_send","description":"Does send.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
	if err != nil || !strings.HasPrefix(string(list), `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"`) || !strings.Contains(string(list), listed) {
		t.Errorf("the list is %s, %v", list, err)
	}
	if diff := cmp.Diff([]chat.ToolCall{{Name: "send", Arguments: json.RawMessage(`{"text":"hey"}`), TurnID: "41", Caller: anna}}, send.called); diff != "" {
		t.Errorf("the plugin got (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]domain.ToolUse{{Turn: "41 of telegram:anna", Plugin: "gw", Tool: "send", Details: []byte(`{"n":1}`)}}, r.uses); diff != "" {
		t.Errorf("the host got (-want +got):\n%s", diff)
	}
}

func TestOddMessages(t *testing.T) {
	t.Parallel()
	turn := newRig(t).Turn("1", anna)
	for message, want := range map[string]struct {
		code int
		id   string
	}{
		``:                           {-32700, "null"},
		`{`:                          {-32700, "null"},
		`[]`:                         {-32700, "null"},
		`[{"jsonrpc":"2.0","id":1}]`: {-32700, "null"},
		`"x"`:                        {-32700, "null"},
		`null`:                       {-32600, "null"},
		`{}`:                         {-32600, "null"},
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                       {-32600, "null"},
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                    {-32600, "null"},
		`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`:                                 {-32600, "null"},
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                                    {-32600, "null"},
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 300) + `","method":"ping"}`:      {-32600, "null"},
		`{"jsonrpc":"2.0","id":7}`:                                                       {-32600, "7"},
		`{"jsonrpc":"2.0","id":7,"method":"resources/list"}`:                             {-32601, "7"},
		`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`:                                 {-32602, "7"},
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}`:                     {-32602, "7"},
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":""}}`:            {-32602, "7"},
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":{}}}`:            {-32602, "7"},
		`{"jsonrpc":"2.0","id":7,"method":7}`:                                            {-32700, "null"},
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                                           {0, ""}, // a response
		`{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`:                    {0, ""},
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:                           {0, ""},
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`:  {0, ""},
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`: {0, ""},
		`{"jsonrpc":"2.0","method":"ping"}`:                                              {0, ""},
	} {
		got := handle(t, turn, message)
		code := 0
		if got.Error != nil {
			code = got.Error.Code
		}
		if code != want.code || string(got.ID) != want.id {
			t.Errorf("%.80s is answered %d to %s, want %d to %s", message, code, got.ID, want.code, want.id)
		}
	}
	if got := handle(t, turn, `{"jsonrpc":"2.0","id":1,"method":"ping","x":"`+strings.Repeat("x", 5<<20)+`"}`); got.Error == nil || got.Error.Code != -32600 {
		t.Errorf("a huge message is answered %+v", got)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	turn := newRig(t).Turn("1", anna)
	for params, want := range map[string]string{
		`{"protocolVersion":"2024-11-05"}`: "2024-11-05",
		`{"protocolVersion":"2025-06-18"}`: "2025-06-18",
		`{"protocolVersion":"2031-01-01"}`: "2025-11-25",
		`{}`:                               "2025-11-25",
		`[]`:                               "2025-11-25",
	} {
		var agreed struct{ ProtocolVersion string }
		got := handle(t, turn, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+params+`}`)
		if err := json.Unmarshal(got.Result, &agreed); err != nil || agreed.ProtocolVersion != want {
			t.Errorf("%s: %s, %v", params, got.Result, err)
		}
	}
}

// Whatever comes, the server lives, and what it answers is JSON-RPC under the message's id.
func FuzzHandle(f *testing.F) {
	for _, seed := range []string{
		`{"method":"initialize","params":{"protocolVersion":"2025-11-25"},"jsonrpc":"2.0","id":0}`,
		`{"method":"tools/list","jsonrpc":"2.0","id":"a"}`,
		`{"method":"tools/call","params":{"name":"p_do","arguments":{"a":[1,null,{"b":"\u2028"}]}},"jsonrpc":"2.0","id":-2}`,
		`{"method":"tools/call","params":{"name":"message","arguments":{"to":"telegram:x:y","text":"hi","media":["/etc/passwd"]}},"jsonrpc":"2.0","id":3}`,
		`{"method":"tools/call","params":{"name":"sessions","arguments":{"action":"read","session":"main","limit":-4}},"jsonrpc":"2.0","id":3}`,
		`{"method":"tools/call","params":{"name":"sessions","arguments":null},"jsonrpc":"2.0","id":1e400}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`[]`, `{"id":"\ud800"}`, "\xff", `{"jsonrpc":"2.0","id":0,"ID":{},"method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	r := newRig(f)
	r.run(f, "p", offering("do"))
	f.Fuzz(func(t *testing.T, message []byte) {
		turn := r.Turn("1", anna)
		answer, err := turn.Handle(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		if answer == nil {
			return
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatalf("the answer %q is no JSON: %v", answer, err)
		}
		if string(got["jsonrpc"]) != `"2.0"` || len(got["id"]) == 0 || (got["result"] == nil) == (got["error"] == nil) {
			t.Fatalf("the answer is %s", answer)
		}
	})
}

package wire_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

func TestRoundTripOfTools(t *testing.T) {
	t.Parallel()
	call := chat.ToolCall{Name: "search", Arguments: json.RawMessage(`{"q":"x"}`), TurnID: "7", Caller: filled[chat.Caller](t)}
	there(t, call, wire.ToolCallToProto, wire.ToolCallFromProto)
	result := chat.ToolResult{
		Text: "found", Media: []chat.Media{filled[chat.Media](t)}, Failed: true, Details: json.RawMessage(`{"n":1}`),
	}
	there(t, result, wire.ToolResultToProto, wire.ToolResultFromProto)
	specs := []chat.ToolSpec{
		{Name: "search", Description: "Searches.", InputSchema: json.RawMessage(`{"type":"object"}`), Remembers: []chat.Kind{chat.Direct}},
		{Name: "get_2", Description: "Gets.", InputSchema: json.RawMessage(`{ "properties": {}, "type": "object" }`), Remembers: []chat.Kind{chat.Group, chat.Broadcast}},
	}
	there(t, specs, func(specs []chat.ToolSpec) *pluginv1.ListToolsResponse {
		r := &pluginv1.ListToolsResponse{}
		for _, s := range specs {
			r.Tools = append(r.Tools, wire.ToolSpecToProto(s))
		}
		return r
	}, wire.ToolSpecsFromProto)
}

// A kind of chat that a later protocol may have, and one that is named twice, are left out.
func TestKindsOfChatsOfTools(t *testing.T) {
	t.Parallel()
	got, err := wire.ToolSpecsFromProto(&pluginv1.ListToolsResponse{Tools: []*pluginv1.ToolSpec{{
		Name: "a", Description: "x", InputSchemaJson: []byte(`{"type":"object"}`),
		Remembers: []pluginv1.ChatKind{pluginv1.ChatKind_CHAT_KIND_GROUP, 99, 0, pluginv1.ChatKind_CHAT_KIND_GROUP},
	}}})
	if err != nil || len(got) != 1 || !slices.Equal(got[0].Remembers, []chat.Kind{chat.Group}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadToolsAreRefused(t *testing.T) {
	t.Parallel()
	tool := func(name, description, schema string) *pluginv1.ToolSpec {
		return &pluginv1.ToolSpec{Name: name, Description: description, InputSchemaJson: []byte(schema)}
	}
	const object = `{"type":"object"}`
	var many []*pluginv1.ToolSpec
	for i := range wire.MaxTools + 1 {
		many = append(many, tool(fmt.Sprint("t", i), "x", object))
	}
	for name, tt := range map[string]struct {
		tools []*pluginv1.ToolSpec
		want  string
	}{
		"nil":              {[]*pluginv1.ToolSpec{nil}, "tool.name"},
		"no name":          {[]*pluginv1.ToolSpec{tool("", "x", object)}, "tool.name"},
		"odd name":         {[]*pluginv1.ToolSpec{tool("a b\n", "x", object)}, `"a b\n"`},
		"long name":        {[]*pluginv1.ToolSpec{tool(strings.Repeat("n", 1<<20), "x", object)}, "tool.name"},
		"no description":   {[]*pluginv1.ToolSpec{tool("a", "", object)}, "tool.description"},
		"long description": {[]*pluginv1.ToolSpec{tool("a", strings.Repeat("x", 4097), object)}, "tool.description"},
		"no schema":        {[]*pluginv1.ToolSpec{tool("a", "x", "")}, "of type object"},
		"no JSON":          {[]*pluginv1.ToolSpec{tool("a", "x", object+"x")}, "of type object"},
		"no object":        {[]*pluginv1.ToolSpec{tool("a", "x", `{"type":"string"}`)}, "of type object"},
		"no type":          {[]*pluginv1.ToolSpec{tool("a", "x", `{}`)}, "of type object"},
		"several types":    {[]*pluginv1.ToolSpec{tool("a", "x", `{"type":["object"]}`)}, "of type object"},
		"long schema":      {[]*pluginv1.ToolSpec{tool("a", "x", object+strings.Repeat(" ", 16<<10))}, "bytes"},
		"twice":            {[]*pluginv1.ToolSpec{tool("a", "x", object), tool("a", "y", object)}, `duplicate name "a"`},
		"too many":         {many, "51 entries"},
	} {
		specs, err := wire.ToolSpecsFromProto(&pluginv1.ListToolsResponse{Tools: tt.tools})
		if err == nil || specs != nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, %v", name, specs, err)
		}
	}
}

func TestBadToolCallsAreRefused(t *testing.T) {
	t.Parallel()
	caller := wire.CallerToProto(filled[chat.Caller](t))
	for name, p := range map[string]*pluginv1.CallToolRequest{
		"no caller":      {Name: "a"},
		"no name":        {Caller: caller},
		"long arguments": {Name: "a", Caller: caller, ArgumentsJson: make([]byte, wire.MaxArguments+1)},
		"long turn":      {Name: "a", Caller: caller, TurnId: strings.Repeat("t", wire.MaxID+1)},
	} {
		if call, err := wire.ToolCallFromProto(p); err == nil {
			t.Errorf("%s: %+v", name, call)
		}
	}
}

// Whatever a plugin returns, a result is within the limits, and a second conversion does not change it.
func TestToolResultsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &pluginv1.CallToolResponse{IsError: rapid.Bool().Draw(t, "error")}
		for range rapid.IntRange(0, 12).Draw(t, "contents") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				p.Content = append(p.Content, nil)
			case 1:
				text := strings.Repeat(string(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "text")), rapid.IntRange(1, 9000).Draw(t, "times"))
				p.Content = append(p.Content, &pluginv1.Content{Content: &pluginv1.Content_Text{Text: text}})
			default:
				ref := rapid.SampledFrom([]string{"", "r"}).Draw(t, "ref")
				p.Content = append(p.Content, &pluginv1.Content{Content: &pluginv1.Content_Media{Media: &pluginv1.Media{Ref: ref}}})
			}
		}
		p.DetailsJson = rapid.SampledFrom([][]byte{nil, []byte(`{"a":1}`), []byte(`{`), []byte(`"` + strings.Repeat("x", wire.MaxToolDetails) + `"`)}).Draw(t, "details")
		r, err := wire.ToolResultFromProto(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Text) > wire.MaxToolText || !utf8.ValidString(r.Text) || len(r.Media) > wire.MaxToolMedia ||
			len(r.Details) > wire.MaxToolDetails || r.Details != nil && !json.Valid(r.Details) {
			t.Fatalf("%d bytes, %d files, details %.40q", len(r.Text), len(r.Media), r.Details)
		}
		again, err := wire.ToolResultFromProto(wire.ToolResultToProto(r))
		if err != nil || again.Text != r.Text || len(again.Media) != len(r.Media) || again.Failed != r.Failed {
			t.Fatalf("another result comes of it: %v", err)
		}
	})
}

// Details that are too long keep their beginning, whatever stands in it, and do not change on the way.
// Behaviour: tools-private.
func TestLongDetailsAreCut(t *testing.T) {
	t.Parallel()
	for _, filling := range []string{"x", "é", "<", "\\\"", "\\n"} {
		details := `"` + strings.Repeat(filling, wire.MaxToolDetails) + `"`
		p := wire.ToolResultToProto(chat.ToolResult{Text: "found", Details: json.RawMessage(details)})
		got, err := wire.ToolResultFromProto(p)
		if err != nil {
			t.Fatal(err)
		}
		var cut struct {
			Cut       bool
			Bytes     int
			Beginning string
		}
		if err := json.Unmarshal(got.Details, &cut); err != nil || !cut.Cut || cut.Bytes != len(details) || len(cut.Beginning) < 1000 ||
			!strings.HasPrefix(details, cut.Beginning) || len(got.Details) > wire.MaxToolDetails {
			t.Errorf("%s: %d bytes, %.60s, %v", filling, len(got.Details), got.Details, err)
		}
	}
}

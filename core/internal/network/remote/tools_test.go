package remote_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

func (n *nasty) ListTools(ctx context.Context, _ *pluginv1.ListToolsRequest) (*pluginv1.ListToolsResponse, error) {
	return n.listed, n.late(ctx)
}

func (n *nasty) CallTool(_ context.Context, r *pluginv1.CallToolRequest) (*pluginv1.CallToolResponse, error) {
	n.requests = append(n.requests, r)
	return n.result, n.err
}

func listing(schema string) *pluginv1.ListToolsResponse {
	return &pluginv1.ListToolsResponse{Tools: []*pluginv1.ToolSpec{
		{Name: "fine", Description: "x", InputSchemaJson: []byte(`{"type":"object"}`)},
		{Name: "search", Description: "Searches.", InputSchemaJson: []byte(schema)},
	}}
}

// One schema that the Messages API refuses would have it refuse all that is asked of it.
func TestListTools(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"query":{"type":"string"},"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["query"]}`: "",
		`{"type":"object","$defs":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/p"}}}`:                                          "",
		`{"type":"array"}`: "of type object",
		`{"type":"object","properties":{"a":{"type":"strin"}}}`:                               `"search"`,
		`{"type":"object","properties":{"a":{"items":{"anyOf":[{"type":["null","text"]}]}}}}`: `no type "text"`,
		`{"type":"object","properties":{"a":7}}`:                                              `"search"`,
		`{"type":"object","properties":{"a b":{}}}`:                                           `"a b"`,
		`{"type":"object","properties":{"` + strings.Repeat("a", 65) + `":{}}}`:               "may not be called",
		`{"type":"object","required":"a"}`:                                                    `"search"`,
		`{"type":"object","oneOf":[{"required":["a"]}]}`:                                      "oneOf",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:                        `"search"`,
		`{"type":"object","properties":{"a":{"$ref":"https://x.test/s"}}}`:                    `"search"`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                `"search"`,
	} {
		plugin, _ := connect(t, &nasty{listed: listing(schema)})
		specs, err := plugin.ListTools(t.Context())
		if want == "" {
			if err != nil || len(specs) != 2 || specs[1].Name != "search" || string(specs[1].InputSchema) != schema {
				t.Errorf("%s: %v, %v", schema, specs, err)
			}
			continue
		}
		if err == nil || specs != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", schema, specs, err, want)
		}
	}
}

func TestAPluginWithoutTheServiceHasNoTools(t *testing.T) {
	t.Parallel()
	gone, stop := connect(t, &nasty{})
	stop()
	if specs, err := gone.ListTools(t.Context()); specs != nil || !errors.Is(err, remote.ErrGone) {
		t.Errorf("one that is gone has %v, %v", specs, err)
	}
	type toolless struct {
		pluginv1.UnimplementedToolsServer
	}
	plugin, _ := connectTools(t, &nasty{}, toolless{})
	if specs, err := plugin.ListTools(t.Context()); specs != nil || err != nil {
		t.Errorf("it has %v, %v", specs, err)
	}
}

func TestCallTool(t *testing.T) {
	t.Parallel()
	n := &nasty{result: &pluginv1.CallToolResponse{
		Content: []*pluginv1.Content{
			{Content: &pluginv1.Content_Text{Text: "a\xff"}},
			{Content: &pluginv1.Content_Media{Media: &pluginv1.Media{Ref: "r", Kind: pluginv1.MediaKind_MEDIA_KIND_IMAGE}}},
			{Content: &pluginv1.Content_Text{Text: strings.Repeat("b", wire.MaxToolText)}},
		},
		IsError: true, DetailsJson: []byte("{"),
	}}
	plugin, _ := connect(t, n)
	call := chat.ToolCall{
		Name: "search", Arguments: []byte(`{"q":"x"}`), TurnID: "7",
		Caller: chat.Caller{Session: "s", Address: chat.Address{Channel: "c", Chat: "1"}, Kind: chat.Group, Sender: chat.Sender{ID: "u"}, Authority: chat.Authorised},
	}
	_, err := plugin.CallTool(t.Context(), call)
	if err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a text that is no UTF-8: %v", err)
	}
	n.result.Content[0] = &pluginv1.Content{Content: &pluginv1.Content_Text{Text: "a"}}
	result, err := plugin.CallTool(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Text) > wire.MaxToolText || !strings.HasPrefix(result.Text, "a\nb") || !strings.HasSuffix(result.Text, "too long.]") ||
		!result.Failed || result.Details != nil || !cmp.Equal(result.Media, []chat.Media{{Ref: "r", Kind: chat.Image}}) {
		t.Errorf("the result is %.20q… of %d bytes, %v", result.Text, len(result.Text), result.Media)
	}
	got, err := wire.ToolCallFromProto(n.requests[len(n.requests)-1].(*pluginv1.CallToolRequest))
	if diff := cmp.Diff(call, got); err != nil || diff != "" {
		t.Errorf("the plugin got (-want +got), %v:\n%s", err, diff)
	}
	n.err = errors.New("secret stack")
	if _, err := plugin.CallTool(t.Context(), call); err == nil || !strings.Contains(err.Error(), "the plugin failed") {
		t.Errorf("a plugin that breaks gives %v", err)
	}
}

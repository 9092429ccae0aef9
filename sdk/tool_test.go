package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
	"github.com/clawhost/clawhost/sdk/wire"
)

type searchIn struct {
	Query string   `json:"query" jsonschema:"What to look for."`
	Limit int      `json:"limit" default:"5" jsonschema:"How many at most."`
	Tags  []string `json:"tags,omitempty"`
	Where *place   `json:"where,omitempty"`
}

type place struct {
	City string `json:"city"`
}

// echoed returns what it was called with.
func echoed(_ context.Context, call sdk.ToolCall, in searchIn) (string, error) {
	city := ""
	if in.Where != nil {
		city = in.Where.City
	}
	return fmt.Sprintf("%s %d %v %q for %s in turn %s", in.Query, in.Limit, in.Tags, city, call.Caller.Sender.ID, call.TurnID), nil
}

func TestToolIsDescribed(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Tools(
		sdk.Tool("search", "Searches.", echoed).Remembers(chat.Group),
		sdk.Tool("now", "The time.", func(context.Context, sdk.ToolCall, struct{}) (string, error) { return "noon", nil }),
	))
	if got := h.Describe().Capabilities; !cmp.Equal(got, []string{"CAPABILITY_TOOLS"}) {
		t.Errorf("capabilities are %v", got)
	}
	if _, err := h.CallTool(t.Context(), chat.ToolCall{Name: "now"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure a call gives %v", err)
	}
	h.Configure(nil)
	want := []chat.ToolSpec{
		{Name: "search", Description: "Searches.", InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"What to look for."},` +
			`"limit":{"type":"integer","description":"How many at most.","default":5},` +
			`"tags":{"type":"array","items":{"type":"string"}},` +
			`"where":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}` +
			`},"required":["query"],"additionalProperties":false}`), Remembers: []chat.Kind{chat.Group}},
		{Name: "now", Description: "The time.", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}
	asText := cmp.Transformer("text", func(raw json.RawMessage) string { return string(raw) })
	if diff := cmp.Diff(want, h.Tools(), asText); diff != "" {
		t.Errorf("the tools (-want +got):\n%s", diff)
	}
}

func TestToolArguments(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Tools(sdk.Tool("search", "Searches.", echoed)))
	h.Configure(nil)
	for arguments, want := range map[string]string{
		`{"query":"x"}`: `x 5 [] "" for owner in turn t1`,
		`{"query":"x","limit":2,"tags":["a","b"]}`: `x 2 [a b] "" for owner in turn t1`,
		`{"query":"","limit":null,"tags":null}`:    ` 5 [] "" for owner in turn t1`,
		`{"query":"x","where":{"city":"Graz"}}`:    `x 5 [] "Graz" for owner in turn t1`,
		`{}`:                                       `The arguments do not fit: the attribute "query" is missing.`,
		``:                                         `The arguments do not fit: the attribute "query" is missing.`,
		`{"query":null}`:                           `The arguments do not fit: query: must be a string.`,
		`{"query":7,"limit":"5"}`:                  `The arguments do not fit: limit: must be an integer; query: must be a string.`,
		`{"query":"x","limit":1.5}`:                `The arguments do not fit: limit: must be an integer.`,
		`{"query":"x","where":{}}`:                 `The arguments do not fit: where: the attribute "city" is missing.`,
		`{"query":"x","tags":["a",1]}`:             `The arguments do not fit: tags[1]: must be a string.`,
		`{"query":"x","colour":"red"}`:             `The arguments do not fit: colour: there is no attribute "colour".`,
		`{"query":"x","limit":9999999999999999999999999}`: `The arguments do not fit: limit: cannot be number 9999999999999999999999999.`,
		`["query"]`: `The arguments do not fit: they are not a JSON object.`,
		`null`:      `The arguments do not fit: they are not a JSON object.`,
		`{"query":`: `The arguments do not fit: they are not a JSON object.`,
	} {
		got, err := h.CallTool(t.Context(), chat.ToolCall{Name: "search", Arguments: json.RawMessage(arguments), TurnID: "t1"})
		if err != nil {
			t.Errorf("%s: %v", arguments, err)
		}
		if got.Text != want || got.Failed != strings.HasPrefix(want, "The arguments") {
			t.Errorf("%s answers %q (failed: %t)\nwant %q", arguments, got.Text, got.Failed, want)
		}
	}
}

func TestToolResults(t *testing.T) {
	t.Parallel()
	type config struct {
		Key sdk.Secret `json:"key"`
	}
	type value struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	type in struct {
		What string `json:"what"`
	}
	image := chat.Media{Ref: "r1", Kind: chat.Image, MIMEType: "image/png", Size: 3}
	var key string
	answer := func(_ context.Context, _ sdk.ToolCall, in in) (any, error) {
		switch in.What {
		case "text":
			return "a <b> & c", nil
		case "value":
			return value{"<x>", 3}, nil
		case "list":
			return []string{"a"}, nil
		case "result":
			return sdk.ToolResult{Text: "seen", Media: []chat.Media{image}, Details: map[string]int{"rows": 2}}, nil
		case "long":
			return sdk.ToolResult{Text: strings.Repeat("é", wire.MaxToolText), Details: strings.Repeat("d", wire.MaxToolDetails)}, nil
		case "error":
			return nil, errors.New("no such city; the key is " + key)
		case "odd":
			return math.NaN(), nil
		case "odd details":
			return sdk.ToolResult{Details: func() {}}, nil
		default:
			panic("at " + in.What)
		}
	}
	h := sdktest.New(t, sdk.Service(func(_ context.Context, _ sdk.Env, c config) (toolbox, error) {
		key = c.Key.Reveal()
		return toolbox{sdk.Tool("answer", "Answers.", answer)}, nil
	}))
	if got := h.Describe().Capabilities; !cmp.Equal(got, []string{"CAPABILITY_TOOLS"}) {
		t.Errorf("capabilities are %v", got)
	}
	h.Configure(map[string]string{"key": "s3cret-key"})
	call := func(what string) (chat.ToolResult, error) {
		return h.CallTool(t.Context(), chat.ToolCall{Name: "answer", Arguments: json.RawMessage(`{"what":"` + what + `"}`)})
	}
	for what, want := range map[string]chat.ToolResult{
		"text":   {Text: "a <b> & c"},
		"value":  {Text: `{"name":"<x>","n":3}`},
		"list":   {Text: `["a"]`},
		"result": {Text: "seen", Media: []chat.Media{image}, Details: json.RawMessage(`{"rows":2}`)},
		"error":  {Text: "no such city; the key is [secret]", Failed: true},
	} {
		got, err := call(what)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	long, err := call("long")
	if err != nil || len(long.Text) > wire.MaxToolText || !strings.HasSuffix(long.Text, "too long.]") || !strings.HasPrefix(string(long.Details), `{"cut":true,"bytes":65538,"beginning":"\"ddd`) {
		t.Errorf("a long result has %d bytes, %d bytes of details, %v", len(long.Text), len(long.Details), err)
	}
	for _, what := range []string{"odd", "odd details"} {
		if _, err := call(what); err == nil || sdktest.Panicked(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := call("panic"); !sdktest.Panicked(err) {
		t.Errorf("a panic gives %v", err)
	}
	if _, err := h.CallTool(t.Context(), chat.ToolCall{Name: "other"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a tool that is not there gives %v", err)
	}
}

type toolbox []sdk.AgentTool

func (b toolbox) Tools() []sdk.AgentTool { return b }

// The tool's context ends with that of the call.
func TestToolEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan error, 1)
	h := sdktest.New(t, sdk.Tools(sdk.Tool("wait", "Waits.", func(ctx context.Context, _ sdk.ToolCall, _ struct{}) (string, error) {
		close(entered)
		<-ctx.Done()
		left <- ctx.Err()
		return "", ctx.Err()
	})))
	h.Configure(nil)
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-entered; stop() }()
	if _, err := h.CallTool(ctx, chat.ToolCall{Name: "wait"}); status.Code(err) != codes.Canceled {
		t.Errorf("the call ends with %v", err)
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool ends with %v", err)
	}
}

func TestMistakesInTools(t *testing.T) {
	t.Parallel()
	named := func(name, description string) sdk.AgentTool {
		return sdk.Tool(name, description, func(context.Context, sdk.ToolCall, struct{}) (string, error) { return "", nil })
	}
	many := make([]sdk.AgentTool, wire.MaxTools+1)
	for i := range many {
		many[i] = named(fmt.Sprint("t", i), "x")
	}
	for name, tt := range map[string]struct {
		tools []sdk.AgentTool
		want  string
	}{
		"zero":             {[]sdk.AgentTool{{}}, "not made by sdk.Tool"},
		"bad name":         {[]sdk.AgentTool{named("Do It", "x")}, `"Do It"`},
		"no description":   {[]sdk.AgentTool{named("do", "")}, "description"},
		"long description": {[]sdk.AgentTool{named("do", strings.Repeat("x", wire.MaxToolDescription+1))}, "4097 bytes"},
		"twice":            {[]sdk.AgentTool{named("do", "x"), named("do", "y")}, `"do" is defined twice`},
		"too many":         {many, "51 tools"},
		"no struct": {[]sdk.AgentTool{sdk.Tool("do", "x", func(context.Context, sdk.ToolCall, string) (string, error) {
			return "", nil
		})}, "not a struct"},
		"no tag": {[]sdk.AgentTool{sdk.Tool("do", "x", func(context.Context, sdk.ToolCall, struct{ A string }) (string, error) {
			return "", nil
		})}, "json tag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := sdk.NewPlugin("x", "1", t.Output(), sdk.Tools(tt.tools...)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
			// the tools of a service are unknown until it is opened
			h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, struct{}) (toolbox, error) { return tt.tools, nil }))
			if _, err := h.TryConfigure(nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

// guarded is a service whose tool is running when the plugin is shut down.
type guarded struct {
	t                *testing.T
	entered, release chan struct{}
	left             *atomic.Bool
}

func (g guarded) Tools() []sdk.AgentTool {
	return []sdk.AgentTool{
		sdk.Tool("work", "Works.", func(context.Context, sdk.ToolCall, struct{}) (string, error) {
			close(g.entered)
			<-g.release
			g.left.Store(true)
			return "done", nil
		}),
		sdk.Tool("ping", "Answers.", func(context.Context, sdk.ToolCall, struct{}) (string, error) { return "pong", nil }),
	}
}

func (g guarded) Stop(context.Context) error {
	if !g.left.Load() {
		g.t.Error("the service is stopped while a tool is at work")
		close(g.release)
	}
	return nil
}

func TestShutdownWaitsForTools(t *testing.T) {
	t.Parallel()
	g := guarded{t: t, entered: make(chan struct{}), release: make(chan struct{}), left: &atomic.Bool{}}
	h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, struct{}) (guarded, error) { return g, nil }))
	h.Configure(nil)
	var calls sync.WaitGroup
	calls.Go(func() {
		if got, err := h.CallTool(t.Context(), chat.ToolCall{Name: "work"}); got.Text != "done" {
			t.Errorf("the call ends with %+v, %v", got, err)
		}
	})
	<-g.entered
	calls.Go(h.Shutdown)
	for { // until the plugin refuses calls
		if _, err := h.CallTool(t.Context(), chat.ToolCall{Name: "ping"}); err != nil {
			if status.Code(err) != codes.Unavailable {
				t.Errorf("a late call ends with %v", err)
			}
			break
		}
	}
	if !t.Failed() {
		close(g.release)
	}
	calls.Wait()
}

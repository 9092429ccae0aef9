package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func newHarness(t *testing.T, config any) *sdktest.Harness {
	t.Helper()
	h := sdktest.New(t, sdk.Service(open))
	h.Configure(config)
	return h
}

var (
	anna  = chat.Caller{Session: "test:anna", Address: chat.Address{Channel: "test", Chat: "anna"}, Kind: chat.Direct, Authority: chat.Owner}
	group = chat.Caller{Session: "test:group:g", Address: chat.Address{Channel: "test", Chat: "g"}, Kind: chat.Group, Authority: chat.Other}
)

func use(t *testing.T, h *sdktest.Harness, caller chat.Caller, tool, arguments string) chat.ToolResult {
	t.Helper()
	result, err := h.CallTool(t.Context(), chat.ToolCall{Name: tool, Arguments: json.RawMessage(arguments), Caller: caller})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return result
}

func TestAList(t *testing.T) {
	t.Parallel()
	h := newHarness(t, map[string]int{"most": 2})
	for _, step := range []struct {
		caller          chat.Caller
		tool, arguments string
		want            string
		failed          bool
	}{
		{anna, "list", `{}`, "There is nothing to do.", false},
		{anna, "add", `{"text":"buy\n  milk"}`, "1. buy milk\n", false},
		{anna, "add", `{"text":"call Bob"}`, "1. buy milk\n2. call Bob\n", false},
		{anna, "add", `{"text":"rest"}`, "the list has 2 things already: ask what can be dropped", true},
		{anna, "add", `{"text":" "}`, "the text is empty", true},
		{anna, "add", `{}`, `The arguments do not fit: the attribute "text" is missing.`, true},
		{group, "list", `{}`, "There is nothing to do.", false},
		{group, "add", `{"text":"cook"}`, "1. cook\n", false},
		{group, "done", `{"number":1}`, "whoever asks may not take things from the list of this group", true},
		{anna, "done", `{"number":3}`, "there is no number 3: show the list first", true},
		{anna, "done", `{"number":0}`, "there is no number 0: show the list first", true},
		{anna, "done", `{"number":1}`, "1. call Bob\n", false},
		{anna, "done", `{"number":1}`, "There is nothing to do.", false},
		{anna, "list", `{}`, "There is nothing to do.", false},
	} {
		if got := use(t, h, step.caller, step.tool, step.arguments); got.Text != step.want || got.Failed != step.failed {
			t.Errorf("%s %s answers %q (failed: %t)\nwant %q", step.tool, step.arguments, got.Text, got.Failed, step.want)
		}
	}
}

func TestToolsOfOneTurnAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() { use(t, h, anna, "add", fmt.Sprintf(`{"text":"thing %d"}`, i)) })
	}
	calls.Wait()
	if got := use(t, h, anna, "list", `{}`).Text; strings.Count(got, "\n") != 20 {
		t.Errorf("the list is\n%s", got)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	found, err := sdktest.New(t, sdk.Service(open)).TryConfigure(`{"most":0}`)
	if err != nil || len(found) != 1 || found[0].Path != "most" {
		t.Errorf("a list of nothing gives %v, %v", found, err)
	}
}

package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// From Claude's message to the author's function and back.
// Behaviour: tools.
func TestToolsOfAPlugin(t *testing.T) {
	t.Parallel()
	type in struct {
		City string `json:"city" jsonschema:"Which city."`
		Days int    `json:"days" default:"3"`
	}
	forecast := func(_ context.Context, call sdk.ToolCall, in in) (sdk.ToolResult, error) {
		switch {
		case call.Caller.Authority != chat.Owner:
			return sdk.ToolResult{}, errors.New("only owners may know the weather")
		case in.City == "":
			panic("no city, and the key is s3cret")
		}
		return sdk.ToolResult{Text: strings.Repeat("☀", in.Days) + " in " + in.City, Details: in}, nil
	}
	r := newRig(t)
	plugin := plugintest.Run(t, r.options.Plugins, "weather", sdk.Tools(sdk.Tool("forecast", "Tells the weather.", forecast)))
	guest := anna
	guest.Authority = chat.Other
	for _, test := range []struct {
		caller          chat.Caller
		arguments, want string
		failed          bool
	}{
		{anna, `{"city":"Graz"}`, "☀☀☀ in Graz", false},
		{anna, `{"city":"Graz","days":1}`, "☀ in Graz", false},
		{anna, `{"days":"1"}`, `The arguments do not fit: the attribute "city" is missing; days: must be an integer.`, true},
		{guest, `{"city":"Graz"}`, "only owners may know the weather", true},
		{anna, `{"city":""}`, "The tool failed: something is wrong with the plugin weather. Go on without it.", true},
	} {
		got := use(t, r.Turn("7", test.caller), "weather_forecast", test.arguments)
		if got.text() != test.want || got.IsError != test.failed {
			t.Errorf("%s is answered %q (an error: %t)\nwant %q", test.arguments, got.text(), got.IsError, test.want)
		}
	}
	if details := string(r.uses[0].Details); details != `{"city":"Graz","days":3}` {
		t.Errorf("the details are %s", details)
	}
	fingerprint := r.Fingerprint(t.Context())
	plugin.Kill()
	if got := use(t, r.Turn("8", anna), "weather_forecast", `{"city":"Graz"}`); !got.IsError || !strings.HasPrefix(got.text(), "The tool failed") {
		t.Errorf("a plugin that has died answers %+v", got)
	}
	if got := r.Fingerprint(t.Context()); got != fingerprint {
		t.Errorf("its death changes the fingerprint from %s to %s", fingerprint, got)
	}
}

package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/answer"
)

// Behaviour: heartbeat-quiet.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The backup of the photos has failed. ", 10)
	for written, want := range map[string]answer.Answer{
		"NO_REPLY":                                 {Silent: true},
		"HEARTBEAT_OK":                             {Silent: true},
		"HEARTBEAT_OK. All is well.":               {Silent: true},
		"All quiet.\n\nHEARTBEAT_OK":               {Silent: true},
		"All quiet.\nNO_REPLY":                     {Silent: true},
		"The backup has failed.":                   {Text: "The backup has failed."},
		"HEARTBEAT_OK\n" + long:                    {Text: strings.TrimSpace(long)},
		long + "\nHEARTBEAT_OK":                    {Text: strings.TrimSpace(long)},
		"I looked: HEARTBEAT_OK is odd":            {Text: "I looked: HEARTBEAT_OK is odd"},
		"HEARTBEAT_OK " + strings.Repeat("静", 300): {Silent: true},
		"HEARTBEAT_OK " + strings.Repeat("静", 301): {Text: strings.Repeat("静", 301)},
		"": {},
	} {
		if diff := cmp.Diff(want, heartbeat(written)); diff != "" {
			t.Errorf("%q: %s", written, diff)
		}
	}
}

// Behaviour: fallback-told.
func TestFallback(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]agent.Fallback{
		"": {},
		"_The model sonnet-5 is overloaded; haiku-4-5 answered._": {From: "claude-sonnet-5", To: "claude-haiku-4-5-20251001", Why: agent.Overloaded},
		"_The model opus-4-8 could not be used; mine answered._":  {From: "claude-opus-4-8[1m]", To: "mine"},
	} {
		if got := fallback(f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}

// Behaviour: reasoning.
func TestReasoning(t *testing.T) {
	t.Parallel()
	if got, want := wording.Reasoning(" one\n\ntwo \n"), "Reasoning:\n\n> one\n> \n> two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Behaviour: usage-line.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := agent.Result{Model: "claude-opus", InputTokens: 10, CacheTokens: 90, OutputTokens: 5, CostMicros: 1234, ContextTokens: 50, ContextWindow: 200}
	for shown, want := range map[string]string{
		"tokens": "_100 tokens in, 5 out_",
		"full":   "_claude-opus: 100 tokens in (90 cached), 5 out, $0.0012, context 25%_",
		"off":    "", "": "",
	} {
		if got := usage(r, shown); got != want {
			t.Errorf("%s: %q, want %q", shown, got, want)
		}
	}
	if got, want := usage(agent.Result{}, "full"), "_claude: 0 tokens in (0 cached), 0 out, $0.0000_"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

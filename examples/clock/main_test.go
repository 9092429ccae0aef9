package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func TestOneLineOfTime(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		"UTC":              "The time is Friday, 15 March 2024, 13:30 UTC.\n",
		"America/New_York": "The time is Friday, 15 March 2024, 09:30 EDT.\n",
	} {
		h := sdktest.New(t, sdk.Service(func(ctx context.Context, env sdk.Env, c config) (*clock, error) {
			opened, err := open(ctx, env, c)
			if opened != nil {
				opened.now = func() time.Time { return time.Date(2024, time.March, 15, 13, 30, 0, 0, time.UTC) }
			}
			return opened, err
		}))
		h.Configure(config{Zone: zone})
		got, err := h.BeforeAgentStart(sdk.AgentStart{TurnID: "1", Prompt: "what time is it?"})
		if got.Prepend != want || err != nil {
			t.Errorf("in %s the hook adds %q, %v, want %q", zone, got.Prepend, err, want)
		}
	}
}

func TestTheZoneIsTheHostsUnlessConfigured(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Service(open))
	h.Configure(nil)
	got, err := h.BeforeAgentStart(sdk.AgentStart{})
	if zone := time.Now().Format("MST"); err != nil || !strings.Contains(got.Prepend, zone) {
		t.Errorf("the hook adds %q, %v, want the zone %s", got.Prepend, err, zone)
	}
}

func TestAnUnknownZoneIsRefused(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Service(open))
	diagnostics, err := h.TryConfigure(config{Zone: "Middle/Earth"})
	if err != nil || len(diagnostics) != 1 || diagnostics[0].Path != "zone" || !strings.Contains(diagnostics[0].Summary, "Middle/Earth") {
		t.Errorf("diagnostics are %+v, %v", diagnostics, err)
	}
}

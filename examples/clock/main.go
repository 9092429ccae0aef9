// Command clock is a before_agent_start hook: it tells the agent what time it is.
package main

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

type config struct {
	Zone string `json:"zone" default:"Local" jsonschema:"Time zone: Local, UTC or an IANA name such as Europe/Berlin."`
}

type clock struct {
	zone *time.Location
	now  func() time.Time
}

func main() { sdk.Serve("clock", "0.1.0", sdk.Service(open)) }

func open(_ context.Context, _ sdk.Env, c config) (*clock, error) {
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return nil, sdk.ConfigError("zone", err)
	}
	return &clock{zone: zone, now: time.Now}, nil
}

// BeforeAgentStart puts one line before the prompt.
func (c *clock) BeforeAgentStart(context.Context, sdk.AgentStart) (sdk.AgentContext, error) {
	return sdk.AgentContext{Prepend: "The time is " + c.now().In(c.zone).Format("Monday, 2 January 2006, 15:04 MST") + ".\n"}, nil
}

// Command moody is a before_agent_start hook that fails when a person asks it to sulk.
package main

import (
	"context"
	"errors"
	"strings"

	"github.com/clawhost/clawhost/sdk"
)

type moody struct{}

func main() {
	sdk.Serve("moody", "1.0.0", sdk.Service(func(context.Context, sdk.Env, struct{}) (moody, error) { return moody{}, nil }))
}

// BeforeAgentStart adds a line, or fails.
func (moody) BeforeAgentStart(_ context.Context, start sdk.AgentStart) (sdk.AgentContext, error) {
	if strings.HasPrefix(start.Prompt, "sulk") {
		return sdk.AgentContext{}, errors.New("I sulk")
	}
	return sdk.AgentContext{Prepend: "The plugin smiles."}, nil
}

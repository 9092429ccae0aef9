package command

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// send sets whether the session's messages are answered.
func (d hostCommands) send(ctx context.Context, call Call) (string, error) {
	return d.choose(ctx, call, sending)
}

// activation sets which of a group's messages are for the agent.
func (d hostCommands) activation(ctx context.Context, call Call) (string, error) {
	if call.Caller.Kind == chat.Direct {
		return wording.ActivationInDirect, nil
	}
	return d.choose(ctx, call, activating)
}

package core

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/sdk/chat"
)

// addedBy asks the hooks what they add to a turn.
func addedBy(hooks *hook.Chain) func(context.Context, string, chat.Caller, string) ([]string, error) {
	return func(ctx context.Context, turnID string, caller chat.Caller, prompt string) ([]string, error) {
		return hooks.BeforeAgentStart(ctx, hook.Start{TurnID: turnID, Caller: caller, Prompt: prompt})
	}
}

package remote

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Timeouts for calls that no turn waits for.
const (
	observeTimeout = 10 * time.Second
	followTimeout  = 30 * time.Second
)

// BeforeAgentStart calls the plugin's hook and returns what it adds to a turn, and what its conversation should contain.
func (p *Plugin) BeforeAgentStart(
	ctx context.Context, turnID string, caller chat.Caller, prompt string,
) (prepend, conversation string, err error) {
	response, err := p.hooks.BeforeAgentStart(ctx, &pluginv1.BeforeAgentStartRequest{
		TurnId: turnID, Caller: wire.CallerToProto(caller), Prompt: wire.Repair(prompt), TakesConversationContext: true,
	})
	if err != nil {
		return "", "", translate(err)
	}
	return wire.Cut(response.GetPrependContext(), wire.MaxText), wire.Cut(response.GetConversationContext(), wire.MaxText), nil
}

// MessageReceived passes a message to the plugin's hook, within 10 seconds.
func (p *Plugin) MessageReceived(ctx context.Context, caller chat.Caller, m chat.Message) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	_, err := p.hooks.MessageReceived(ctx, wire.MessageReceivedToProto(caller, m))
	return translate(err)
}

// TranscriptAppended passes new entries of the history of the session with a key to the plugin's hook, within 30 seconds. At most
// [wire.MaxEntries] entries; their texts are cut to [wire.MaxEntry] bytes. Nil means that the plugin has accepted them.
func (p *Plugin) TranscriptAppended(ctx context.Context, key string, entries []chat.TranscriptEntry) error {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	_, err := p.hooks.TranscriptAppended(ctx, wire.TranscriptAppendedToProto(session.AgentOf(key), key, entries))
	return translate(err)
}

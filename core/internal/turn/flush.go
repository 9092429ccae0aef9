package turn

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Memory knows by which tools the agent writes the memory of a conversation, other than the owner's files.
type Memory interface {
	// Remembering returns the agent's names of these tools in a kind of chat.
	Remembering(ctx context.Context, in chat.Kind) []string
}

// flushMemory returns a run that must follow before all waiting ones: a memory flush, once per compaction cycle, when the next turn
// may cause the compaction. An owner's direct chat writes to the owner's files, any other one only to a memory of its own.
func (h *Handler) flushMemory(ctx context.Context, run *conversation.Turn, r agent.Result) *domain.Inbound {
	f, m := h.options.MemoryFlush, run.Message.Message
	compactions := run.Session.Compactions + int64(r.Compactions)
	switch {
	case !f.Enabled, r.ContextWindow == 0, r.ContextTokens < h.options.Compaction.At(r.ContextWindow, f.Reserve)-f.Margin:
		return nil
	case m.Origin == domain.OriginFlush, m.Origin == domain.OriginCompact:
		return nil
	case run.Session.Flushed == compactions+1:
		return nil
	}
	flush := domain.Message{
		Channel: m.Channel, Chat: m.Chat, Thread: m.Thread, Sender: chat.Sender{ID: m.Sender.ID, Aliases: m.Sender.Aliases, IsBot: true}, Authority: m.Authority,
		SentAt: run.Message.ReceivedAt, Text: f.Prompt, Origin: domain.OriginFlush,
	}
	if m.Chat.Kind != chat.Direct || !run.Owned {
		tools := h.options.Memory.Remembering(ctx, m.Chat.Kind)
		if len(tools) == 0 {
			return nil
		}
		flush.Text = config.ToolFlushPrompt(tools)
		flush.Authority, flush.Silent = chat.Other, true // nobody there has asked for it, and what is kept concerns all of them
	}
	return &domain.Inbound{
		EventID: chat.EventID(fmt.Sprintf("flush:%d", run.ID)), Session: run.Session.Key, Lane: domain.TurnLane, Message: flush,
	}
}

package turn

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// flushMemory returns a memory flush that must run before all waiting messages, or nil. There is one in each compaction cycle,
// when the next turn may cause the compaction. In an owner's direct chat the agent writes the owner's files, in any other one only
// a memory of the conversation's own.
func (h *Handler) flushMemory(ctx context.Context, run *conversation.Run, r agent.Result) *domain.Inbound {
	f, m := h.options.Conversations.Config().MemoryFlush, run.Head.Message
	compactions := run.Session.Compactions + int64(r.Compactions)
	switch {
	case !f.Enabled, r.ContextWindow == 0, r.ContextTokens < h.options.Compaction[run.Agent.Label].At(r.ContextWindow, f.Reserve)-f.Margin:
		return nil
	case m.Origin == domain.OriginFlush, m.Origin == domain.OriginCompact:
		return nil
	case run.Session.Flushed == compactions+1:
		return nil
	}
	flush := domain.Message{
		Channel: m.Channel, Chat: m.Chat, Thread: m.Thread, Sender: chat.Sender{ID: m.Sender.ID, Aliases: m.Sender.Aliases, IsBot: true}, Authority: m.Authority,
		SentAt: run.Head.ReceivedAt, Text: f.Prompt, Origin: domain.OriginFlush, Apart: m.Apart, Conversation: m.Conversation,
	}
	if m.Apart {
		flush.Overrides = m.Overrides // no other model has read the conversation
	}
	if m.Chat.Kind != chat.Direct || !run.Owned {
		tools := h.options.Tools.Remembering(ctx, m.Chat.Kind, run.Tools)
		if len(tools) == 0 {
			return nil
		}
		flush.Text = config.ToolFlushPrompt(tools)
		flush.Authority, flush.Silent = chat.Other, true // no one in the chat has asked for it, and the memory is that of all of them
	}
	return &domain.Inbound{
		EventID: domain.KeyMemoryFlush.Of(run.ID).EventID(), Session: run.Session.Key, Lane: domain.TurnLane, Message: flush,
	}
}

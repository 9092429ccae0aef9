package turn

import (
	"fmt"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// compactionReserve is how many tokens before the end of its window the CLI compacts a conversation: as was measured with
// 2.1.197, 33,000 whatever the window.
const compactionReserve = 33_000

// next is what must follow a turn before all that waits: a memory flush, once in each cycle of compaction, when the next
// turn may be the one in which the conversation is compacted. Only an owner's direct chat may write to the memory.
func (h *Handler) next(run *conversation.Turn, r agent.Result) *domain.Inbound {
	f, m := h.options.MemoryFlush, run.Message.Message
	compactions := run.Session.Compactions + int64(r.Compactions)
	switch {
	case !f.Enabled, r.ContextWindow == 0, r.ContextTokens < r.ContextWindow-compactionReserve-f.Margin:
		return nil
	case m.Chat.Kind != chat.Direct, !run.Owned, m.Origin == domain.OriginFlush, m.Origin == domain.OriginCompact:
		return nil
	case run.Session.Flushed == compactions+1:
		return nil
	}
	flush := domain.Message{
		Channel: m.Channel, Chat: m.Chat, Thread: m.Thread, Sender: chat.Sender{ID: m.Sender.ID, Aliases: m.Sender.Aliases, IsBot: true}, Authority: m.Authority,
		SentAt: run.Message.ReceivedAt, Text: f.Prompt, Origin: domain.OriginFlush,
	}
	return &domain.Inbound{
		EventID: chat.EventID(fmt.Sprintf("flush:%d", run.ID)), Session: run.Session.Key, Lane: domain.TurnLane, Message: flush,
	}
}

package turn

import (
	"fmt"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// compactionReserve is how many tokens before the end of its window the CLI compacts a conversation: 33,000 for every
// window size, and for a smaller one that CLAUDE_CODE_AUTO_COMPACT_WINDOW sets, measured with 2.1.197. The CLI tells its
// threshold only by get_context_usage, which costs 25 calls of the API.
const compactionReserve = 33_000

// flushMemory returns a run that must follow before all waiting ones: a memory flush, once per compaction cycle, when the next turn
// may cause the compaction. Only an owner's direct chat may write to the memory.
func (h *Handler) flushMemory(run *conversation.Turn, r agent.Result) *domain.Inbound {
	f, m := h.options.MemoryFlush, run.Message.Message
	compactions := run.Session.Compactions + int64(r.Compactions)
	window := r.ContextWindow
	if budget := int64(h.options.ContextBudget); budget > 0 {
		window = min(window, budget)
	}
	switch {
	case !f.Enabled, r.ContextWindow == 0, r.ContextTokens < window-compactionReserve-f.Margin:
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

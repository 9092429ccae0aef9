package turn

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// announce tells a run's chat, once in all attempts, that its turn runs tools without asking. After an error the chat
// was not notified, and the turn must not run.
func (h *Handler) announce(ctx context.Context, run *conversation.Run, p agent.Profile) error {
	m := run.Head.Message
	if !p.SkipsApproval() || m.Origin == domain.OriginHeartbeat || maintenance(run) {
		return nil // A heartbeat's answer contains it, if there is one.
	}
	items := h.notice(run, run.NotAsking())
	if len(items) == 0 {
		return nil
	}
	for i := range items {
		items[i].Silent = true
	}
	if _, err := h.options.Store.Post(ctx, domain.KeyBypass.Of(run.Head.UUID), items...); err != nil {
		return fmt.Errorf("announce a turn without questions: %w", err)
	}
	return nil
}

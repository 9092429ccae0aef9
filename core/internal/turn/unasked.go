package turn

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// announce tells a run's chat that its turn asks nothing before it runs a tool, once in all attempts. An error means that the
// chat is not told, and that the turn must not run.
func (h *Handler) announce(ctx context.Context, run *conversation.Turn, p agent.Profile) error {
	m := run.Message.Message
	if !p.SkipsApproval() || m.Origin == domain.OriginHeartbeat || housekeeping(run) {
		return nil // A heartbeat's answer says it, if there is one.
	}
	items := h.notice(run, BypassNotice(m))
	if len(items) == 0 {
		return nil
	}
	for i := range items {
		items[i].Silent = true
	}
	if _, err := h.options.Store.Post(ctx, "unasked:"+run.Message.UUID, items...); err != nil {
		return fmt.Errorf("announce a turn without questions: %w", err)
	}
	return nil
}

// BypassNotice says that the turn of a message asks nothing before it runs a tool.
func BypassNotice(m domain.Message) string {
	return wording.NotAsking(m.Authority == chat.Owner && m.Overrides.Permission == "")
}

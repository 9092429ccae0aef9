package core

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// over is told how a turn has ended.
func (h *Host) over(ctx context.Context, run *conversation.Turn, c domain.Completion) {
	crashpoint.Pass("completed") // The answer is durable, the files that go with it are where the agent put them.
	h.questions.End(ctx, run.Session.Key, run.ID, c.State == domain.RunCancelled)
	if err := h.media.outgoing.Clear(ctx, c.Files); err != nil {
		h.log.Warn("sent files stay in their folder", "session", run.Session.Key, "error", err)
	}
}

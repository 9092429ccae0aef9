package turn

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// whileChanged is the pause before a turn whose worktree is being changed is tried again.
const whileChanged = 2 * time.Second

// enter has a run work in the worktree of its thread, if it is to have one, until leave is called.
func (h *Handler) enter(ctx context.Context, run *conversation.Run) (leave func(), err error) {
	place, leave, err := h.options.Worktrees.Enter(ctx, run.Session, run.Head.Message.Text)
	if err == nil && place != "" {
		run.Session.Worktree = place
		run.Work(run.Session)
	}
	return leave, err
}

// unplaced ends a run that has no place to work in, or returns it to its lane.
func (h *Handler) unplaced(ctx context.Context, run *conversation.Run, view *view.View, err error) error {
	switch {
	case ctx.Err() != nil:
		return h.fail(ctx, run, agent.Result{}, view, err)
	case errors.Is(err, worktree.ErrBusy):
		return &agent.HeldError{Wait: whileChanged, Err: err, Why: wording.WorktreeInUse}
	}
	h.log.Warn("a thread has no worktree to work in", "session", run.Session.Key, "error", err)
	said := wording.WorktreeFailed(err.Error())
	return h.complete(ctx, run, domain.Completion{
		State: domain.RunFailed, Error: err.Error(), Answer: said, Items: view.Notice(h.notice(run, said)),
		Transcript: []chat.TranscriptEntry{{Role: chat.System, Text: said, At: time.Now()}},
	})
}

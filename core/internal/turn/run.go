package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// run has Claude do the turn. Where the claude session cannot go on, the message runs once more in a fresh one. The chat is
// told of it whatever comes then: the notice is posted by the step that begins the fresh one.
func (h *Handler) run(ctx context.Context, run *conversation.Turn, added []string, nudged <-chan struct{}, view View) (agent.Result, error) {
	prompt, err := h.options.Prompts.Build(ctx, run, added)
	if err != nil {
		return agent.Result{}, err
	}
	var marks sync.WaitGroup // the consumption marks being written
	var consumed atomic.Bool
	defer func() {
		if marks.Wait(); consumed.Load() {
			run.Message.ConsumedAt = time.Now()
		}
	}()
	t := agent.Turn{
		Key:       run.Session.Key,
		Session:   run.Message.ClaudeSession,
		Started:   run.Session.ClaudeStarted,
		ForkOf:    run.Session.ForkOf,
		Profile:   h.options.Prompts.Profile(run.Conversation),
		UUID:      run.Message.UUID,
		Attempt:   run.Message.Attempts,
		Consumed:  !run.Message.ConsumedAt.IsZero(),
		Prompt:    prompt,
		Authority: run.Message.Message.Authority,
		Timeout:   run.Message.Message.Timeout,
		OnConsumed: func() {
			consumed.Store(true)
			marks.Go(func() { h.consumed(context.WithoutCancel(ctx), run) })
		},
		Progress: view.Progress, Tools: view.Tools,
		Ask: func(ctx context.Context, q agent.Question) agent.Decision {
			return h.options.Questions.Ask(ctx, run, q)
		},
	}
	if run.Message.Message.Origin == "" {
		t.Nudged = nudged
		t.Steer = (&steering{handler: h, run: run}).lines
	}
	if t.Profile.SkipsApproval() {
		h.log.Info("a turn asks nothing", "session", t.Key, "run", run.ID, "by", asked(run))
	}
	if err := h.announce(ctx, run, t.Profile); err != nil {
		return agent.Result{}, err
	}
	result, err := h.try(ctx, run, t)
	h.begun(run, err)
	notice := fresh(t, err)
	if notice == "" {
		return result, err
	}
	marks.Wait() // or a late one would mark the fresh session
	h.log.Warn("the claude session cannot go on; the message runs in a fresh one", "session", run.Session.Key, "error", err)
	view.End() // or it would show more of what is taken back
	session, err := h.options.Store.ReplaceSession(ctx, run.ID, h.notice(run, notice)...)
	if err != nil {
		return agent.Result{}, fmt.Errorf("begin a fresh claude session: %w", err)
	}
	h.options.Claude.Retire(t.Session)
	consumed.Store(false)
	move(run, session)
	view.Restart(ctx)
	// A conversation that begins is told what one that goes on was told before.
	if t.Prompt, err = h.options.Prompts.Build(ctx, run, added); err != nil {
		return agent.Result{}, err
	}
	t.Session, t.Started, t.ForkOf, t.Attempt, t.Consumed = session.ClaudeSession, false, "", 1, false
	// What the lost session had been told in the midst of the turn the fresh one does not know: it is not covered, and waits. What
	// came after it must not overtake it.
	t.Steer, t.Nudged = nil, nil
	return h.try(ctx, run, t)
}

// move has a run be of its session's new claude session, in which nothing of its answer is said. What else there is of the
// session stays.
func move(run *conversation.Turn, s domain.Session) {
	run.Said, run.Preview = "", 0
	run.Message.ClaudeSession, run.Message.ConsumedAt = s.ClaudeSession, time.Time{}
	for i := range run.More {
		run.More[i].ClaudeSession = s.ClaudeSession
	}
	of := &run.Session
	of.ClaudeSession, of.Replaced, of.ClaudeStarted, of.ResetAt = s.ClaudeSession, s.Replaced, s.ClaudeStarted, s.ResetAt
	of.ForkOf, of.Starter = s.ForkOf, s.Starter
	of.ContextTokens, of.Compactions, of.Flushed = s.ContextTokens, s.Compactions, s.Flushed
}

// consumed marks the message as read by Claude. It only speeds a recovery up, so a failure is no reason to end the turn.
func (h *Handler) consumed(ctx context.Context, run *conversation.Turn) {
	if err := h.options.Store.Consumed(ctx, run.ID); err != nil && !errors.Is(err, domain.ErrFenced) {
		h.log.Warn("mark a message as consumed", "run", run.ID, "error", err)
	}
}

// fresh is the notice with which a turn begins anew, or "" if that would not help: in a session that has just begun, and not as
// a copy of another one, it is the message that is too long.
func fresh(t agent.Turn, err error) string {
	var failure *agent.Failure
	if !errors.As(err, &failure) {
		return ""
	}
	switch failure.Class {
	case agent.ContextOverflow:
		if !t.Started && t.ForkOf == "" {
			return ""
		}
		return wording.BeganTooLong
	case agent.TranscriptMissing:
		return wording.BeganLost
	default:
		return ""
	}
}

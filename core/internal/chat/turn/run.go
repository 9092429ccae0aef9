package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
)

// run runs the turn. If the claude session cannot continue, the message runs once more in a new one. The step that
// begins the new session also posts the notice about it, so the chat always gets it.
func (h *Handler) run(ctx context.Context, run *conversation.Run, added []hook.Added, nudged <-chan struct{}, view *view.View) (agent.Result, error) {
	with := &watcher{
		handler: h, run: run, view: view, todos: h.planned(ctx, run),
		tools: h.options.Tools.Turn(run.Head.UUID, run.Conversation, h.options.Poster.For(run, view)),
	}
	defer func() {
		if with.marks.Wait(); with.consumed.Load() {
			run.Head.ConsumedAt = time.Now()
		}
	}()
	t := agent.Turn{
		Agent:     run.Agent.Label,
		Folder:    run.Session.Folder,
		Worktree:  run.Session.Worktree,
		Key:       run.Session.Key,
		Session:   run.Head.ClaudeSession,
		Started:   run.Session.ClaudeStarted,
		ForkOf:    run.Session.ForkOf,
		Profile:   h.options.Prompts.Profile(run.Conversation),
		UUID:      run.Head.UUID,
		Again:     run.Head.Attempts > 1 || !run.Head.ConsumedAt.IsZero(),
		Authority: run.Head.Message.Authority,
		Timeout:   cmp.Or(run.Head.Message.Timeout, run.Agent.Claude.Timeout),
		Watcher:   with,
		Asker:     with,
		Tools:     with.tools,
	}
	if err := h.beginInSpare(ctx, run, &t); err != nil { // before the prompt, which names the folder of the claude session's files
		return agent.Result{}, err
	}
	prompt, err := h.prompt(ctx, run, added)
	if err != nil {
		return agent.Result{}, err
	}
	t.Prompt, t.Pictures = prompt.Text, prompt.Pictures
	if run.Head.Message.Origin == "" {
		t.Steering = &steering{handler: h, run: run, nudged: nudged}
	}
	if t.Profile.SkipsApproval() {
		h.log.Info("a turn runs tools without asking", "session", t.Key, "run", run.ID, "by", asked(run))
	}
	if err := h.announce(ctx, run, t.Profile); err != nil {
		return agent.Result{}, err
	}
	if err := h.tellUnheard(ctx, run, prompt); err != nil {
		return agent.Result{}, err
	}
	result, err := h.ask(ctx, run, t)
	h.noteStarted(run, err)
	again, notice := fresh(t, run, err)
	if !again {
		return result, err
	}
	with.marks.Wait() // a late one would mark the new session
	h.log.Warn("the claude session cannot continue; the message runs in a new one", "session", run.Session.Key, "error", err)
	view.End() // it would show more of what is withdrawn
	session, err := h.options.Store.ReplaceSession(ctx, run.ID, h.notice(run, notice)...)
	if err != nil {
		return agent.Result{}, fmt.Errorf("begin a fresh claude session: %w", err)
	}
	h.options.Claude.Retire(t.Session)
	with.consumed.Store(false)
	with.forget()
	move(run, session)
	view.Restart(ctx)
	// A new conversation needs the prompt that an old one already has.
	if prompt, err = h.prompt(ctx, run, added); err != nil {
		return agent.Result{}, err
	}
	t.Prompt, t.Pictures = prompt.Text, prompt.Pictures
	if notice == wording.BeganRejected {
		t.Pictures = nil // one of them may be what the API rejects; the text names their paths
	}
	t.Session, t.Started, t.ForkOf, t.Again = session.ClaudeSession, false, "", false
	// The new session does not know what was steered into the lost one: those messages are not covered, and wait. Later
	// ones must not overtake them.
	t.Steering = nil
	return h.ask(ctx, run, t)
}

// planned is what the agent plans to do in the conversation. A turn can do without it.
func (h *Handler) planned(ctx context.Context, run *conversation.Run) []domain.Todo {
	list, err := h.options.Store.Todos(context.WithoutCancel(ctx), run.Head.ClaudeSession)
	if err != nil {
		h.log.Warn("cannot read what the agent plans to do", "run", run.ID, "error", err)
	}
	return list
}

// prompt builds the prompt of a run.
func (h *Handler) prompt(ctx context.Context, run *conversation.Run, added []hook.Added) (prompt.Prompt, error) {
	ctx, building := trace.Start(ctx, "prompt")
	built, err := h.options.Prompts.Build(ctx, run, give(run, added))
	building.End(err)
	return built, err
}

// ask has Claude answer a turn.
func (h *Handler) ask(ctx context.Context, run *conversation.Run, t agent.Turn) (agent.Result, error) {
	ctx, asking := trace.Start(ctx, "claude")
	result, err := h.try(ctx, run, t)
	asking.Describe("model", result.Model, "input_tokens", strconv.FormatInt(result.InputTokens+result.CacheTokens, 10),
		"output_tokens", strconv.FormatInt(result.OutputTokens, 10))
	asking.End(err)
	return result, err
}

// beginInSpare has a turn that begins a conversation run in a spare process, if one fits: that process's claude session takes the place
// of the run's.
func (h *Handler) beginInSpare(ctx context.Context, run *conversation.Run, t *agent.Turn) error {
	if t.Started || t.Again {
		return nil
	}
	spare := h.options.Claude.Spare(ctx, *t)
	if spare == "" {
		return nil
	}
	if err := h.options.Store.BeginAs(ctx, run.ID, spare); err != nil {
		return fmt.Errorf("begin in a spare process: %w", err)
	}
	crashpoint.Pass("taken") // The conversation is that of the spare process, and nothing was written to it yet.
	t.Session, run.Session.ClaudeSession, run.Head.ClaudeSession = spare, spare, spare
	for i := range run.More {
		run.More[i].ClaudeSession = spare
	}
	return nil
}

// move gives a run its session's new claude session. The rest of the session stays.
func move(run *conversation.Run, s domain.Session) {
	run.Head.ClaudeSession, run.Head.ConsumedAt = s.ClaudeSession, time.Time{}
	for i := range run.More {
		run.More[i].ClaudeSession = s.ClaudeSession
	}
	of := &run.Session
	of.ClaudeSession, of.Replaced, of.ClaudeStarted, of.ResetAt = s.ClaudeSession, s.Replaced, s.ClaudeStarted, s.ResetAt
	of.ForkOf, of.Starter = s.ForkOf, s.Starter
	of.ContextTokens, of.Compactions, of.Flushed, of.Given = s.ContextTokens, s.Compactions, s.Flushed, s.Given
}

// fresh reports whether a failed turn is repeated in a new session, and with which notice. That would not help in a session that is
// already new, and not a copy of another one: there the message itself is too long. In one that never had an answer, the
// conversation is not what the API rejects, unless a picture is. Nothing was said in a session that has not started, so its loss needs
// no notice.
func fresh(t agent.Turn, run *conversation.Run, err error) (again bool, notice string) {
	var failure *agent.Failure
	if !errors.As(err, &failure) {
		return false, ""
	}
	switch failure.Class {
	case agent.ContextOverflow:
		if !t.Started && t.ForkOf == "" {
			return false, ""
		}
		return true, wording.BeganTooLong
	case agent.Rejected:
		if answered := run.Session.ContextTokens > 0; !answered && t.ForkOf == "" && len(t.Pictures) == 0 {
			return false, ""
		}
		return true, wording.BeganRejected
	case agent.TranscriptMissing:
		if !t.Started && t.ForkOf == "" && run.Said == "" {
			return true, ""
		}
		return true, wording.BeganLost
	default:
		return false, ""
	}
}

package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// reply sends the answer and completes the run, in one transaction.
func (h *Handler) reply(ctx context.Context, run *conversation.Run, r agent.Result, view *view.View) error {
	said, err := view.Answer(ctx, r)
	if err != nil {
		return h.fail(ctx, run, r, view, err) // The answer is in claude's transcript for the next attempt.
	}
	visible := answer.Parse(r.Text, true).Text
	done := domain.Completion{
		State:   domain.RunDone,
		Covered: r.Covered,
		Turn:    h.figures(run, r),
		Answer:  visible,
		Then:    h.flushMemory(ctx, run, r),
		Items:   said.Items,
		Files:   said.Files,
	}
	done.Turn.FirstWord = view.FirstWord()
	done.Turn.Given = run.Given // a turn that failed may not have reached Claude
	h.handled(run)
	if visible != "" && said.Said { // not the text with which the agent declines to answer
		done.Transcript = []chat.TranscriptEntry{{Role: chat.Assistant, Text: visible, At: time.Now()}}
		if m := run.Head.Message; m.Apart && !m.Silent {
			done.From = domain.SentElsewhere(run.Session.Key, session.PeoplesOf(run.Session.Key), visible)
		}
	}
	return h.complete(ctx, run, done)
}

func (h *Handler) figures(run *conversation.Run, r agent.Result) *domain.TurnFigures {
	return &domain.TurnFigures{
		Usage: domain.Usage{
			Turns: 1, InputTokens: r.InputTokens, CacheTokens: r.CacheTokens, OutputTokens: r.OutputTokens, CostMicros: r.CostMicros,
		},
		Day:   time.Now().In(h.options.Zone).Format(time.DateOnly),
		Model: r.Model, StopReason: r.StopReason, ContextTokens: r.ContextTokens, ContextWindow: r.ContextWindow,
		Compactions: int64(r.Compactions), Flush: run.Head.Message.Origin == domain.OriginFlush,
		Accounts: h.options.Budgets.Accounts(run),
	}
}

// fail ends a turn that has no answer. If it returns nil, the chat knows why, and the run is completed. After
// [agent.ErrStopped] the run is completed, too, without a notice: the stop command answers. After [domain.ErrFenced]
// another run has the message. After any other error, such as an [*agent.HeldError], the dispatcher returns the run to its
// lane.
func (h *Handler) fail(ctx context.Context, run *conversation.Run, r agent.Result, view *view.View, err error) error {
	now := time.Now()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, agent.ErrStopped):
		if err := h.complete(ctx, run, domain.Completion{
			State: domain.RunCancelled, Covered: r.Covered, Turn: h.figures(run, r), Items: view.Left(),
			Transcript: []chat.TranscriptEntry{{Role: chat.System, Text: "stopped", At: now}},
			Notes:      []domain.Note{{Kind: domain.NoteHint, At: now, Text: domain.HintStopped}},
		}); err != nil {
			return err
		}
		return agent.ErrStopped
	case errors.Is(cause, domain.ErrFenced):
		if items := view.Left(); len(items) > 0 {
			if _, err := h.options.Store.Post(context.WithoutCancel(ctx), domain.Key{}, items...); err != nil {
				h.log.Warn("cannot keep the shown part of an interrupted turn", "run", run.ID, "error", err)
			}
		}
		figures := h.figures(run, r)
		figures.Flush = false // it was interrupted
		h.spent(ctx, run, figures)
		return cause
	case cause != nil:
		return cause
	}
	if unusable, ok := errors.AsType[*prompt.Unusable](err); ok {
		// A failed run leaves the notes that Claude has not read to the next one.
		return h.complete(ctx, run, domain.Completion{
			State: domain.RunFailed, Error: unusable.Error(), Answer: unusable.Reply,
			Items: view.Notice(h.notice(run, unusable.Reply)),
			Notes: []domain.Note{{Kind: domain.NoteEvent, At: now, Text: unusable.Event}},
		})
	}
	var failure *agent.Failure
	if errors.As(err, &failure) {
		h.options.Metrics.Failed(run.Agent.Label, failure.Class.String())
	}
	switch {
	case failure == nil:
		return err // not Claude's: a step of the store has failed
	case failure.Class == agent.Died && run.Head.Attempts < maxAttempts:
		return err // the next attempt reads from the transcript how far Claude has come
	case failure.Class == agent.RateLimit:
		if held, ok := h.awaitLimit(ctx, run, r, failure); ok {
			return held
		}
	case h.options.Outages.of[failure.Class] != nil:
		return h.hold(ctx, run, failure)
	}
	trace.Logged(ctx, h.log).Error("a turn failed", "session", run.Session.Key, "run", run.ID, "class", failure.Class, "error", failure)
	said := h.trouble(run, failure)
	done := domain.Completion{
		State: domain.RunFailed, Error: failure.Error(), Covered: r.Covered, Turn: h.figures(run, r), Answer: said,
		Transcript: []chat.TranscriptEntry{{Role: chat.System, Text: said, At: now}},
	}
	cutOff := failure.Class == agent.Died || failure.Class == agent.GivenUp
	if cutOff {
		done.Notes = []domain.Note{{Kind: domain.NoteHint, At: now, Text: domain.HintCutOff}}
	}
	switch m := run.Head.Message; {
	case m.Origin == domain.OriginFlush, m.Origin == domain.OriginHeartbeat: // no person asked for these; the log has the failure
	case cutOff && m.Origin == "" && !m.Silent && h.offer(ctx, run, said):
		done.Items = view.Notice(nil)
	default:
		done.Items = view.Notice(h.notice(run, said))
	}
	return h.complete(ctx, run, done)
}

// offer explains why a run is given up, and asks whether to continue it.
func (h *Handler) offer(ctx context.Context, run *conversation.Run, why string) bool {
	err := h.options.Questions.Offer(context.WithoutCancel(ctx), run, why)
	if err != nil {
		h.log.Warn("the question whether to continue could not be asked", "run", run.ID, "error", err)
	}
	return err == nil
}

// notice makes a notice of the host for the chat; none for a silent turn.
func (h *Handler) notice(run *conversation.Run, text string) []domain.OutboxItem {
	if run.Head.Message.Silent {
		return nil
	}
	return run.Notice(text)
}

// complete ends the run. The message has been answered, so the end of its context no longer counts.
func (h *Handler) complete(ctx context.Context, run *conversation.Run, c domain.Completion) error {
	_, completing := trace.Start(ctx, "complete", "outcome", string(c.State))
	storing := context.WithoutCancel(ctx)
	err := h.report(storing, run, &c)
	if err == nil {
		err = h.options.Store.Complete(storing, run.ID, c)
	}
	completing.End(err)
	if err != nil {
		if errors.Is(err, domain.ErrFenced) && c.Turn != nil {
			h.spent(ctx, run, c.Turn)
		}
		return fmt.Errorf("complete run %d: %w", run.ID, err)
	}
	if f := c.Turn; f != nil {
		h.options.Metrics.Used(f.Model, f.Usage)
		trace.Logged(ctx, h.log).Info("a turn has ended", "session", run.Session.Key, "run", run.ID, "outcome", c.State, "took", took(run), "model", f.Model,
			"tokens_in", f.Usage.InputTokens+f.Usage.CacheTokens, "tokens_out", f.Usage.OutputTokens)
	}
	if run.Lane == domain.TurnLane {
		h.options.Metrics.Turn(metrics.Turn{
			Agent: run.Agent.Label, Outcome: c.State, Took: time.Since(run.StartedAt), Since: time.Since(run.Head.ReceivedAt), Trace: trace.ID(ctx),
		})
		h.close(context.WithoutCancel(ctx), run, c)
	}
	return nil
}

// close releases what a completed run still has open.
func (h *Handler) close(ctx context.Context, run *conversation.Run, c domain.Completion) {
	crashpoint.Pass("completed") // The answer is durable, its files are still where the agent put them.
	h.options.Questions.End(ctx, run.Session.Key, run.ID, c.State == domain.RunCancelled)
	if err := h.options.Files[run.Agent.Label].Clear(ctx, c.Files); err != nil {
		h.log.Warn("sent files stay in their folder", "session", run.Session.Key, "error", err)
	}
}

// spent counts the cost of an interrupted turn.
func (h *Handler) spent(ctx context.Context, run *conversation.Run, f *domain.TurnFigures) {
	h.options.Metrics.Used(f.Model, f.Usage)
	if err := h.options.Store.RecordUsage(context.WithoutCancel(ctx), run.Session.Key, run.Head.ClaudeSession, *f); err != nil {
		h.log.Warn("cannot record the cost of an interrupted turn", "run", run.ID, "error", err)
	}
}

// report puts a notice about what the session was not sent, and does not know of yet, before an answer.
func (h *Handler) report(ctx context.Context, run *conversation.Run, c *domain.Completion) error {
	if !slices.ContainsFunc(c.Items, domain.OutboxItem.HasContent) {
		return nil
	}
	dead, err := h.options.Store.Unreported(ctx, run.Session.Key)
	if err != nil || len(dead) == 0 {
		return err
	}
	texts := make([]string, len(dead))
	for i, d := range dead {
		texts[i] = d.Text
	}
	notice := run.Notice(undelivered(texts))
	if len(notice) == 0 {
		return nil
	}
	for _, d := range dead {
		c.Reported = append(c.Reported, d.ID)
	}
	c.Items = append(notice, c.Items...)
	return nil
}

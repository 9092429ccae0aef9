// Package turn answers a claimed message, from [Handler.Handle] to the step Complete.
//
// What fails is tried again as near to its cause as possible. From the inside out, with what repeats it and for which
// [agent.Class]:
//
//   - starting a process: package claude, for shortages of the machine
//   - a line that the process did not run: package claude, before anything has failed
//   - the next model: Handler.askModels, for RateLimit, Overloaded, Billing, Auth and Timeout, and for more after a fallback
//     model
//   - the same message after a pause: Handler.try, for Overloaded, Server, Rejected and Unresumable
//   - the same message in a new session: Handler.run, where the conversation cannot continue
//   - the whole run, which counts no attempt: Handler.hold and Handler.awaitLimit, for Unavailable, NoSpace, ChannelAway and
//     RateLimit; and Handler.refuse, where a budget is used up
//   - the whole run, which counts an attempt: the dispatcher, for Died and every other error that Handle returns
//
// Before Claude gets a message again, the result of the earlier try is read from its transcript ([agent.Turn].Again).
package turn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/chat/posting"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/spending"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/notice"
)

// maxAttempts bounds the runs of a message that end with the host or with claude, or by an error that no class covers. It
// is generous: a kill is usually not the message's fault, and only a message that always causes one must be stopped.
const maxAttempts = 10

// Store is what a turn needs of the store.
type Store interface {
	Consumed(ctx context.Context, run int64) error
	SetTodos(ctx context.Context, run int64, list []domain.Todo) error
	Todos(ctx context.Context, claudeSession string) ([]domain.Todo, error)
	BeginAs(ctx context.Context, run int64, claude string) error
	ReplaceSession(ctx context.Context, run int64, notice ...domain.OutboxItem) (domain.Session, error)
	Join(ctx context.Context, run int64) ([]domain.Queued, error)
	Unreported(ctx context.Context, session string) ([]domain.DeadLetter, error)
	Complete(ctx context.Context, run int64, c domain.Completion) error
	RecordUsage(ctx context.Context, session, claudeSession string, f domain.TurnFigures) error
	Post(ctx context.Context, key domain.Key, items ...domain.OutboxItem) (int64, error)
	NotifyDropped(ctx context.Context, run int64, items ...domain.OutboxItem) error
	NotePast(ctx context.Context, run int64, notes []domain.Note) error
}

// Claude is Claude Code. equip.Claude implements it.
type Claude interface {
	// Run runs a turn. Its error is an [*agent.Failure].
	Run(ctx context.Context, t agent.Turn) (agent.Result, error)
	// Spare returns the claude session of a spare process for a turn that begins a conversation, as [claude.Pool.Spare] does.
	Spare(ctx context.Context, t agent.Turn) string
	// Retire notes that a claude session will not be used again.
	Retire(claudeSession string)
}

// Programs learn why the turns that they follow do not begin or end. gateway.Gateway implements it.
type Programs interface {
	// Held notes that the turns of a session cannot begin or end yet, why, and when that is tried again.
	Held(session, why string, wait time.Duration)
}

// Options are the settings and collaborators of a handler.
type Options struct {
	Store         Store
	Conversations *conversation.Resolver
	Commands      *command.Registry
	Hooks         *hook.Chain
	Prompts       *prompt.Builder
	Claude        Claude
	Views         *view.Views
	Tools         *tools.Server
	Poster        *posting.Poster
	Questions     *permission.Approvals
	Files         map[string]*outgoing.Files // by the agent's label
	Programs      Programs
	Plugins       *plugins.Registry   // asked for what was said in a chat before
	Budgets       *spending.Budgets   // nil: none
	Worktrees     *worktree.Worktrees // nil: none
	Owners        *notice.Owners      // get notices of what prevents turns from beginning; nil: none
	Outages       *Outages
	Compaction    map[string]agent.Compaction // when conversations are compacted, by the agent's label
	Zone          *time.Location              // whose days the usage of turns is counted by
	Metrics       *metrics.Metrics            // count the turns; nil: nothing does
	Tracer        *trace.Tracer               // records their parts; nil: nothing does
}

// Handler answers claimed messages.
type Handler struct {
	options Options
	log     hclog.Logger
	models  *models
}

// New returns a handler.
func New(options Options, log hclog.Logger) *Handler {
	return &Handler{options: options, log: log, models: newModels()}
}

// Handle answers the message of a run and completes the run. After an error the run is not completed and returns to its
// lane, except after [agent.ErrStopped]: the run is completed as cancelled, and after [domain.ErrFenced]: another run has
// its message. Nudged fires when messages wait that may be steered into the running turn.
func (h *Handler) Handle(ctx context.Context, claimed *domain.Run, nudged <-chan struct{}) error {
	run := h.options.Conversations.Run(claimed)
	if run.Head.Message.Command != nil {
		return h.command(ctx, run)
	}
	ctx, turn := h.traced(ctx, run)
	err := h.answer(ctx, run, nudged)
	turn.End(err)
	if held, ok := errors.AsType[*agent.HeldError](err); ok {
		h.options.Programs.Held(run.Session.Key, held.Why, held.Wait)
	}
	if errors.Is(err, domain.ErrFenced) || errors.Is(err, agent.ErrShutdown) {
		trace.Logged(ctx, h.log).Info("a turn was interrupted", "session", run.Session.Key, "run", run.ID, "took", took(run), "by", err)
	}
	return err
}

// answer lets Claude answer the message of a run.
func (h *Handler) answer(ctx context.Context, run *conversation.Run, nudged <-chan struct{}) error {
	budgeted, err := h.options.Budgets.Begin(context.WithoutCancel(ctx), run)
	switch {
	case err != nil:
		return fmt.Errorf("compare a turn with its budgets: %w", err)
	case ctx.Err() != nil: // it was stopped, which the next steps notice
	case budgeted.UsedUp != nil:
		return h.refuse(ctx, run, *budgeted.UsedUp)
	case budgeted.Busy:
		return &agent.HeldError{Wait: whileBusy, Err: errBusy, Why: wording.BudgetBusy}
	}
	defer budgeted.End()
	trace.Logged(ctx, h.log).Info("a turn begins", "session", run.Session.Key, "run", run.ID, "attempt", run.Head.Attempts, "by", asked(run))
	if run.Head.Attempts == 1 {
		h.options.Metrics.Begun(run.Agent.Label, run.StartedAt.Sub(run.Head.ReceivedAt), trace.ID(ctx))
	}
	view := h.options.Views.For(run)
	if run.Head.Attempts > maxAttempts {
		return h.fail(ctx, run, agent.Result{}, view, &agent.Failure{Class: agent.GivenUp, Detail: fmt.Sprintf("%d attempts", maxAttempts)})
	}
	if why, text := h.misplaced(run); why != "" {
		return h.complete(ctx, run, domain.Completion{
			State: domain.RunFailed, Error: why, Answer: text, Items: view.Notice(h.notice(run, text)),
		})
	}
	if err := h.tellDropped(ctx, run); err != nil {
		return err
	}
	if err := h.recall(ctx, run); err != nil {
		return err
	}
	view.Open(ctx)
	defer view.Close()
	leave, err := h.enter(ctx, run)
	if err != nil {
		view.End()
		return h.unplaced(ctx, run, view, err)
	}
	defer leave()
	added, err := h.askHooks(ctx, run)
	if err != nil {
		view.End()
		return h.fail(ctx, run, agent.Result{}, view, err)
	}
	result, err := h.run(ctx, run, added, nudged, view)
	if run.Session.Replaced {
		h.options.Claude.Retire(run.Head.ClaudeSession)
	}
	view.End()
	if err != nil {
		return h.fail(ctx, run, result, view, err)
	}
	return h.reply(ctx, run, result, view)
}

// traced begins the part of its message's trace that a run is, with the time for which the message has waited.
func (h *Handler) traced(ctx context.Context, run *conversation.Run) (context.Context, *trace.Span) {
	head := run.Head
	ctx, turn := h.options.Tracer.Event(ctx, head.Message.Channel, string(head.EventID), head.Message.Origin == "", run.StartedAt, "turn",
		"agent", run.Agent.Label, "channel", head.Message.Channel, "attempt", strconv.Itoa(head.Attempts), "messages", strconv.Itoa(1+len(run.More)))
	if head.Attempts == 1 {
		turn.Past("queue", head.ReceivedAt, run.StartedAt)
	}
	return ctx, turn
}

// misplaced says why a run cannot be answered where it is, and what its chat is told; nothing, if it can.
func (h *Handler) misplaced(run *conversation.Run) (why, text string) {
	switch {
	case run.Missing != "":
		return "the config has no agent " + run.Missing, wording.AgentGone(run.Missing)
	case run.Session.Folder != "" && !h.options.Conversations.Folders(run.Agent).Has(run.Session.Folder):
		return "the agent may not work in " + run.Session.Folder + ", or it does not exist", wording.FolderGone(run.Session.Folder)
	default:
		return "", ""
	}
}

// asked is the person whom a run is for, as channel:user, or what started it.
func asked(run *conversation.Run) string {
	m := run.Head.Message
	if m.Origin != "" {
		return string(m.Origin)
	}
	return m.Channel + ":" + string(m.Sender.ID)
}

// took is how long a run has been running.
func took(run *conversation.Run) time.Duration {
	return time.Since(run.StartedAt).Round(time.Millisecond)
}

// askHooks returns what the hooks add to the prompt. They are asked for turns of people, plugins and the heartbeat, not for the host's own
// housekeeping.
func (h *Handler) askHooks(ctx context.Context, run *conversation.Run) ([]hook.Added, error) {
	if maintenance(run) {
		return nil, nil
	}
	texts := []string{run.Head.Message.Text}
	for _, m := range run.More {
		texts = append(texts, m.Message.Text)
	}
	asking, hooks := trace.Start(ctx, "hooks")
	added, err := h.options.Hooks.BeforeAgentStart(asking, hook.Start{TurnID: fmt.Sprint(run.ID), Caller: run.Caller, Prompt: strings.Join(texts, "\n")})
	hooks.End(err)
	if err != nil {
		return nil, &agent.Failure{Class: agent.Hook, Err: err}
	}
	return added, nil
}

// maintenance reports whether a run maintains the conversation itself and has no answer.
func maintenance(run *conversation.Run) bool {
	origin := run.Head.Message.Origin
	return origin == domain.OriginFlush || origin == domain.OriginCompact
}

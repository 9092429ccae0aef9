// Package turn answers a claimed message.
package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/hook"
)

// maxAttempts is how often a message is tried whose runs end with the host or with claude. It is generous: being killed is
// mostly not the message's fault, and only a message that always takes them down must be stopped.
const maxAttempts = 10

// maxOpenings is how often it is tried to take up a conversation that claude breaks down on. What waits behind it waits as long.
const maxOpenings = 5

// Store is what a turn needs of the store.
type Store interface {
	Consumed(ctx context.Context, run int64) error
	ReplaceSession(ctx context.Context, run int64, notice ...domain.OutboxItem) (domain.Session, error)
	Join(ctx context.Context, run int64) ([]domain.Queued, error)
	Complete(ctx context.Context, run int64, c domain.Completion) error
	RecordUsage(ctx context.Context, session, claudeSession string, f domain.TurnFigures) error
	Post(ctx context.Context, key string, items ...domain.OutboxItem) (int64, error)
	NotifyDropped(ctx context.Context, run int64, items ...domain.OutboxItem) error
}

// Owners are those who run the host.
type Owners interface {
	// Tell tells them a text, once for each key.
	Tell(key, text string)
}

// Views opens views.
type Views interface {
	// Open begins to show the chat of a run what its turn does.
	Open(ctx context.Context, run *conversation.Turn) View
}

// View shows a chat what a turn does while it goes on.
type View interface {
	// Progress is told how far the turn is. It does not block.
	Progress(p agent.Progress)
	// Tools answers a message that Claude sends to the host's tools.
	Tools(ctx context.Context, message json.RawMessage) (json.RawMessage, error)
	// End says that the turn is over, and returns what the chat has of it already.
	End() Sent
	// Restart begins once more, after End: the run is in a fresh claude session, and nothing that was shown of it counts any more.
	Restart(ctx context.Context)
	// Reply returns the answer, as far as the chat does not have it. It is called after End.
	// An [*agent.Failure] says that its files cannot be kept for now.
	Reply(ctx context.Context, r agent.Result) (Reply, error)
	// Close says that the run is completed, or is the turn's no longer. It is called last.
	Close()
}

// Reply is what a chat gets of an answer.
type Reply struct {
	Items []domain.OutboxItem   // none when there is nothing to send
	Files []domain.OutgoingFile // that the items deal with
}

// Sent is what a chat has of a turn's answer before it is complete.
type Sent struct {
	Begun   bool   // something of it was sent for good
	Shown   string // what was shown behind that
	Preview int64  // the item that shows it; zero: there is none
}

// Commands are the slash commands.
type Commands interface {
	// Answer answers a run's command. Its answer is for the chat in any case; its error is for the log.
	Answer(ctx context.Context, run *conversation.Turn) (answer string, err error)
}

// Hooks are the plugins' hooks.
type Hooks interface {
	// BeforeAgentStart returns what they add to a turn.
	BeforeAgentStart(ctx context.Context, start hook.Start) ([]string, error)
}

// Prompts writes what Claude reads.
type Prompts interface {
	// Build returns what Claude reads as a run begins, once the files that it needs are there. Its error is that of a context that
	// ended, an [*Unusable], or an [*agent.Failure] that says that the files cannot be had for now.
	Build(ctx context.Context, run *conversation.Turn, added []string) (string, error)
	// Steered returns what Claude reads of a message that joins a running turn. After an error the message, and what is behind it,
	// waits for a turn of its own.
	Steered(ctx context.Context, m domain.Queued) (string, error)
	// Profile returns how Claude Code is run for a conversation.
	Profile(c *conversation.Conversation) agent.Profile
}

// Claude is Claude Code.
type Claude interface {
	// Run has it do a turn. Its error is an [*agent.Failure].
	Run(ctx context.Context, t agent.Turn) (agent.Result, error)
	// Retire says that a claude session will not be used again.
	Retire(claudeSession string)
}

// Questions asks people.
type Questions interface {
	// Ask has people decide on what Claude asks.
	Ask(ctx context.Context, run *conversation.Turn, q agent.Question) agent.Decision
	// Offer asks a run's chat whether its work, which is given up, is to be continued. An error means that it does not.
	Offer(ctx context.Context, run *conversation.Turn, why string) error
	// End says that a run of a session is completed: no answer to what it asked matters any more.
	End(ctx context.Context, session string, run int64, stopped bool)
}

// Files keeps the files that answers send.
type Files interface {
	// Clear removes files from the folders of their conversations, once the answer that sends them is durable.
	Clear(ctx context.Context, files []domain.OutgoingFile) error
}

// Options are what a handler works with.
type Options struct {
	Store         Store
	Conversations *conversation.Resolver
	Commands      Commands
	Hooks         Hooks
	Prompts       Prompts
	Claude        Claude
	Views         Views
	Questions     Questions
	Files         Files
	Owners        Owners // are told what keeps turns from beginning; nil: nobody is
	MemoryFlush   config.MemoryFlush
	Retries       int            // how often a turn is tried again that the service failed, or had no capacity for
	Zone          *time.Location // of the days that turns count on
}

// Unusable is a run in which there is nothing for Claude: its messages are files alone, and none of them could be had.
type Unusable struct {
	Reply string // what the chat is told
	Event string // what the session's next turn is told
}

// Error implements error.
func (*Unusable) Error() string { return "none of the files could be had" }

// Handler answers claimed messages.
type Handler struct {
	options Options
	log     hclog.Logger
	outages map[agent.Class]*outage
}

// New returns a handler.
func New(options Options, log hclog.Logger) *Handler {
	return &Handler{options: options, log: log, outages: newOutages()}
}

// Handle answers the message of a run and completes the run. An error means that the run is not completed and goes back
// to its lane, but for [agent.ErrStopped]: the run is completed as cancelled. Nudged fires when messages wait that the
// running turn could be told.
func (h *Handler) Handle(ctx context.Context, claimed *domain.Run, nudged <-chan struct{}) error {
	run := h.options.Conversations.Turn(claimed)
	if run.Message.Message.Command != nil {
		return h.command(ctx, run)
	}
	err := h.answer(ctx, run, nudged)
	if errors.Is(err, domain.ErrFenced) || errors.Is(err, agent.ErrShutdown) {
		h.log.Info("a turn was interrupted", "session", run.Session.Key, "run", run.ID, "took", took(run), "by", err)
	}
	return err
}

// answer has Claude answer the message of a run.
func (h *Handler) answer(ctx context.Context, run *conversation.Turn, nudged <-chan struct{}) error {
	h.log.Info("a turn begins", "session", run.Session.Key, "run", run.ID, "attempt", run.Message.Attempts, "by", asked(run))
	if run.Message.Attempts > maxAttempts {
		return h.fail(ctx, run, agent.Result{}, Sent{Preview: run.Preview}, &agent.Failure{Class: agent.GivenUp, Detail: fmt.Sprintf("%d attempts", maxAttempts)})
	}
	if err := h.tellDropped(ctx, run); err != nil {
		return err
	}
	view := h.options.Views.Open(ctx, run)
	defer view.Close()
	added, err := h.context(ctx, run)
	if err != nil {
		return h.fail(ctx, run, agent.Result{}, view.End(), err)
	}
	result, err := h.run(ctx, run, added, nudged, view)
	if run.Session.Replaced {
		h.options.Claude.Retire(run.Message.ClaudeSession)
	}
	sent := view.End()
	if err != nil {
		return h.fail(ctx, run, result, sent, err)
	}
	return h.reply(ctx, run, result, sent, view.Reply)
}

// asked is whom a run is for, as channel:user, or what has asked for it.
func asked(run *conversation.Turn) string {
	m := run.Message.Message
	if m.Origin != "" {
		return string(m.Origin)
	}
	return m.Channel + ":" + string(m.Sender.ID)
}

// took is how long a run has been running.
func took(run *conversation.Turn) time.Duration {
	return time.Since(run.StartedAt).Round(time.Millisecond)
}

// context asks the hooks. They join the turns of people, plugins and the heartbeat, not the host's own housekeeping.
func (h *Handler) context(ctx context.Context, run *conversation.Turn) ([]string, error) {
	if housekeeping(run) {
		return nil, nil
	}
	texts := []string{run.Message.Message.Text}
	for _, m := range run.More {
		texts = append(texts, m.Message.Text)
	}
	added, err := h.options.Hooks.BeforeAgentStart(ctx, hook.Start{TurnID: fmt.Sprint(run.ID), Caller: run.Caller, Prompt: strings.Join(texts, "\n")})
	if err != nil {
		return nil, &agent.Failure{Class: agent.Hook, Err: err}
	}
	return added, nil
}

// housekeeping reports whether a run is for the conversation itself, not for something that is said in it.
func housekeeping(run *conversation.Turn) bool {
	origin := run.Message.Message.Origin
	return origin == domain.OriginFlush || origin == domain.OriginCompact
}

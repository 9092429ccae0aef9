package turn_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/posting"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/turn"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// fixture is a handler with everything around it in memory.
type fixture struct {
	reply       config.Reply
	mu          sync.Mutex
	turns       []agent.Turn
	results     []outcome // one for each turn
	compaction  agent.Compaction
	remembering []string
	added       []hook.Added
	addErr      error
	unusable    *prompt.Unusable
	missing     error // what Prompt says
	command     string
	cmdErr      error
	completed   []domain.Completion
	consumed    int
	marked      int // consumed when the session was replaced
	rebound     int
	noticed     []domain.OutboxItem
	retired     []string
	refuse      error // what Complete says
	spent       int64 // input tokens of turns that were not completed
	joined      []domain.Queued
	pictures    []agent.Picture          // of each prompt
	unheard     bool                     // of each prompt
	slow        map[string]time.Duration // how long it takes to bring the files of messages
	stopped     []bool                   // how its runs have ended
	cleared     []domain.OutgoingFile    // from their folder
	files       []domain.OutgoingFile    // of the answer
	unkept      error                    // why they cannot be stored
	posted      []domain.OutboxItem
	offered     []string
	retries     int
	offerErr    error
	mode        string // the permission mode
	keys        []string
	postErr     error
	owners      []string
	holds       []string // what programs are told
	limits      config.Limits
	model       string // empty: m
	usual       bool   // nobody has chosen a model
	fallbacks   []string
	channel     chat.Limits // of every channel; zero: it has told nothing
	history     int         // how many messages of a group are kept
	past        past
}

// past is what a chat's network tells of what was said there.
type past struct {
	events []chat.Event
	err    error
	hangs  bool
	asked  []string
	noted  []domain.Note
}

func (r *fixture) History(ctx context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	r.past.asked = append(r.past.asked, fmt.Sprintf("%s/%s before %s: %d", of.Chat, of.Thread, before, limit))
	if r.past.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.past.events, r.past.err
}

func (r *fixture) NotePast(_ context.Context, _ int64, notes []domain.Note) error {
	r.past.noted = append(r.past.noted, notes...)
	return nil
}

type outcome struct {
	result agent.Result
	err    error
}

func (r *fixture) Consumed(context.Context, int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consumed++
	return nil
}

func (r *fixture) ReplaceSession(_ context.Context, _ int64, notice ...domain.OutboxItem) (domain.Session, error) {
	r.rebound++
	r.noticed = append(r.noticed, notice...)
	r.marked = r.consumed
	return domain.Session{ClaudeSession: "fresh"}, nil
}

func (r *fixture) Post(_ context.Context, key domain.Key, items ...domain.OutboxItem) (int64, error) {
	if r.postErr != nil {
		return 0, r.postErr
	}
	r.keys = append(r.keys, key.String())
	r.posted = append(r.posted, items...)
	return 1, nil
}

func (r *fixture) NotifyDropped(ctx context.Context, run int64, items ...domain.OutboxItem) error {
	if r.postErr != nil {
		return r.postErr
	}
	r.keys = append(r.keys, fmt.Sprint("dropped for run ", run))
	r.posted = append(r.posted, items...)
	return nil
}

func (r *fixture) Join(context.Context, int64) ([]domain.Queued, error) { return r.joined, nil }

func (r *fixture) Complete(ctx context.Context, _ int64, c domain.Completion) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.completed = append(r.completed, c)
	return r.refuse
}

func (r *fixture) RecordUsage(ctx context.Context, session, claude string, f domain.TurnFigures) error {
	if ctx.Err() != nil || session != "s" || claude != "old" {
		return errors.New("nobody's")
	}
	r.spent += f.Usage.InputTokens
	return nil
}

// claude has the turns of a fixture done.
type claude struct{ fixture *fixture }

func (c claude) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	r := c.fixture
	r.turns = append(r.turns, t)
	next := r.results[0]
	r.results = r.results[1:]
	if errors.Is(next.err, errBlocks) {
		<-ctx.Done()
		return next.result, &agent.Failure{Class: agent.Aborted}
	}
	t.Watcher.Consumed(ctx)
	return next.result, next.err
}

func (c claude) Retire(session string) { c.fixture.retired = append(c.fixture.retired, session) }

var errBlocks = errors.New("until it is stopped")

// Remembering implements turn.Memory.
func (r *fixture) Remembering(_ context.Context, in chat.Kind) []string {
	if in == chat.Direct {
		return nil
	}
	return r.remembering
}

// Answer implements turn.Commands.
func (r *fixture) Answer(context.Context, *conversation.Turn) (command.Answer, error) {
	return command.Answer{Text: r.command}, r.cmdErr
}

func (r *fixture) handler() *turn.Handler {
	c := &config.Config{
		Agent: config.Agent{Timezone: time.UTC}, Claude: config.Claude{PermissionMode: "default"},
		Settings: config.Settings{Reply: r.reply, Access: config.Access{Owners: []string{"telegram:anna"}, HistoryLimit: r.history}},
	}
	conversations, log := conversation.NewResolver(c, plugintest.Channels(map[string]chat.Limits{"": r.channel}), unmoved{}), hclog.NewNullLogger()
	return turn.New(turn.Options{
		Store: r, Conversations: conversations,
		Commands: r, Hooks: r, Prompts: r, Claude: claude{r}, Questions: r, Files: r, Programs: r, Owners: r,
		MemoryFlush: config.MemoryFlush{Enabled: true, Reserve: 33_000, Prompt: "write it down"}, Retries: r.retries, Compaction: r.compaction, Memory: r, Zone: time.UTC,
		Limits: r.limits, Fallbacks: r.fallbacks, Past: r,
		Views: view.New(view.Options{Plugins: plugins.New(nil), Chats: activity.NewChats(plugins.New(nil), nil), Conversations: conversations, Files: r, Programs: r}, log),
		Tools: tools.New(tools.Options{}, log), Poster: posting.New(posting.Options{}, log),
	}, log)
}

func (r *fixture) BeforeAgentStart(context.Context, hook.Start) ([]hook.Added, error) {
	return r.added, r.addErr
}

func (r *fixture) Build(_ context.Context, run *conversation.Turn, added []string) (prompt.Prompt, error) {
	if r.missing != nil {
		return prompt.Prompt{}, r.missing
	}
	if r.unusable != nil {
		return prompt.Prompt{}, r.unusable
	}
	return prompt.Prompt{Text: "[host] " + run.Head.Message.Text + " " + strings.Join(added, "+") + opening(run), Pictures: r.pictures, Unheard: r.unheard}, nil
}

func (r *fixture) Steered(ctx context.Context, _ *conversation.Conversation, m domain.Queued) (prompt.Prompt, error) {
	select {
	case <-time.After(r.slow[m.UUID]):
		return prompt.Prompt{Text: "[host] " + m.Message.Text, Pictures: r.pictures, Unheard: r.unheard}, nil
	case <-ctx.Done():
		return prompt.Prompt{}, ctx.Err()
	}
}

func (r *fixture) Profile(*conversation.Conversation) agent.Profile {
	if r.usual {
		return agent.Profile{PermissionMode: r.mode}
	}
	return agent.Profile{Model: cmp.Or(r.model, "m"), PermissionMode: r.mode}
}

func (*fixture) Ask(context.Context, *conversation.Turn, agent.Question) agent.Decision {
	return agent.Decision{}
}

func (r *fixture) Offer(_ context.Context, run *conversation.Turn, why string) error {
	if run.Head.ConsumedAt.IsZero() {
		why += ", unread"
	}
	r.offered = append(r.offered, why)
	return r.offerErr
}

func (r *fixture) End(_ context.Context, _ string, _ int64, stopped bool) {
	r.stopped = append(r.stopped, stopped)
}

func (r *fixture) Clear(_ context.Context, files []domain.OutgoingFile) error {
	r.cleared = append(r.cleared, files...)
	return nil
}

// trouble is the notice of a failure for a chat.
func trouble(c agent.Class) string { return turn.Failed(c) }

// Collect implements view.Files.
func (r *fixture) Collect(context.Context, outgoing.Wanted) (outgoing.Collected, error) {
	return outgoing.Collected{Files: r.files}, r.unkept
}

// Progress implements view.Programs.
func (*fixture) Progress(string, string, agent.Progress) {}

// opening is what a conversation is told as it begins.
func opening(run *conversation.Turn) string {
	if run.Session.ClaudeStarted {
		return ""
	}
	return "(" + run.Session.ClaudeSession + " begins)"
}

func item(text string) []domain.OutboxItem {
	if text == "" || text == "NO_REPLY" {
		return nil
	}
	return []domain.OutboxItem{{Text: text}}
}

func message(attempts int) *domain.Run {
	return &domain.Run{
		ID: 7, Lane: domain.TurnLane, Session: domain.Session{Key: "s", ClaudeStarted: true},
		Head: domain.Queued{UUID: "u", ClaudeSession: "old", Attempts: attempts, Message: domain.Message{Text: "hello"}},
	}
}

func failure(c agent.Class) outcome { return outcome{err: &agent.Failure{Class: c}} }

// unmoved are chats that have kept their ids.
type unmoved struct{}

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

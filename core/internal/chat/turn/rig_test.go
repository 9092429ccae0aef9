package turn_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/chat/posting"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/spending"
	"github.com/clawhost/clawhost/core/internal/chat/turn"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/extract"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// session is the key of Bob's conversation.
const session = "telegram:7"

// rig is a handler over a real store, among the packages that it works with in the host. Only claude is scripted.
type rig struct {
	*turn.Handler
	*claude
	store     *store.Store
	plugins   *plugins.Registry // telegram, and two others
	turns     *dispatch.Dispatcher
	programs  *gateway.Gateway
	questions *permission.Approvals
	media     *files.Store
	budgets   *spending.Budgets
	disk      *disk
	outages   *turn.Outages
	owners    *notice.Owners
	workspace string
	accepted  int
}

// open returns a rig with a config that may be changed.
func open(t *testing.T, changes ...func(*config.Config)) *rig {
	t.Helper()
	c := &config.Config{
		Agent: config.Agent{
			Workspace: t.TempDir(), Timezone: time.UTC, Claude: config.Claude{PermissionMode: "default", Model: "opus", AskTimeout: time.Hour},
		},
		Limits:      config.Limits{OnUsageLimit: "ask"},
		MemoryFlush: config.MemoryFlush{Enabled: true, Reserve: 33_000, Prompt: "write it down"},
		Settings:    config.Settings{Access: config.Access{Owners: []string{"telegram:anna"}}},
	}
	for _, change := range changes {
		change(c)
	}
	var list []*config.Plugin
	for _, name := range []string{"telegram", "notes", "tea"} {
		list = append(list, &config.Plugin{Label: name, Enabled: true, Hook: config.Hook{Timeout: time.Minute}})
	}
	s, log, dir := storetest.Open(t), hclog.NewNullLogger(), t.TempDir()
	r := &rig{outages: turn.NewOutages(), store: s, plugins: plugins.New(list), claude: &claude{}, disk: &disk{Store: s}, workspace: c.Agent.Workspace}
	conversations, chats := conversation.NewResolver(c, r.plugins, s), activity.NewChats(r.plugins, s)
	r.turns = dispatch.New(s, dispatch.Options{Turns: 5, Commands: 1}, log)
	intake := inbox.NewIntake(s, nil, conversations, time.Now, log)
	owners := notice.NewOwners(s, conversations, r.plugins, log)
	r.owners = owners
	r.questions = permission.New(permission.Options{
		Store: r.disk, Dispatcher: r.turns, Conversations: conversations, Owners: owners, Chats: chats, Intake: intake,
	}, log)
	r.media = files.NewStore(files.Options{Dir: filepath.Join(dir, "media"), Rows: r.disk, MaxBytes: 1 << 20})
	inbound := files.NewInbound(r.media, r.workspace, files.SpaceOptions{})
	sent := map[string]*outgoing.Files{"": outgoing.New(outgoing.Options{Store: r.media, Ledger: s, Workspace: r.workspace}, log)}
	voices := speech.NewTranscriber(speech.FindMethod(dir, "a model that is not there"), r.media, program.Runner{}, time.Minute)
	toolServer := tools.New(tools.Options{Plugins: r.plugins, Store: s, Conversations: conversations, Intake: intake, Files: r.media}, log)
	r.programs = gateway.New(gateway.Options{
		Store: s, Conversations: conversations, Files: r.media, Plugins: r.plugins, Intake: intake, Dispatcher: r.turns, Closing: make(chan struct{}),
	}, log)
	r.budgets = spending.New(c, s, conversations)
	r.Handler = turn.New(turn.Options{
		Store: r.disk, Conversations: conversations, Hooks: hook.New(r.plugins, nil, log), Claude: r.claude, Tools: toolServer,
		Commands: command.New(s, r.turns, command.Host{Plugins: r.plugins, Questions: r.questions, Budgets: r.budgets, Now: time.Now, Zone: time.UTC}),
		Prompts: prompt.New(prompt.Options{
			System: config.Derive(c, func(*config.Config) map[string]*agent.Prompter {
				return map[string]*agent.Prompter{"": agent.NewPrompter(agent.Identity{Workspace: r.workspace, Timezone: time.UTC})}
			}),
			Bringer: files.NewBringer(r.media, r.plugins, log), Reader: extract.NewReader(s, voices, web.NewPages(web.Options{}, log), log),
			Inbound: map[string]*files.Inbound{"": inbound}, Pictures: r.media, Outgoing: sent, Channels: r.plugins,
		}, log),
		Views: view.New(view.Options{
			Store: s, Plugins: r.plugins, Chats: chats, Conversations: conversations, Files: sent, Programs: r.programs,
		}, log),
		Poster: posting.New(posting.Options{
			Store: s, Plugins: r.plugins, Chats: chats, Conversations: conversations, Intake: intake, Files: sent,
		}, log),
		Questions: r.questions, Files: sent, Programs: r.programs, Plugins: r.plugins, Owners: owners, Outages: r.outages,
		Compaction: map[string]agent.Compaction{"": cli.Compaction(nil, c.Agent.Claude.Env)}, Zone: time.UTC, Budgets: r.budgets,
	}, log)
	return r
}

// disk is the store with a disk that may be full for files and questions, and slow.
type disk struct {
	*store.Store
	full atomic.Bool
	slow time.Duration
}

// Consumed implements [turn.Store].
func (d *disk) Consumed(ctx context.Context, run int64) error {
	<-time.After(d.slow)
	return d.Store.Consumed(ctx, run)
}

// space is an error if the disk is full.
func (d *disk) space() error {
	if d.full.Load() {
		return fmt.Errorf("write /media/x7: %w", syscall.ENOSPC)
	}
	return nil
}

// PutMedia implements [files.Rows].
func (d *disk) PutMedia(ctx context.Context, instance string, m chat.Media, at time.Time) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.PutMedia(ctx, instance, m, at)
}

// Ask implements [permission.Store].
func (d *disk) Ask(ctx context.Context, run int64, q domain.Question, items ...domain.OutboxItem) (domain.Question, error) {
	if err := d.space(); err != nil {
		return domain.Question{}, err
	}
	return d.Store.Ask(ctx, run, q, items...)
}

// claude does turns by a script: each as its next step says, and all further ones as the last.
type claude struct {
	mu      sync.Mutex
	script  []step
	done    []agent.Turn // since the script was set
	retired []string
	spare   string // the claude session of a spare process
}

// step does a turn.
type step func(ctx context.Context, t agent.Turn) (agent.Result, error)

// plays sets the script.
func (c *claude) plays(script ...step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script, c.done = script, nil
}

// asked are the turns since the script was set.
func (c *claude) asked() []agent.Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.done)
}

// Run implements [turn.Claude].
func (c *claude) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	c.mu.Lock()
	next := c.script[min(len(c.done), len(c.script)-1)]
	c.done = append(c.done, t)
	c.mu.Unlock()
	return next(ctx, t)
}

// Spare implements [turn.Claude].
func (c *claude) Spare(context.Context, agent.Turn) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	spare := c.spare
	c.spare = ""
	return spare
}

// Retire implements [turn.Claude].
func (c *claude) Retire(session string) { c.retired = append(c.retired, session) }

// says answers with a text.
func says(text string) step { return answers(agent.Result{Text: text}) }

// answers answers with a result.
func answers(result agent.Result) step {
	return func(ctx context.Context, t agent.Turn) (agent.Result, error) {
		t.Watcher.Consumed(ctx)
		return result, nil
	}
}

// fails fails in a class.
func fails(class agent.Class) step { return costs(agent.Result{}, agent.Failure{Class: class}) }

// costs fails after a part of the work. Claude has read the message, if it has started.
func costs(result agent.Result, failure agent.Failure) step {
	return func(ctx context.Context, t agent.Turn) (agent.Result, error) {
		if failure.Class != agent.Unavailable && failure.Class != agent.Unresumable {
			t.Watcher.Consumed(ctx)
		}
		return result, &failure
	}
}

// works goes on until the turn is ended.
func works(result agent.Result) step {
	return func(ctx context.Context, t agent.Turn) (agent.Result, error) {
		t.Watcher.Consumed(ctx)
		<-ctx.Done()
		return result, &agent.Failure{Class: agent.Aborted}
	}
}

// message is one of Bob's in his direct chat.
func message(text string) domain.Message {
	return domain.Message{
		Channel: "telegram", Chat: chat.Chat{ID: "7", Kind: chat.Direct}, Sender: chat.Sender{ID: "bob", DisplayName: "Bob"}, Authority: chat.Other, Text: text,
	}
}

// inbound is the next message to accept.
func (r *rig) inbound(m domain.Message) domain.Inbound {
	r.accepted++
	in := domain.Inbound{EventID: event(r.accepted), Session: session, Lane: domain.TurnLane, Message: m}
	if in.Queue = conversation.Queueing(config.Queue{Mode: domain.Steer}, m.Overrides.Queue, domain.QueueOverrides{}); m.Command != nil {
		in.Lane = domain.ControlLane
	}
	return in
}

func event(n int) chat.EventID { return chat.EventID(fmt.Sprint("e", n)) }

// accept has messages wait for their turns.
func (r *rig) accept(t *testing.T, messages ...domain.Message) {
	t.Helper()
	for _, m := range messages {
		storetest.Accept(t, r.store, r.inbound(m))
	}
}

// claim begins what waits in a lane of the session's turns.
func (r *rig) claim(t *testing.T) (run *domain.Run) {
	t.Helper()
	if r.waiting(t) == 0 {
		t.Fatal("no turn waits")
	}
	must(t, r.store.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(claimed *domain.Run) { run = claimed }))
	return run
}

// crash ends the host in the middle of what runs, and claims that again.
func (r *rig) crash(t *testing.T) *domain.Run {
	t.Helper()
	r.restart(t)
	return r.claim(t)
}

// restart has everything that was claimed wait again, as the host does when it starts.
func (r *rig) restart(t *testing.T) {
	t.Helper()
	_, _, err := r.store.Reclaim(t.Context())
	must(t, err)
}

// must ends a test after an error of what the test itself does.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do has the turn of a message done.
func (r *rig) do(t *testing.T, m domain.Message) *domain.Run {
	t.Helper()
	r.accept(t, m)
	run := r.claim(t)
	must(t, r.Handle(t.Context(), run, nil))
	return run
}

// begin has a first turn done, whose answer is delivered.
func (r *rig) begin(t *testing.T, result agent.Result) {
	t.Helper()
	result.Text = "hello"
	r.plays(answers(result))
	r.do(t, message("hello"))
	storetest.Sent(t, r.store, "telegram")
}

// next returns the prompt of another turn, whose answer is delivered.
func (r *rig) next(t *testing.T) string {
	t.Helper()
	r.plays(says("yes"))
	r.do(t, message("and then"))
	storetest.Sent(t, r.store, "telegram")
	return r.asked()[0].Prompt
}

// run has the dispatcher do turns until the test ends.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.turns.Run(ctx, r) })
	running.Go(func() { r.owners.Problems(ctx, health.New(r.outages)) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
}

// told delivers what is due, and returns the texts for the chat and those for the owner.
func (r *rig) told(t *testing.T) (inChat, owner []string) {
	t.Helper()
	for _, item := range storetest.Sent(t, r.store, "telegram") {
		if item.To.Chat == "anna" {
			owner = append(owner, item.Text)
		} else {
			inChat = append(inChat, item.Text)
		}
	}
	return inChat, owner
}

// said delivers what is due, and returns its texts in one.
func (r *rig) said(t *testing.T) string {
	t.Helper()
	return strings.Join(storetest.Texts(t, r.store, "telegram"), " | ")
}

// outcome is how the turn of the last message has ended; zero: it waits or runs.
func (r *rig) outcome(t *testing.T) domain.Outcome {
	t.Helper()
	o, err := r.store.Outcome(t.Context(), "telegram", event(r.accepted))
	must(t, err)
	return o
}

// known is what is known of the session.
func (r *rig) known(t *testing.T) domain.Session {
	t.Helper()
	s, err := r.store.Session(t.Context(), session)
	must(t, err)
	return s
}

// stored is a file of telegram's.
func (r *rig) stored(t *testing.T, kind chat.MediaKind, content []byte) []chat.Media {
	t.Helper()
	m, err := r.media.Put(t.Context(), "telegram", chat.Media{Kind: kind}, bytes.NewReader(content))
	must(t, err)
	return []chat.Media{m}
}

// history is the transcript of the session.
func (r *rig) history(t *testing.T) []chat.TranscriptEntry {
	t.Helper()
	list, err := r.store.Transcript(t.Context(), session, 0, 0)
	must(t, err)
	return list
}

// waiting is how many messages wait for a turn.
func (r *rig) waiting(t *testing.T) int {
	t.Helper()
	_, n, err := r.store.Lane(t.Context(), session, domain.TurnLane)
	must(t, err)
	return n
}

// tries are the models of the turns since the script was set, each with "again" if Claude may have the message.
func (c *claude) tries() (list []string) {
	for _, asked := range c.asked() {
		list = append(list, asked.Profile.Model+map[bool]string{true: " again"}[asked.Again])
	}
	return list
}

// report has telegram report its limits. It does not run.
func (r *rig) report(limits chat.Limits) {
	telegram := r.plugins.Entry("telegram")
	telegram.Publish(&plugins.Plugin{Name: "telegram", Reported: map[chat.Kind]chat.Limits{chat.Direct: limits, chat.Group: limits}})
	telegram.Publish(nil)
}

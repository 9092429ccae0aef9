package command_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/recentlog"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"

	"github.com/hashicorp/go-hclog"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got+"\n"); diff != "" {
		t.Error("run the tests with -update if this is meant:", diff)
	}
}

var (
	now      = time.Date(2026, 3, 15, 14, 30, 0, 0, time.UTC)
	received = now.Add(-time.Second)
)

// hostCommands is what the commands use: claude is scripted. Only inBubble gives it a store, and turns that run.
type hostCommands struct {
	store   *store.Store
	turns   *dispatch.Dispatcher
	session domain.Session // of the chat in which commands are written; its choices and its label are those of the store

	restarted     int
	cannotRestart error
	exports       string
	plugins       []chat.CommandSpec // of a plugin that runs
	overrides     []string           // those of the host that it replaces
	plugin        *remote.Plugin     // the plugin; nil: no command of it is run
	skills        []agent.Skill
	config        []string // who may write by the config
	speech        bool
	shell         *shell
	files         *files.Store
	takes         []chat.MediaLimit // the files that the chat takes
	inventory     claude.Inventory
	speed, slowed string             // what Claude Code says of fast mode
	changed       transcript.Changed // by the last turn
	rewinds       rewinds
	aside         func(question string) (string, error) // answers alongside what runs

	begun int  // turns
	deaf  bool // turns do not end when they are stopped
}

// inBubble runs a test in a bubble of its own, with commands whose store knows their session. It is a while before now.
func inBubble(t *testing.T, test func(t *testing.T, d *hostCommands)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-90 * time.Second)))
		d := &hostCommands{store: storetest.Open(t)}
		d.turns = dispatch.New(d.store, dispatch.Options{Turns: 9, Commands: 9}, hclog.NewNullLogger())
		d.write(t, domain.ControlLane, message("hello"))
		if err := d.store.Complete(t.Context(), d.claim(t, domain.ControlLane).ID, domain.Completion{State: domain.RunDone}); err != nil {
			t.Fatal(err)
		}
		test(t, d)
	})
}

// choose makes the choices of the session.
func (d *hostCommands) choose(t *testing.T, o domain.Overrides) {
	t.Helper()
	if _, err := d.store.Configure(t.Context(), "telegram:7", func(chosen *domain.Overrides) { *chosen = o }); err != nil {
		t.Fatal(err)
	}
}

// chosen are the choices of the session.
func (d *hostCommands) chosen(t *testing.T) domain.Overrides {
	t.Helper()
	s, err := d.store.Session(t.Context(), "telegram:7")
	if err != nil {
		t.Fatal(err)
	}
	return s.Overrides
}

// message is one of Anna's, in the direct chat of the session.
func message(text string) domain.Message {
	return domain.Message{
		Channel: "telegram", Chat: chat.Chat{ID: "7", Kind: chat.Direct}, Text: text,
		Sender: chat.Sender{ID: "7", DisplayName: "Anna", Username: "anna"},
	}
}

// write has messages wait in the session.
func (d *hostCommands) write(t *testing.T, lane domain.Lane, messages ...domain.Message) {
	t.Helper()
	for _, m := range messages {
		in := domain.Inbound{EventID: chat.EventID(rand.Text()), Session: "telegram:7", Lane: lane, Message: m}
		if _, err := d.store.Accept(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting is how many messages wait in the session for a turn.
func (d *hostCommands) waiting(t *testing.T) int {
	t.Helper()
	_, n, err := d.store.Lane(t.Context(), "telegram:7", domain.TurnLane)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// claim begins what waits.
func (d *hostCommands) claim(t *testing.T, lane domain.Lane) (run *domain.Run) {
	t.Helper()
	if err := d.store.Claim(t.Context(), lane, domain.Anybodys, func(claimed *domain.Run) { run = claimed }); err != nil {
		t.Fatal(err)
	}
	return run
}

// run has a turn of the session run until it is stopped, or the test ends.
func (d *hostCommands) run(t *testing.T) {
	t.Helper()
	d.write(t, domain.TurnLane, message("work"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.turns.Run(ctx, d)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	synctest.Wait()
}

// Handle implements [dispatch.Handler].
func (d *hostCommands) Handle(ctx context.Context, run *domain.Run, _ <-chan struct{}) error {
	d.begun++
	<-ctx.Done()
	if d.deaf {
		time.Sleep(time.Minute)
	}
	if err := d.store.Complete(context.WithoutCancel(ctx), run.ID, domain.Completion{State: domain.RunCancelled}); err != nil {
		return err
	}
	return context.Cause(ctx)
}

var models = command.Models{Aliases: map[string]string{"fast": "haiku", "Big": "claude-opus-4-8"}, Names: []string{"sonnet", "acme.claude-7"}}

// conversations resolve the hostCommands's session over a config.
func (d *hostCommands) conversations() *conversation.Resolver {
	c := &config.Config{
		Agent: config.Agent{Claude: config.Claude{Model: "sonnet", PermissionMode: "default"}}, Send: config.Send{Default: "allow"}, Media: config.Media{TTS: "off"},
		Settings: config.Settings{
			Queue:  config.Queue{Mode: "steer", Debounce: 500 * time.Millisecond, Cap: 20, Drop: "summarize"},
			Reply:  config.Reply{Verbose: "off", Reasoning: "off", Usage: "off"},
			Access: config.Access{RequireMention: true, Allow: d.config},
		},
	}
	if d.speech {
		c.Media.Speak = []string{"speak"}
	}
	return conversation.NewResolver(c, d.registryOfPlugins(), d.store)
}

func (d *hostCommands) registry() *command.Registry {
	conversations := d.conversations()
	host := command.Host{
		Debounce: debounce.New(),
		Version:  "v1", Started: now.Add(-3 * time.Hour), ConfigPath: "/etc/clawhost/config.hcl", ExportDir: d.exports, Models: config.Derive(&config.Config{}, func(*config.Config) command.Models { return models }),
		Now: func() time.Time { return now }, Zone: time.UTC,
		Conversations: conversations, Plugins: d.registryOfPlugins(), Agents: skilled{d}, Claude: asked{d}, Tools: tooled{},
		Speech: d.speech, Restart: restart{d}, Recent: recent(),
		Questions: permission.New(permission.Options{Store: d.store, Conversations: conversations}, hclog.NewNullLogger()),
		Bash:      d.shell != nil, Files: d.files,
	}
	return command.New(d.store, d.turns, host)
}

// recent is a log with an error.
func recent() *recentlog.Log {
	log := recentlog.New(io.Discard)
	_, _ = log.LevelWrite(hclog.Error, []byte("2000-01-01T00:00:00.000Z [ERROR] clawhost.turn: a turn failed: session=s"))
	return log
}

// registryOfPlugins has two channels, a plugin that is busy, and the one with commands.
func (d *hostCommands) registryOfPlugins() *plugins.Registry {
	r := plugins.New([]*config.Plugin{
		{Label: "telegram", Enabled: true},
		{Label: "discord", Enabled: true},
		{Label: "slack", Enabled: true},
		{Label: "memory", Enabled: true},
		{Label: "dice", Enabled: true, Overrides: d.overrides},
	})
	for _, s := range []plugins.Status{
		{Name: "telegram", Kinds: []string{"channel"}, Connection: chat.Connected},
		{Name: "discord", Kinds: []string{"channel"}, Connection: chat.Connecting},
		{Name: "slack"},
		{Name: "memory", Doing: "reads old books"},
		{Name: "dice"},
	} {
		s.State = plugins.Running
		r.Entry(s.Name).Update(func(status *plugins.Status) { *status = s })
	}
	limits := map[chat.Kind]chat.Limits{chat.Direct: {MediaOut: d.takes}, chat.Group: {MediaOut: d.takes}}
	r.Entry("telegram").Publish(&plugins.Plugin{Name: "telegram", Reported: limits})
	r.Entry("dice").Publish(&plugins.Plugin{Name: "dice", Plugin: d.plugin, Description: remote.Description{Commands: d.plugins}})
	return r
}

// answering is a plugin that answers each command so.
func answering(t *testing.T, answer func(name string) (string, error)) *remote.Plugin {
	t.Helper()
	roll := func(context.Context, sdk.CommandCall) (string, error) { return "", nil }
	p := plugintest.Start(t, "dice", sdk.Command(sdk.CommandSpec{Name: "roll"}, roll))
	p.Handle("RunCommand", func(_ context.Context, request any) (any, error) {
		reply, err := answer(request.(*pluginv1.RunCommandRequest).GetName())
		return &pluginv1.RunCommandResponse{Reply: reply}, err
	})
	return p.Plugin.Plugin
}

// textOf returns the text of an answer.
func textOf(answer command.Answer, err error) (string, error) { return answer.Text, err }

// skilled is the agent of a hostCommands.
type skilled struct{ hostCommands *hostCommands }

func (skilled) Sections(chat.Caller, domain.Session) []agent.Section {
	return []agent.Section{{Name: "identity", Bytes: 250}, {Name: "messages", Bytes: 1250}}
}

func (s skilled) SkillList(string) []agent.Skill { return s.hostCommands.skills }

// asked are the claude processes of a hostCommands.
type asked struct{ hostCommands *hostCommands }

func (asked) Stats() claude.Stats { return claude.Stats{Running: 1, Idle: 2} }

func (asked) Installation() claude.Installation {
	return claude.Installation{Installation: cli.Installation{Version: "2.1.331", Login: cli.LoggedIn}}
}

func (a asked) Inventory(string) claude.Inventory { return a.hostCommands.inventory }

// tooled are the tools of the host and of a plugin.
type tooled struct{}

func (tooled) Offered(context.Context) map[string][]string {
	return map[string][]string{"": {"message", "sessions"}, "todo": {"todo_add"}}
}

func (a asked) Aside(_ context.Context, _, question string) (string, error) {
	return a.hostCommands.aside(question)
}

func (a asked) Speed(string) (fast, why string) { return a.hostCommands.speed, a.hostCommands.slowed }

// Retire implements [command.Claude].
func (asked) Retire(string) {}

// Release implements [command.Claude].
func (asked) Release(context.Context, string) error { return nil }

func (asked) Tasks(string) []client.Task {
	return []client.Task{{Number: 4, What: "Look for tests", Agent: "Explore", Doing: "Running grep", Since: now.Add(-70 * time.Second)}}
}

func (asked) Plan(context.Context, string) []domain.PlanWindow { return nil }

func (a asked) StopTask(_ context.Context, _ string, number int) (client.Task, error) {
	switch number {
	case 4:
		return a.Tasks("")[0], nil
	case 5:
		return client.Task{}, client.ErrNoTaskStop
	default:
		return client.Task{}, client.ErrNoTask
	}
}

func (a asked) LastChanges(claude.Place) (transcript.Changed, error) {
	return a.hostCommands.changed, nil
}

func (a asked) Rewind(_ context.Context, _ claude.Place, message string, agreed *client.Rewound) (client.Rewound, error) {
	r := &a.hostCommands.rewinds
	if agreed != nil && r.err == nil {
		r.done = append(r.done, message)
	}
	return r.would, r.err
}

// rewinds are what claude would restore, and for which messages it has.
type rewinds struct {
	would client.Rewound
	done  []string
	err   error
}

func (a asked) Shell(ctx context.Context, _, _ string, l cli.Line) (int, error) {
	return a.hostCommands.shell.run(ctx, l.Name, l.Text, l.Stdout)
}

// restart notes that the host of a hostCommands is to be restarted.
type restart struct{ hostCommands *hostCommands }

func (r restart) Request(context.Context) error {
	r.hostCommands.restarted++
	return r.hostCommands.cannotRestart
}

// call is a command of a person in the direct chat of the hostCommands's session.
func (d *hostCommands) call(text string, authority chat.Authority) command.Call {
	name, args, _ := splitCommand(text)
	session := d.session
	if d.store != nil {
		if known, err := d.store.Session(context.Background(), "telegram:7"); err == nil {
			session.Overrides, session.Label = known.Overrides, known.Label
		}
	}
	return command.Call{Name: name, Args: args, At: received, Session: session, Caller: chat.Caller{
		Session: "telegram:7", Address: chat.Address{Channel: "telegram", Chat: "7"}, Kind: chat.Direct,
		Sender: chat.Sender{ID: "7", DisplayName: "Anna", Username: "anna"}, Authority: authority,
	}}
}

// talk uses commands one after the other in the hostCommands's session, and compares all that is said with a file.
func (d *hostCommands) talk(t *testing.T, name string, authority chat.Authority, texts ...string) {
	t.Helper()
	var said strings.Builder
	for _, text := range texts {
		got, err := textOf(d.registry().Run(t.Context(), d.call(text, authority)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		fmt.Fprintf(&said, ">>> %s\n%s\n\n", text, got)
	}
	golden(t, name, strings.ReplaceAll(strings.TrimSpace(said.String()), strings.Join(domain.Modes(), ", "), "MODES"))
}

// used is a session that has seen some work.
func used() domain.Session {
	return domain.Session{
		Key: "telegram:7", ClaudeSession: "6d1c2a3e-0000-4000-8000-000000000001", ClaudeStarted: true, Kind: chat.Direct,
		Route: chat.Address{Channel: "telegram", Chat: "7"}, CreatedAt: now.Add(-50 * time.Hour), ResetAt: now.Add(-time.Hour), InteractedAt: now.Add(-5 * time.Minute),
		Model: "claude-sonnet-5", ContextTokens: 50_000, ContextWindow: 200_000, Compactions: 2, FlushedAt: now.Add(-30 * time.Minute),
		Usage: domain.Usage{Turns: 12, InputTokens: 900, CacheTokens: 150_000, OutputTokens: 4_200, CostMicros: 123_456},
	}
}

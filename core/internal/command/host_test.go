package command_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/permission"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/recentlog"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"

	"github.com/hashicorp/go-hclog"
)

var update = flag.Bool("update", false, "write the golden files anew")

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

// hostCommands is a store and a dispatcher in memory.
type hostCommands struct {
	open    []permission.Open
	running bool
	waiting int
	slow    bool // a stop that does not come to its end in time
	order   []string
	before  []time.Time // what is told to end

	session       domain.Session
	notes         []domain.Note
	days          []domain.DayUsage
	from          string // what UsageByDay was asked for
	entries       []domain.Entry
	pairings      []domain.Pairing
	allowed       []domain.AllowedUser
	lanes         []domain.LaneStatus
	messages      []domain.WaitingMessage
	restarted     int
	cannotRestart error
	exports       string
	plugins       []chat.CommandSpec // of a plugin that runs
	overrides     []string           // those of the host that it replaces
	plugin        *remote.Plugin     // the plugin; nil: no command of it is run
	skills        []agent.Skill
	config        []string // who may write by the config
	grants        []domain.Grant
	beside        string // the answer to a question beside what runs
	speech        bool
	shell         *shell
	inventory     claude.Inventory
	speed, slowed string // what Claude Code says of fast mode
	fail          error
}

func (d *hostCommands) Clear(_ context.Context, _ string, _ domain.Lane, before time.Time) (int, error) {
	d.before = append(d.before, before)
	d.order = append(d.order, "clear")
	dropped := d.waiting
	d.waiting = 0
	return dropped, d.fail
}

func (d *hostCommands) Stop(_ context.Context, _ string, before time.Time) (bool, error) {
	d.before = append(d.before, before)
	d.order = append(d.order, "stop")
	if d.slow {
		return true, context.DeadlineExceeded
	}
	was := d.running
	d.running = false
	return was, nil
}

func (d *hostCommands) Waiting(context.Context, string, domain.Lane) (int, error) {
	return d.waiting, d.fail
}

func (d *hostCommands) Running(string) (time.Time, bool) {
	return now.Add(-90 * time.Second), d.running
}

func (d *hostCommands) Configure(_ context.Context, _ string, change func(*domain.Overrides)) (domain.Session, error) {
	if d.fail != nil {
		return domain.Session{}, d.fail
	}
	change(&d.session.Overrides)
	return d.session, nil
}

func (d *hostCommands) SetLabel(_ context.Context, _, label string) error {
	d.session.Label = label
	return d.fail
}

func (d *hostCommands) Note(_ context.Context, _ string, notes ...domain.Note) error {
	d.notes = append(d.notes, notes...)
	return d.fail
}

func (d *hostCommands) Entries(_ context.Context, _ string, before int64, limit int) ([]domain.Entry, error) {
	var page []domain.Entry
	for _, e := range d.entries {
		if before == 0 || e.ID < before {
			page = append(page, e)
		}
	}
	return page[max(0, len(page)-min(limit, 3)):], d.fail
}

func (d *hostCommands) Next(_ context.Context, _ string, seq int64) error {
	return d.queued("next", seq)
}

func (d *hostCommands) WaitingMessages(_ context.Context, _ string, limit int) ([]domain.WaitingMessage, error) {
	return d.messages[:min(len(d.messages), limit)], d.fail
}

func (d *hostCommands) Withdraw(_ context.Context, _ string, seq int64, may func(domain.Message) bool) error {
	var m domain.Message
	for _, w := range d.messages {
		if w.Seq == seq {
			m = w.Message
		}
	}
	if !may(m) {
		return domain.ErrNotYours
	}
	return d.queued("withdraw", seq)
}

func (d *hostCommands) queued(what string, seq int64) error {
	if seq > 9 {
		return domain.ErrNotFound
	}
	d.order = append(d.order, fmt.Sprint(what, " ", seq))
	return d.fail
}

func (d *hostCommands) Grants(context.Context, string) ([]domain.Grant, error) {
	return d.grants, d.fail
}

func (d *hostCommands) Revoke(_ context.Context, g domain.Grant) (int64, error) {
	d.order = append(d.order, "revoke "+g.Rule)
	return int64(len(d.grants)), d.fail
}

func (d *hostCommands) Answer(_ context.Context, caller chat.Caller, id, answer string) (string, bool, error) {
	d.order = append(d.order, fmt.Sprintf("%s: %s by %s", id, answer, caller.Authority))
	return "", id != "ZZZZZ", d.fail
}

func (d *hostCommands) Hear(_ context.Context, id, answer string, w permission.Written) (string, error) {
	return id + " is answered with " + answer + " by " + w.Text, d.fail
}

func (d *hostCommands) Pairings(context.Context) ([]domain.Pairing, error) {
	return append([]domain.Pairing(nil), d.pairings...), d.fail
}

func (d *hostCommands) ApprovePairing(ctx context.Context, channel, code string, notice func(domain.Pairing) domain.OutboxItem) (domain.Pairing, error) {
	p, err := d.RejectPairing(ctx, channel, code)
	if err == nil {
		d.order = append(d.order, notice(p).Text)
		d.allowed = append(d.allowed, domain.AllowedUser{Channel: p.Channel, User: p.User})
	}
	return p, err
}

func (d *hostCommands) RejectPairing(_ context.Context, channel, code string) (domain.Pairing, error) {
	for i, p := range d.pairings {
		if p.Channel == channel && p.Code == code {
			d.pairings = append(d.pairings[:i], d.pairings[i+1:]...)
			return p, nil
		}
	}
	return domain.Pairing{}, domain.ErrNotFound
}

func (d *hostCommands) AllowedUsers(context.Context) ([]domain.AllowedUser, error) {
	return d.allowed, d.fail
}

func (d *hostCommands) Allow(_ context.Context, channel string, user chat.UserID) error {
	d.allowed = append(d.allowed, domain.AllowedUser{Channel: channel, User: user})
	return d.fail
}

func (d *hostCommands) Disallow(_ context.Context, channel string, user chat.UserID) (bool, error) {
	for i, a := range d.allowed {
		if a.Channel == channel && a.User == user {
			d.allowed = append(d.allowed[:i], d.allowed[i+1:]...)
			return true, nil
		}
	}
	return false, nil
}

func (d *hostCommands) UsageByDay(_ context.Context, from string) ([]domain.DayUsage, error) {
	d.from = from
	return d.days, d.fail
}

func (d *hostCommands) Lanes(context.Context) ([]domain.LaneStatus, error) { return d.lanes, d.fail }

var models = command.Models{Aliases: map[string]string{"fast": "haiku", "Big": "claude-opus-4-8"}, Names: []string{"sonnet", "acme.claude-7"}}

// conversations resolve the hostCommands's session over a config.
func (d *hostCommands) conversations() *conversation.Resolver {
	c := &config.Config{
		Claude: config.Claude{Model: "sonnet", PermissionMode: "default"}, Send: config.Send{Default: "allow"}, Media: config.Media{TTS: "off"},
		Settings: config.Settings{
			Queue:  config.Queue{Mode: "steer", Debounce: 500 * time.Millisecond, Cap: 20, Drop: "summarize"},
			Reply:  config.Reply{Verbose: "off", Reasoning: "off", Usage: "off"},
			Access: config.Access{RequireMention: true, Allow: d.config},
		},
	}
	if d.speech {
		c.Media.Speak = []string{"speak"}
	}
	return conversation.NewResolver(c, d.registryOfPlugins(), d)
}

func (d *hostCommands) Origin(_ string, id chat.ID) chat.ID { return id }

func (d *hostCommands) registry() *command.Registry {
	host := command.Host{
		Version: "v1", Started: now.Add(-3 * time.Hour), ConfigPath: "/etc/clawhost/config.hcl", ExportDir: d.exports, Models: models,
		Now: func() time.Time { return now }, Zone: time.UTC,
		Conversations: d.conversations(), Plugins: d.registryOfPlugins(), Agent: skilled{d}, Claude: asked{d}, Tools: tooled{}, Speech: d.speech, Questions: d, Restart: restart{d}, Recent: recent(),
	}
	if d.shell != nil {
		host.Shell, host.Files = d.shell, d.shell
	}
	return command.New(d, d, host)
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

// skilled is the agent of a hostCommands.
type skilled struct{ hostCommands *hostCommands }

func (skilled) Sections(chat.Caller, domain.Session) []agent.Section {
	return []agent.Section{{Name: "identity", Bytes: 250}, {Name: "messages", Bytes: 1250}}
}

func (s skilled) SkillList() []agent.Skill { return s.hostCommands.skills }

// asked are the claude processes of a hostCommands.
type asked struct{ hostCommands *hostCommands }

func (asked) Stats() claude.Stats { return claude.Stats{Running: 1, Idle: 2} }

func (a asked) Inventory() claude.Inventory { return a.hostCommands.inventory }

// tooled are the tools of the host and of a plugin.
type tooled struct{}

func (tooled) Offered(context.Context) map[string][]string {
	return map[string][]string{"": {"message", "sessions"}, "todo": {"todo_add"}}
}

func (a asked) Aside(_ context.Context, _, question string) (string, error) {
	if !a.hostCommands.running {
		return "", client.ErrNotRunning
	}
	a.hostCommands.order = append(a.hostCommands.order, question)
	return a.hostCommands.beside, a.hostCommands.fail
}

func (a asked) Speed(string) (fast, why string) { return a.hostCommands.speed, a.hostCommands.slowed }

func (asked) Tasks(string) []client.Task {
	return []client.Task{{Number: 4, What: "Look for tests", Agent: "Explore", Doing: "Running grep", Since: now.Add(-70 * time.Second)}}
}

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

// restart notes that the host of a hostCommands is to be restarted.
type restart struct{ hostCommands *hostCommands }

func (r restart) Request(context.Context) error {
	r.hostCommands.restarted++
	return r.hostCommands.cannotRestart
}

// call is a command of somebody in the direct chat of the hostCommands's session.
func (d *hostCommands) call(text string, authority chat.Authority) command.Call {
	name, args, _ := splitCommand(text)
	return command.Call{Name: name, Args: args, At: received, Session: d.session, Caller: chat.Caller{
		Session: "telegram:7", Address: chat.Address{Channel: "telegram", Chat: "7"}, Kind: chat.Direct,
		Sender: chat.Sender{ID: "7", DisplayName: "Anna", Username: "anna"}, Authority: authority,
	}}
}

// talk uses commands one after the other in the hostCommands's session, and compares all that is said with a file.
func (d *hostCommands) talk(t *testing.T, name string, authority chat.Authority, texts ...string) {
	t.Helper()
	var said strings.Builder
	for _, text := range texts {
		got, err := d.registry().Run(t.Context(), d.call(text, authority))
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

func (d *hostCommands) Open(context.Context) ([]permission.Open, error) { return d.open, nil }

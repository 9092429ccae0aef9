package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/recentlog"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// bundle is a server over a real store, and its client.
type bundle struct {
	*admin.Client
	ctx       context.Context
	store     *store.Store
	dir       string
	restarted []string
	refuse    func(pid int) bool // nil: no one
	tool      atomic.Bool        // whoever connects by TCP is a tool of the agent
	config    []*config.Plugin
	plugins   *plugins.Registry
	turns     *dispatch.Dispatcher
	log       *recentlog.Log
	views     *view.Views
	zone      *time.Location // of the agent main
	stop      func()
	left      chan struct{} // closed when a slow login has ended
}

// setup returns a bundle whose server does not run yet.
func setup(t *testing.T, blocks ...*config.Plugin) *bundle {
	t.Helper()
	// The socket's path must be short, which the test's own folder is not everywhere.
	dir, err := os.MkdirTemp("", "claw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, registry := storetest.Open(t), plugins.New(blocks)
	return &bundle{
		Client: admin.NewClient(filepath.Join(dir, "clawhost.sock")), ctx: t.Context(), store: s, dir: dir,
		config: blocks, plugins: registry, zone: time.UTC,
		turns: dispatch.New(s, dispatch.Options{Turns: 1, Commands: 1}, hclog.NewNullLogger()),
		views: view.New(view.Options{
			Plugins: registry, Chats: activity.NewChats(registry, s), Programs: &gateway.Gateway{}, Conversations: conversation.NewResolver(&config.Config{}, registry, s),
		}, hclog.NewNullLogger()),
	}
}

// host is the state of a bundle's host, whose pool has two idle processes.
func (b *bundle) host() admin.Host {
	return admin.Host{
		Version: "1", Demo: true, Started: time.Unix(5, 0).UTC(),
		Config: &config.Config{
			Agent:  config.Agent{Label: "main", Workspace: "/home", Timezone: b.zone, OpenTo: "owners", Claude: config.Claude{Command: "claude"}},
			Agents: []*config.Agent{{Label: "server", Description: "the API server", Workspace: "/src", OpenTo: "allowed", Claude: config.Claude{Model: "opus"}}}, Plugins: b.config,
		},
		Dispatcher: b.turns, Claude: pool{}, Plugins: b.plugins, Approvals: permission.New(permission.Options{Store: b.store}, hclog.NewNullLogger()),
		Health: health.New(b.store, b.plugins), Views: b.views,
	}
}

type pool struct{}

func (pool) Stats() claude.Stats {
	return claude.Stats{
		Idle: 2, Memory: 3, Limit: 4, Total: 6, Available: 5,
		Parked: []claude.Parking{{At: time.Unix(7, 0).UTC(), Session: "echo:anna", Why: claude.Shortage}},
	}
}

func (pool) Inspected() <-chan struct{} { return nil }

func (pool) Installation() claude.Installation {
	return claude.Installation{Installation: cli.Installation{Version: "2.1.331", Login: cli.LoggedIn, Account: "claude.ai"}}
}

// supervisor is that of a bundle.
type supervisor struct{ bundle *bundle }

func (s supervisor) Restart(name string) error {
	if name != "echo" {
		return fmt.Errorf("no plugin %q is enabled", name)
	}
	s.bundle.restarted = append(s.bundle.restarted, name)
	return nil
}

func (s supervisor) Login(ctx context.Context, plugin string, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	return s.bundle.login(ctx, plugin, answers, show)
}

// peers are refused as a bundle says.
type peers struct{ bundle *bundle }

func (p peers) Refused(pid int) bool { return p.bundle.refuse != nil && p.bundle.refuse(pid) }

func (p peers) Admit(_, _ netip.AddrPort) error {
	if p.bundle.tool.Load() {
		return errors.New("a tool of the agent")
	}
	return nil
}

// run starts the server and waits until it listens.
func (b *bundle) run(t *testing.T) {
	t.Helper()
	server := admin.New(admin.Options{
		Socket: b.socket(), Store: b.store, Host: b.host(), Plugins: supervisor{b}, Peers: peers{b}, Log: b.log,
	}, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(b.stop)
	tick := time.NewTicker(time.Millisecond) // a socket gives no event
	defer tick.Stop()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		if conn, err := net.Dial("unix", b.socket()); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("no one listens")
		}
	}
}

func (b *bundle) socket() string { return filepath.Join(b.dir, "clawhost.sock") }

// accept puts a message of anna's into her lane.
func (b *bundle) accept(t *testing.T, id string) {
	t.Helper()
	b.acceptFor(t, "echo:anna", id)
}

// acceptFor accepts a message for a session.
func (b *bundle) acceptFor(t *testing.T, session, id string) {
	t.Helper()
	_, err := b.store.Accept(b.ctx, domain.Inbound{
		EventID: chat.EventID(id), Session: session, Lane: domain.TurnLane,
		Message: domain.Message{Channel: "echo", Chat: chat.Chat{ID: "anna", Kind: chat.Direct}, Sender: chat.Sender{ID: "anna"}, Text: id},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pair has a stranger ask.
func (b *bundle) pair(t *testing.T, channel, user, code string) {
	t.Helper()
	now := time.Now()
	created, err := b.store.RequestPairing(b.ctx, domain.Pairing{
		Channel: channel, User: chat.UserID(user), Code: code, Name: user, Chat: chat.ID(user), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}, 10, time.Time{}, domain.OutboxItem{To: chat.Address{Channel: channel, Chat: chat.ID(user)}, Text: code})
	if err != nil || !created {
		t.Fatal(created, err)
	}
}

// wantError fails unless the error has the text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %q", err, text)
	}
}

func TestStatusAndPlugins(t *testing.T) {
	t.Parallel()
	b := setup(t, &config.Plugin{Label: "echo", Enabled: true}, &config.Plugin{Label: "telegram"})
	b.plugins.Entry("echo").Update(func(s *plugins.Status) {
		s.State, s.Doing, s.Kinds, s.PID, s.Connection = plugins.Running, "reads", []string{"channel"}, 7, chat.Connected
	})
	since := b.plugins.Entry("echo").Status().Since.UTC()
	plugins := []admin.Plugin{
		{Name: "echo", State: "running", Detail: "reads", Kinds: []string{"channel"}, PID: 7, Since: since, Connection: "connected"},
		{Name: "telegram", State: "disabled"},
	}
	b.accept(t, "1")
	b.accept(t, "2")
	for _, key := range []string{"agent:server:echo:anna", "agent:gone:echo:anna"} { // one of them the config has no more
		b.acceptFor(t, key, "3 "+key)
	}
	command := domain.Inbound{
		EventID: "4", Session: "agent:server:echo:ben", Lane: domain.CommandLane,
		Message: domain.Message{Channel: "echo", Chat: chat.Chat{ID: "ben", Kind: chat.Direct}, Text: "/draw"},
	}
	if _, err := b.store.Accept(b.ctx, command); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	begun, ended := make(endless, 1), make(chan struct{})
	go func() {
		defer close(ended)
		b.turns.Run(ctx, begun)
	}()
	defer func() { cancel(); <-ended }()
	<-begun // the turn
	<-begun // and the command, in any order
	b.giveUp(t)
	if _, err := b.store.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: chat.Address{Channel: "echo", Chat: "anna"}, Text: "waits"}); err != nil {
		t.Fatal(err)
	}
	b.run(t)

	got, err := b.Status(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Problems) != 1 || got.Problems[0].Code != health.DeadLetters {
		t.Errorf("problems: %+v", got.Problems)
	}
	got.Problems = nil
	want := admin.Status{
		Version: "1", Demo: true, Running: 1, Started: time.Unix(5, 0).UTC(), Claude: admin.Claude{
			Command: "claude", Idle: 2, Version: "2.1.331", Login: "logged in", Account: "claude.ai",
			Memory: 3, MaxMemory: 4, MachineMemory: 6, AvailableMemory: 5,
			Parked: []admin.Parked{{At: time.Unix(7, 0).UTC(), Session: "echo:anna", Why: "shortage"}},
		}, Plugins: plugins,
		PID: os.Getpid(), Waiting: 3, Pending: 1, Dead: 1,
		Agents: []admin.Agent{
			{Label: "main", Workspace: "/home", OpenTo: "owners", Running: []string{"echo:anna"}, Waiting: 1},
			{Label: "server", Description: "the API server", Workspace: "/src", Model: "opus", OpenTo: "allowed", Running: []string{}, Waiting: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	list, err := b.Plugins(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plugins, list); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}

// endless has runs go on until they are ended.
type endless chan struct{}

// Handle implements [dispatch.Handler].
func (e endless) Handle(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
	e <- struct{}{}
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	b := setup(t, &config.Plugin{Label: "echo", Enabled: true}, &config.Plugin{Label: "web", Enabled: true})
	b.run(t)
	if links, err := b.Links(b.ctx); err != nil || links == nil || len(links) > 0 {
		t.Errorf("without a link: %+v, %v", links, err)
	}
	b.plugins.Entry("web").Update(func(s *plugins.Status) { s.URL = "http://127.0.0.1/#t" })
	links, err := b.Links(b.ctx)
	if diff := cmp.Diff([]admin.Link{{Name: "web", Link: "http://127.0.0.1/#t"}}, links); err != nil || diff != "" {
		t.Errorf("links, %v (-want +got):\n%s", err, diff)
	}
}

// giveUp gives up an item for a chat that is gone.
func (b *bundle) giveUp(t *testing.T) {
	t.Helper()
	if _, err := b.store.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: chat.Address{Channel: "echo", Chat: "gone", Thread: "7"}, Text: "lost"}); err != nil {
		t.Fatal(err)
	}
	deliveries, err := b.store.ClaimDeliveries(b.ctx, "echo", 10)
	if err != nil || len(deliveries) != 1 {
		t.Fatal(deliveries, err)
	}
	if err := b.store.DeadLetter(b.ctx, deliveries[0].ID, "chat not found"); err != nil {
		t.Fatal(err)
	}
}

// With -json the lines of the log are JSON, whatever its format.
// Behaviour: program-json.
func TestLogLinesAsJSON(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		b := setup(t)
		b.log = recentlog.New(io.Discard)
		b.run(t)
		hclog.New(&hclog.LoggerOptions{Name: "clawhost", Output: b.log, JSONFormat: asJSON}).Named("turn").Warn("a turn\nends", "took", 5)
		fmt.Fprintln(b.log, "goroutine 7")
		var lines []map[string]any
		if err := b.Logs(b.ctx, admin.LogRequest{Lines: 10, JSON: true}, func(line string) {
			var value map[string]any
			if err := json.Unmarshal([]byte(line), &value); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			lines = append(lines, value)
		}); err != nil || len(lines) != 2 {
			t.Fatalf("%v, %v", lines, err)
		}
		first := lines[0]
		if at, err := time.Parse("2006-01-02T15:04:05.999999999Z0700", fmt.Sprint(first["time"])); err != nil || time.Since(at) > time.Hour ||
			first["level"] != "warn" || first["module"] != "clawhost.turn" || !strings.HasPrefix(fmt.Sprint(first["message"]), "a turn\nends") {
			t.Errorf("JSON %t: %v, %v", asJSON, first, err)
		}
		if diff := cmp.Diff(map[string]any{"message": "goroutine 7"}, lines[1]); diff != "" {
			t.Errorf("no line of the logger (-want +got):\n%s", diff)
		}
	}
}

func TestRestartPlugin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	if err := b.RestartPlugin(b.ctx, "echo"); err != nil || len(b.restarted) != 1 {
		t.Errorf("restarted %q, %v", b.restarted, err)
	}
	for _, name := range []string{"nobody", "", ".", "..", "a/b", "a?b=c&d", "ü"} {
		wantError(t, b.RestartPlugin(b.ctx, name), fmt.Sprintf("no plugin %q is enabled", name))
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	queue, err := b.Queue(b.ctx)
	if err != nil || queue.Lanes == nil || queue.Destinations == nil || len(queue.Lanes)+len(queue.Destinations) != 0 {
		t.Errorf("an empty queue: %+v, %v", queue, err)
	}
	if dead, err := b.Dead(b.ctx); err != nil || dead == nil || len(dead) != 0 {
		t.Errorf("nothing is dead: %+v, %v", dead, err)
	}

	b.accept(t, "1")
	b.accept(t, "2")
	b.giveUp(t)
	if _, err := b.store.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: chat.Address{Channel: "echo", Chat: "anna"}, Text: "waits"}); err != nil {
		t.Fatal(err)
	}
	b.acceptFor(t, "agent:server:echo:anna", "3")
	queue, err = b.Queue(b.ctx)
	if err != nil || len(queue.Lanes) != 2 || len(queue.Destinations) != 1 {
		t.Fatalf("%+v, %v", queue, err)
	}
	if l := queue.Lanes[1]; l.Session != "agent:server:echo:anna" || l.Agent != "server" || l.Waiting != 1 {
		t.Errorf("lane %+v", l)
	}
	if l := queue.Lanes[0]; l.Session != "echo:anna" || l.Agent != "main" || l.Lane != domain.TurnLane || l.Waiting != 2 || l.Running || time.Since(l.Since) > time.Hour {
		t.Errorf("lane %+v", l)
	}
	if d := queue.Destinations[0]; d.To != (chat.Address{Channel: "echo", Chat: "anna"}) || d.Pending != 1 {
		t.Errorf("destination %+v", d)
	}
	dead, err := b.Dead(b.ctx)
	if err != nil || len(dead) != 1 {
		t.Fatalf("%+v, %v", dead, err)
	}
	if d := dead[0]; d.To != (chat.Address{Channel: "echo", Chat: "gone", Thread: "7"}) || d.Text != "lost" || d.Error != "chat not found" {
		t.Errorf("dead %+v", d)
	}
}

func TestDeadMessagesAreSentAgainOrForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	left := func(dead, pending int) {
		t.Helper()
		status, err := b.Status(b.ctx)
		if err != nil || status.Dead != dead || status.Pending != pending {
			t.Errorf("%d are dead and %d pending, %v; want %d and %d", status.Dead, status.Pending, err, dead, pending)
		}
	}
	for range 3 {
		b.giveUp(t)
	}
	dead, err := b.Dead(b.ctx)
	if err != nil || len(dead) != 3 {
		t.Fatalf("dead are %+v, %v", dead, err)
	}
	for name, call := range map[string]func(context.Context, int64) (int, error){"retry": b.RetryDead, "drop": b.DropDead} {
		if n, err := call(b.ctx, 999); n != 0 || err == nil || !strings.Contains(err.Error(), "`clawhost queue dead` lists them") {
			t.Errorf("%s of one that is not there: %d, %v", name, n, err)
		}
	}
	if n, err := b.DropDead(b.ctx, dead[0].ID); n != 1 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	left(2, 0)
	if n, err := b.RetryDead(b.ctx, dead[1].ID); n != 1 || err != nil {
		t.Errorf("%d are tried again, %v", n, err)
	}
	left(1, 1)
	if n, err := b.RetryDead(b.ctx, 0); n != 1 || err != nil {
		t.Errorf("%d are tried again, %v", n, err)
	}
	left(0, 2)
	if n, err := b.DropDead(b.ctx, 0); n != 0 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	left(0, 2)
}

// Behaviour: tools-private.
func TestSessionsAndTranscript(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	if sessions, err := b.Sessions(b.ctx, ""); err != nil || sessions == nil || len(sessions) != 0 {
		t.Errorf("no sessions: %+v, %v", sessions, err)
	}
	_, err := b.Transcript(b.ctx, "echo:anna", 0)
	wantError(t, err, "there is no session \"echo:anna\"; `clawhost sessions` lists them")

	for _, session := range []string{"agent:server:echo:anna", "echo:anna", "echo:bo%3Ab&c=d"} {
		_, err := b.store.Accept(b.ctx, domain.Inbound{
			EventID: chat.EventID(session), Session: session, Lane: domain.TurnLane,
			Message: domain.Message{Channel: "echo", Chat: chat.Chat{ID: "c", Kind: chat.Direct, Title: session}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sessions, err := b.Sessions(b.ctx, "")
	if err != nil || len(sessions) != 3 || sessions[0].Agent != "server" || sessions[1].Agent != "main" {
		t.Fatalf("%+v, %v", sessions, err)
	}
	sessions = sessions[1:]
	if sessions[0].Key != "echo:anna" || sessions[0].Kind != "direct" || sessions[0].Title != "echo:anna" || sessions[0].ClaudeSession == "" {
		t.Fatalf("%+v, %v", sessions, err)
	}
	if rest, err := b.Sessions(b.ctx, "echo:anna"); err != nil || len(rest) != 1 || rest[0].Key != sessions[1].Key {
		t.Errorf("%+v, %v", rest, err)
	}
	if rest, err := b.Transcript(b.ctx, sessions[1].Key, 0); err != nil || rest == nil || len(rest) != 0 {
		t.Errorf("a session in which nothing was said: %+v, %v", rest, err)
	}

	if uses, err := b.ToolUses(b.ctx, sessions[1].Key); err != nil || uses == nil || len(uses) != 0 {
		t.Errorf("a session without a use of a tool: %+v, %v", uses, err)
	}
	used := domain.ToolUse{Turn: "u1", Plugin: "p", Tool: "draw", At: time.UnixMilli(5).UTC(), Took: time.Second, Failed: true, Details: json.RawMessage(`{"a":1}`)}
	if err := b.store.NoteToolUse(b.ctx, "echo:anna", used); err != nil {
		t.Fatal(err)
	}
	if uses, err := b.ToolUses(b.ctx, "echo:anna"); err != nil || cmp.Diff([]domain.ToolUse{used}, uses) != "" {
		t.Errorf("uses of tools: %+v, %v", uses, err)
	}

	at := time.UnixMilli(1_000_000).UTC()
	var want []chat.TranscriptEntry
	for i := range 1002 {
		want = append(want, chat.TranscriptEntry{Role: chat.User, Text: fmt.Sprintf("%d <&> \u2028", i), At: at})
	}
	if _, err := b.store.RecordPassive(b.ctx, domain.Passive{EventID: "said", Channel: "echo", Session: "echo:anna", Transcript: want}); err != nil {
		t.Fatal(err)
	}
	newest, err := b.Transcript(b.ctx, "echo:anna", 0)
	if err != nil || len(newest) != 1000 {
		t.Fatalf("%d entries, %v", len(newest), err)
	}
	older, err := b.Transcript(b.ctx, "echo:anna", newest[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []chat.TranscriptEntry
	for _, e := range append(older, newest...) {
		e.ID = 0
		got = append(got, e.TranscriptEntry)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func TestPairings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	if list, err := b.Pairings(b.ctx); err != nil || list == nil || len(list) != 0 {
		t.Errorf("no one asks: %+v, %v", list, err)
	}
	b.pair(t, "echo", "bob", "AAAAAAAA")
	b.pair(t, "web", "bob", "AAAAAAAA")
	b.pair(t, "echo", "eve", "BBBBBBBB")
	if list, err := b.Pairings(b.ctx); err != nil || len(list) != 3 || list[0].Name != "bob" {
		t.Errorf("%+v, %v", list, err)
	}

	_, err := b.ApprovePairing(b.ctx, "", "AAAAAAAA")
	wantError(t, err, "name the channel")
	_, err = b.ApprovePairing(b.ctx, "telegram", "AAAAAAAA")
	wantError(t, err, "no request with the code AAAAAAAA is pending on telegram; `clawhost pairing list` shows those that are")
	_, err = b.RejectPairing(b.ctx, "", "CCCCCCCC")
	wantError(t, err, "no request with the code CCCCCCCC is pending; `clawhost pairing list` shows those that are")

	if p, err := b.ApprovePairing(b.ctx, "echo", "AAAAAAAA"); err != nil || p.User != "bob" || p.Channel != "echo" {
		t.Errorf("approved %+v, %v", p, err)
	}
	if p, err := b.RejectPairing(b.ctx, "", "BBBBBBBB"); err != nil || p.User != "eve" {
		t.Errorf("rejected %+v, %v", p, err)
	}
	for user, want := range map[string][2]bool{"bob": {true, false}, "eve": {false, false}} {
		for i, channel := range []string{"echo", "web"} {
			if got, err := b.store.Allowed(b.ctx, channel, chat.UserID(user)); err != nil || got != want[i] {
				t.Errorf("%s on %s may write: %v, %v", user, channel, got, err)
			}
		}
	}
	deliveries, err := b.store.ClaimDeliveries(b.ctx, "echo", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deliveries { // the first piece of each chat; bob's is his code
		if err := b.store.Delivered(b.ctx, d.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	welcome, err := b.store.ClaimDeliveries(b.ctx, "echo", 10)
	if err != nil || len(welcome) != 1 || !strings.HasPrefix(welcome[0].Item.Text, "Welcome, bob.") {
		t.Errorf("%+v, %v", welcome, err)
	}
}

func TestStoreErrorsAreReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"status":   func() error { _, err := b.Status(b.ctx); return err },
		"queue":    func() error { _, err := b.Queue(b.ctx); return err },
		"dead":     func() error { _, err := b.Dead(b.ctx); return err },
		"retry":    func() error { _, err := b.RetryDead(b.ctx, 1); return err },
		"drop":     func() error { _, err := b.DropDead(b.ctx, 0); return err },
		"sessions": func() error { _, err := b.Sessions(b.ctx, ""); return err },
		"history":  func() error { _, err := b.Transcript(b.ctx, "x", 0); return err },
		"pairings": func() error { _, err := b.Pairings(b.ctx); return err },
		"approve":  func() error { _, err := b.ApprovePairing(b.ctx, "", "AAAAAAAA"); return err },
		"reject":   func() error { _, err := b.RejectPairing(b.ctx, "", "AAAAAAAA"); return err },
	} {
		if err := call(); err == nil || errors.Is(err, admin.ErrNotRunning) || strings.Contains(err.Error(), "there is no") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Status(b.ctx); !errors.Is(err, admin.ErrNotRunning) {
		t.Errorf("no socket: %v", err)
	}
	b.leaveSocket(t)
	if _, err := b.Status(b.ctx); !errors.Is(err, admin.ErrNotRunning) {
		t.Errorf("a socket that a killed host left: %v", err)
	}
}

// leaveSocket leaves a socket as a host does that was killed.
func (b *bundle) leaveSocket(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", b.socket())
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestControlSocket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.leaveSocket(t)
	if err := os.Chmod(b.socket(), 0o777); err != nil {
		t.Fatal(err)
	}
	b.run(t)
	if _, err := b.Plugins(b.ctx); err != nil {
		t.Errorf("the old socket is in the way: %v", err)
	}
	info, err := os.Stat(b.socket())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info.Mode(), err)
	}
	b.stop()
	if _, err := os.Stat(b.socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket outlives the server: %v", err)
	}
}

func TestAPeerIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who the peer is")
	}
	b := setup(t)
	b.pair(t, "echo", "eve", "BBBBBBBB")
	b.run(t) // whose own look at the socket is let in
	b.stop()
	var asked []int
	var mu sync.Mutex
	refusing := true
	b.refuse = func(pid int) bool {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, pid)
		return refusing
	}
	b.run(t)
	if p, err := b.ApprovePairing(b.ctx, "echo", "BBBBBBBB"); err == nil || errors.Is(err, admin.ErrNotRunning) {
		t.Errorf("approved %+v, %v", p, err)
	}
	mu.Lock()
	if len(asked) < 2 || asked[1] != os.Getpid() {
		t.Errorf("asked of the processes %v, want %d", asked, os.Getpid())
	}
	refusing = false
	mu.Unlock()
	// One that was refused does not keep others out, and has done nothing.
	if p, err := b.ApprovePairing(b.ctx, "echo", "BBBBBBBB"); err != nil || p.User != "eve" {
		t.Errorf("approved %+v, %v", p, err)
	}
}

// What no client of ours sends is answered, and ends nothing.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", b.socket())
	}}}
	t.Cleanup(client.CloseIdleConnections)
	b.accept(t, "1")
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/", http.StatusNotFound},
		{http.MethodGet, "/v1/pairings/approve?code=AAAAAAAA", http.StatusMethodNotAllowed},
		{http.MethodPost, "/v1/status", http.StatusMethodNotAllowed},
		{http.MethodGet, "/v1/transcript?session=echo:anna&before=x", http.StatusInternalServerError},
		{http.MethodGet, "/v1/transcript?session=echo:anna&before=-9", http.StatusOK},
		{http.MethodGet, "/v1/transcript", http.StatusNotFound},
		{http.MethodPost, "/v1/pairings/approve", http.StatusNotFound},
		{http.MethodGet, "/v1/../../etc/passwd", http.StatusNotFound},
	} {
		request, err := http.NewRequestWithContext(b.ctx, test.method, "http://clawhost"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("%s %s: %v", test.method, test.path, err)
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode != test.want {
			t.Errorf("%s %s: %d, want %d", test.method, test.path, response.StatusCode, test.want)
		}
	}
	if _, err := b.Status(b.ctx); err != nil {
		t.Error(err)
	}
}

// However soon the host closes a connection, the client says that it does not answer.
func TestAConnectionThatIsClosedAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	})
	defer accepting.Wait()
	defer listener.Close()
	for range 1000 {
		if _, err := admin.NewClient(path).ApprovePairing(t.Context(), "", "ABCDEFGH"); !errors.Is(err, admin.ErrNoAnswer) {
			t.Fatalf("a call says %v", err)
		}
	}
}

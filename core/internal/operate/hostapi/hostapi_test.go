package hostapi_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/operate/hostapi"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// start is when the clock of the inbox stands still.
var start = time.Date(2026, 3, 15, 14, 30, 0, 0, time.UTC)

// patience is how long a test waits for what must happen. No test is quicker or slower by it.
const patience = 20 * time.Second

// maxMedia is the largest file of the tests.
const maxMedia = 200_000

// bundle is a host's services over a real store and a real inbox.
type bundle struct {
	store   *store.Store
	media   string // the folder
	closing chan struct{}
	log     *journal.Journal
	api     *hostapi.API
	early   *early
	kept    *files.Store
}

// early notes in which sessions turns are expected.
type early struct {
	mu       sync.Mutex
	expected []string
}

func (e *early) Expect(session string, _ domain.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expected = append(e.expected, session)
}

// taken returns the sessions that were noted since the last call.
func (e *early) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.expected = nil }()
	return e.expected
}

// setup returns services for two instances: "granted" may reach the channel "echo", "echo" only itself.
func setup(t *testing.T) *bundle {
	t.Helper()
	s, running := storetest.Open(t), registry()
	b := &bundle{store: s, media: filepath.Join(t.TempDir(), "media"), closing: make(chan struct{}), log: &journal.Journal{}, early: &early{}}
	log := hclog.New(&hclog.LoggerOptions{Output: b.log, Level: hclog.Debug})
	c := &config.Config{
		Settings: config.Settings{
			Session: config.Session{Scope: "per-channel-peer"},
			Inbound: config.Inbound{MaxAge: time.Hour, Drop: true},
			Access:  config.Access{Owners: []string{"echo:anna", "granted:anna"}, DM: "pairing", Groups: "disabled"},
		},
		Send:  config.Send{Default: "allow"},
		Agent: config.Agent{Label: session.MainAgent, Timezone: time.UTC},
	}
	conversations := conversation.NewResolver(c, running, s)
	intake := inbox.NewIntake(s, nil, conversations, func() time.Time { return start }, log)
	messages := inbox.New(intake, inbox.Options{
		Commands: command.New(nil, nil, command.Host{}), Questions: permission.New(permission.Options{Store: s}, log),
		Observers: hook.NewObservers(running, log), Owners: notice.NewOwners(s, conversations, running, log), Early: b.early, Debounce: debounce.New(),
		Turns: dispatch.New(s, dispatch.Options{}, log), Zone: time.UTC,
	})
	kept := files.NewStore(files.Options{Dir: b.media, Rows: s, MaxBytes: maxMedia})
	b.kept = kept
	b.api = hostapi.New(hostapi.Options{
		Inbox: messages, Store: s, Plugins: running, Closing: b.closing,
		Gateway: gateway.New(gateway.Options{
			Store: s, Conversations: conversations, Plugins: running, Intake: intake, Closing: b.closing, Files: kept,
			Commands: command.New(nil, nil, command.Host{Plugins: running}),
		}, log),
		Files: kept,
	}, log)
	return b
}

// registry has two channels and two plugins with hooks, all of which run.
func registry() *plugins.Registry {
	r := plugins.New([]*config.Plugin{
		{Label: "echo", Enabled: true},
		{Label: "granted", Enabled: true, Grants: []string{"echo"}},
		{Label: "hook", Enabled: true, Grants: []string{"echo"}},
		{Label: "reader", Enabled: true, ReadTranscripts: true},
		{Label: "waker", Enabled: true},
	})
	for name, can := range map[string]remote.Capability{
		"echo": remote.Channel, "granted": remote.Channel, "hook": remote.BeforeAgentStart, "reader": remote.TranscriptAppended,
		"waker": remote.WakeUp,
	} {
		p := &plugins.Plugin{
			Name: name, Description: remote.Description{Capabilities: []remote.Capability{can}},
			Reported: map[chat.Kind]chat.Limits{chat.Direct: {}, chat.Group: {}},
		}
		switch name {
		case "echo":
			p.Reported[chat.Direct] = chat.Limits{
				Buttons: chat.ButtonLimits{Rows: 3, Columns: 2, DataBytes: 64}, MediaOut: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 1000}},
			}
		case "granted":
			p.Description.Commands = []chat.CommandSpec{{Name: "note"}}
		}
		r.Entry(name).Update(func(s *plugins.Status) { s.Kinds = plugins.Kinds(p.Description) })
		r.Entry(name).Publish(p)
	}
	return r
}

// connect returns an instance's connection.
func (b *bundle) connect(t *testing.T, instance string) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(handshake.ServerOptions()...)
	b.api.Register(instance, server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // its error says that it was stopped
	options := append(handshake.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///host", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		serving.Wait()
	})
	return conn
}

// wantCode fails unless the error has the code.
func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("code %v (%v), want %v", got, err, want)
	}
}

// event is a message of anna's.
func event(id, text string) *pluginv1.Event {
	return &pluginv1.Event{
		EventId: id, Chat: &pluginv1.Chat{Id: "anna", Kind: pluginv1.ChatKind_CHAT_KIND_DIRECT}, Sender: &pluginv1.Sender{Id: "anna"},
		HappenedAt: timestamppb.New(start), Body: &pluginv1.Event_Message{Message: &pluginv1.Message{Id: id, Text: text}},
	}
}

// claim claims the next turn.
func (b *bundle) claim(t *testing.T) *domain.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var run *domain.Run
	if err := b.store.Claim(ctx, domain.TurnLane, domain.Anybodys, func(claimed *domain.Run) { run = claimed }); err != nil {
		t.Fatal("no turn is ready: ", err)
	}
	return run
}

// idle fails if a turn waits.
func (b *bundle) idle(t *testing.T) {
	t.Helper()
	lanes, err := b.store.Lanes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lanes {
		if l.Lane == domain.TurnLane && !l.Running {
			t.Errorf("a turn waits: %+v", l)
		}
	}
}

// address is a chat of a channel; empty: of the instance's own.
func address(channel, id string) *pluginv1.Address {
	return &pluginv1.Address{Channel: channel, ChatId: id}
}

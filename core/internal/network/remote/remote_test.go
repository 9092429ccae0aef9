package remote_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// nasty is a plugin that gives the answers of the test, and fails each call with err where that is set.
type nasty struct {
	pluginv1.UnimplementedPluginServer
	pluginv1.UnimplementedChannelServer
	pluginv1.UnimplementedCommandsServer
	pluginv1.UnimplementedHooksServer
	pluginv1.UnimplementedToolsServer

	err          error
	described    *pluginv1.DescribeResponse
	configured   *pluginv1.ConfigureResponse
	health       *pluginv1.CheckHealthResponse
	capabilities *pluginv1.GetCapabilitiesResponse
	sent         *pluginv1.SendMessageResponse
	typing       *pluginv1.SetTypingResponse
	refusal      *pluginv1.Failure // of an edit, a deletion, a reaction and a draft
	commands     *pluginv1.SetCommandsResponse
	requests     []proto.Message // what the calls that keep it were given
	listed       *pluginv1.ListToolsResponse
	result       *pluginv1.CallToolResponse
	reports      []*pluginv1.RunResponse
	steps        []*pluginv1.LoginResponse
	parts        []*pluginv1.FetchFileResponse
	reply        string
	prepend      string
}

func (n *nasty) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return n.described, n.err
}

func (n *nasty) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	return n.configured, n.err
}

func (n *nasty) CheckHealth(context.Context, *pluginv1.CheckHealthRequest) (*pluginv1.CheckHealthResponse, error) {
	return n.health, n.err
}

func (n *nasty) Shutdown(context.Context, *pluginv1.ShutdownRequest) (*pluginv1.ShutdownResponse, error) {
	return &pluginv1.ShutdownResponse{}, n.err
}

func (n *nasty) GetCapabilities(context.Context, *pluginv1.GetCapabilitiesRequest) (*pluginv1.GetCapabilitiesResponse, error) {
	return n.capabilities, n.err
}

func (n *nasty) SendMessage(context.Context, *pluginv1.SendMessageRequest) (*pluginv1.SendMessageResponse, error) {
	return n.sent, n.err
}

func (n *nasty) Login(_ *pluginv1.LoginRequest, stream grpc.ServerStreamingServer[pluginv1.LoginResponse]) error {
	for _, step := range n.steps {
		if err := stream.Send(step); err != nil {
			return err
		}
	}
	return n.err
}

func (n *nasty) SetTyping(context.Context, *pluginv1.SetTypingRequest) (*pluginv1.SetTypingResponse, error) {
	return n.typing, n.err
}

func (n *nasty) EditMessage(_ context.Context, r *pluginv1.EditMessageRequest) (*pluginv1.EditMessageResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.EditMessageResponse{Failure: n.refusal}, n.err
}

func (n *nasty) DeleteMessage(_ context.Context, r *pluginv1.DeleteMessageRequest) (*pluginv1.DeleteMessageResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.DeleteMessageResponse{Failure: n.refusal}, n.err
}

func (n *nasty) ReactToMessage(_ context.Context, r *pluginv1.ReactToMessageRequest) (*pluginv1.ReactToMessageResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.ReactToMessageResponse{Failure: n.refusal}, n.err
}

func (n *nasty) PinMessage(_ context.Context, r *pluginv1.PinMessageRequest) (*pluginv1.PinMessageResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.PinMessageResponse{Failure: n.refusal}, n.err
}

func (n *nasty) UpdateDraft(_ context.Context, r *pluginv1.UpdateDraftRequest) (*pluginv1.UpdateDraftResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.UpdateDraftResponse{Failure: n.refusal}, n.err
}

func (n *nasty) SetCommands(_ context.Context, r *pluginv1.SetCommandsRequest) (*pluginv1.SetCommandsResponse, error) {
	n.requests = append(n.requests, r)
	return n.commands, n.err
}

func (n *nasty) MessageReceived(ctx context.Context, r *pluginv1.MessageReceivedRequest) (*pluginv1.MessageReceivedResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.MessageReceivedResponse{}, n.late(ctx)
}

func (n *nasty) TranscriptAppended(ctx context.Context, r *pluginv1.TranscriptAppendedRequest) (*pluginv1.TranscriptAppendedResponse, error) {
	n.requests = append(n.requests, r)
	return &pluginv1.TranscriptAppendedResponse{}, n.late(ctx)
}

// late is the error of a call without a deadline, or else the plugin's.
func (n *nasty) late(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New("the call has no deadline")
	}
	return n.err
}

// Run sends the reports and ends.
func (n *nasty) Run(_ *pluginv1.RunRequest, out grpc.ServerStreamingServer[pluginv1.RunResponse]) error {
	for _, r := range n.reports {
		if err := out.Send(r); err != nil {
			return err
		}
	}
	return n.err
}

func (n *nasty) RunCommand(context.Context, *pluginv1.RunCommandRequest) (*pluginv1.RunCommandResponse, error) {
	return &pluginv1.RunCommandResponse{Reply: n.reply}, n.err
}

func (n *nasty) BeforeAgentStart(context.Context, *pluginv1.BeforeAgentStartRequest) (*pluginv1.BeforeAgentStartResponse, error) {
	return &pluginv1.BeforeAgentStartResponse{PrependContext: n.prepend, ConversationContext: n.prepend}, n.err
}

// connect serves the plugin and returns the host's side of it. Stop ends the plugin.
func connect(t *testing.T, n *nasty) (plugin *remote.Plugin, stop func()) {
	t.Helper()
	return connectTools(t, n, n)
}

// connectTools serves the plugin with the tools of another one.
func connectTools(t *testing.T, n *nasty, tools pluginv1.ToolsServer) (plugin *remote.Plugin, stop func()) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(handshake.ServerOptions()...)
	pluginv1.RegisterPluginServer(server, n)
	pluginv1.RegisterChannelServer(server, n)
	pluginv1.RegisterCommandsServer(server, n)
	pluginv1.RegisterHooksServer(server, n)
	pluginv1.RegisterToolsServer(server, tools)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // its error says that it was stopped
	conn, err := grpc.NewClient("passthrough:///plugin", append(handshake.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		server.Stop()
		serving.Wait()
	}
	t.Cleanup(func() { _ = conn.Close(); stop() })
	return remote.New(conn), stop
}

func send(ctx context.Context, p *remote.Plugin) (chat.Receipt, error) {
	return p.Send(ctx, chat.Outgoing{Key: "k", To: chat.Address{Chat: "c"}, Text: "hello"})
}

// calls are all calls of a plugin.
func calls(ctx context.Context, p *remote.Plugin) map[string]func() error {
	return map[string]func() error{
		"Describe":           func() error { _, err := p.Describe(ctx, "1"); return err },
		"Configure":          func() error { _, err := p.Configure(ctx, remote.Configuration{}); return err },
		"CheckHealth":        func() error { _, err := p.CheckHealth(ctx); return err },
		"Shutdown":           func() error { return p.Shutdown(ctx, time.Second) },
		"Limits":             func() error { _, err := p.Limits(ctx, remote.Description{}, chat.Direct); return err },
		"Run":                func() error { return p.Run(ctx, func(remote.Report) {}) },
		"Send":               func() error { _, err := send(ctx, p); return err },
		"Typing":             func() error { return p.Typing(ctx, chat.Address{Chat: "c"}, true) },
		"Edit":               func() error { return p.Edit(ctx, chat.Address{Chat: "c"}, "1", "x", nil) },
		"Delete":             func() error { return p.Delete(ctx, chat.Address{Chat: "c"}, "1") },
		"React":              func() error { return p.React(ctx, chat.Address{Chat: "c"}, "1", "👍") },
		"Pin":                func() error { return p.Pin(ctx, chat.Address{Chat: "c"}, "1", true) },
		"Draft":              func() error { return p.Draft(ctx, chat.Address{Chat: "c"}, 1, "x") },
		"RunCommand":         func() error { _, _, err := p.RunCommand(ctx, remote.CommandCall{Name: "x"}); return err },
		"MessageReceived":    func() error { return p.MessageReceived(ctx, chat.Caller{}, chat.Message{}) },
		"TranscriptAppended": func() error { return p.TranscriptAppended(ctx, "s", nil) },
		"CallTool":           func() error { _, err := p.CallTool(ctx, chat.ToolCall{Name: "x"}); return err },
		"Login":              func() error { _, err := p.Login(ctx, nil, func(chat.LoginStep) {}); return err },
		"SetCommands":        func() error { return p.SetCommands(ctx, nil) },
		"BeforeAgentStart":   func() error { _, _, err := p.BeforeAgentStart(ctx, "1", chat.Caller{}, "hello"); return err },
	}
}

func TestErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want error // in the chain of the error
		text string
	}{
		"away":          {status.Error(codes.Unavailable, "shutting down"), remote.ErrGone, "shutting down"},
		"no account":    {status.Error(codes.FailedPrecondition, "the token was revoked"), remote.ErrTerminal, "the token was revoked"},
		"cancelled":     {status.Error(codes.Canceled, "x"), context.Canceled, ""},
		"too late":      {status.Error(codes.DeadlineExceeded, "x"), context.DeadlineExceeded, ""},
		"its own error": {status.Error(codes.Aborted, "open index: it is damaged"), nil, "open index: it is damaged"},
		"a panic":       {status.Error(codes.Internal, "panic in Send"), nil, "the plugin failed (Internal): panic in Send"},
		"no such call":  {status.Error(codes.Unimplemented, "not mine"), errors.ErrUnsupported, "not mine"},
		"a plain one":   {errors.New("oops"), nil, "the plugin failed (Unknown): oops"},
		"a novel":       {status.Error(codes.Internal, strings.Repeat("é", 10_000)), nil, "the plugin failed (Internal): é"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := connect(t, &nasty{err: test.err})
			for call, do := range calls(t.Context(), p) {
				err := do()
				if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%s: %v", call, err)
					continue
				}
				if len(err.Error()) > 2*wire.MaxDetail || !utf8.ValidString(err.Error()) {
					t.Errorf("%s: an error of %d bytes", call, len(err.Error()))
				}
				if _, isStatus := status.FromError(err); isStatus {
					t.Errorf("%s: gRPC's error reaches the host: %v", call, err)
				}
				if failure := (*chat.Failure)(nil); errors.As(err, &failure) {
					t.Errorf("%s: a broken plugin is no refusal of the network: %v", call, err)
				}
			}
		})
	}
}

func TestAPluginThatHasEndedIsGone(t *testing.T) {
	t.Parallel()
	p, stop := connect(t, &nasty{})
	stop()
	for call, do := range calls(t.Context(), p) {
		if err := do(); !errors.Is(err, remote.ErrGone) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	p, _ := connect(t, &nasty{described: &pluginv1.DescribeResponse{
		Name: strings.Repeat("n", 1000), Version: strings.Repeat("ü", 1000), ConfigSchemaJson: []byte(`{}`),
		Capabilities: []pluginv1.Capability{0, pluginv1.Capability_CAPABILITY_CHANNEL, 9999, -1},
		Commands:     []*pluginv1.CommandSpec{{Name: "roll", Summary: strings.Repeat("s", 1000), LeastAuthority: 99}},
	}})
	got, err := p.Describe(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	want := remote.Description{
		Name: strings.Repeat("n", wire.MaxName), Version: strings.Repeat("ü", wire.MaxName/2), Schema: []byte(`{}`),
		Capabilities: []remote.Capability{remote.Channel}, Unknown: []int32{0, 9999, -1},
		Commands: []chat.CommandSpec{{Name: "roll", Summary: strings.Repeat("s", wire.MaxName), MinAuthority: chat.Owner}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestDescribeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		described *pluginv1.DescribeResponse
		want      string
	}{
		"a huge schema":         {&pluginv1.DescribeResponse{ConfigSchemaJson: make([]byte, 1<<20+1)}, "schema"},
		"many commands":         {&pluginv1.DescribeResponse{Commands: slices.Repeat([]*pluginv1.CommandSpec{{Name: "a"}}, 101)}, "101 commands"},
		"many capabilities":     {&pluginv1.DescribeResponse{Capabilities: slices.Repeat([]pluginv1.Capability{4242}, 1_000_000)}, "1000000 capabilities"},
		"a command with spaces": {&pluginv1.DescribeResponse{Commands: []*pluginv1.CommandSpec{{Name: "rm -rf"}}}, `"rm -rf"`},
		"a message too large":   {&pluginv1.DescribeResponse{ConfigSchemaJson: make([]byte, 17<<20)}, "larger than max"},
	} {
		p, _ := connect(t, &nasty{described: test.described})
		if got, err := p.Describe(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 2*wire.MaxDetail {
			t.Errorf("%s: %+v, %.200v", name, got.Name, err)
		}
	}
}

func TestFindingsAreBoundedAndNoErrorIsHidden(t *testing.T) {
	t.Parallel()
	warning := &pluginv1.Diagnostic{Severity: pluginv1.Diagnostic_SEVERITY_WARNING, Summary: "hm"}
	failure := &pluginv1.Diagnostic{
		Severity: 77, Summary: strings.Repeat("s", 10_000), Detail: strings.Repeat("d", 10_000),
		Path: append([]*pluginv1.PathStep{
			{Step: &pluginv1.PathStep_Name{Name: strings.Repeat("n", 10_000)}}, {Step: &pluginv1.PathStep_Index{Index: math.MinInt64}}, {},
		}, slices.Repeat([]*pluginv1.PathStep{{}}, 10_000)...),
	}
	p, _ := connect(t, &nasty{configured: &pluginv1.ConfigureResponse{
		Diagnostics: append(slices.Repeat([]*pluginv1.Diagnostic{warning}, 5000), failure),
	}})
	found, err := p.Configure(t.Context(), remote.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 100 || found[0].Warning || !found[1].Warning {
		t.Fatalf("%d findings, the first %.100v: the error is hidden by warnings", len(found), found[0])
	}
	first := found[0]
	if len(first.Summary) != wire.MaxDetail || len(first.Detail) != wire.MaxDetail || len(first.Path) != 32 ||
		len(first.Path[0]) != wire.MaxName || first.Path[1] != "-9223372036854775808" || first.Path[2] != "" {
		t.Errorf("a finding of %d and %d bytes with %d steps, %.40q", len(first.Summary), len(first.Detail), len(first.Path), first.Path[:3])
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	p, _ := connect(t, &nasty{health: &pluginv1.CheckHealthResponse{Healthy: true, Detail: strings.Repeat("busy ", 10_000)}})
	if doing, err := p.CheckHealth(t.Context()); err != nil || !strings.HasPrefix(doing, "busy busy") || len(doing) > wire.MaxDetail {
		t.Errorf("%.100q, %v", doing, err)
	}
	p, _ = connect(t, &nasty{health: &pluginv1.CheckHealthResponse{Detail: strings.Repeat("sick ", 10_000)}})
	if doing, err := p.CheckHealth(t.Context()); err == nil || doing != "" || !strings.HasPrefix(err.Error(), "unhealthy: sick") || len(err.Error()) > 2*wire.MaxDetail {
		t.Errorf("%.100v", err)
	}
}

func TestTextsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	p, _ := connect(t, &nasty{reply: long, prepend: long})
	if reply, _, err := p.RunCommand(t.Context(), remote.CommandCall{ID: "\xff", Name: "\xff", Args: "\xff"}); err != nil || len(reply) != wire.MaxText {
		t.Errorf("a reply of %d bytes, %v", len(reply), err)
	}
	if added, once, err := p.BeforeAgentStart(t.Context(), "1", chat.Caller{}, "\xff"); err != nil || len(added) != wire.MaxText || len(once) != wire.MaxText {
		t.Errorf("a context of %d bytes, %v", len(added), err)
	}
}

// TestRequestsToPlugins holds what goes out against what a plugin of the sdk takes.
func TestRequestsToPlugins(t *testing.T) {
	t.Parallel()
	n := &nasty{commands: &pluginv1.SetCommandsResponse{}}
	p, _ := connect(t, n)
	caller := chat.Caller{Session: "s", Address: chat.Address{Chat: "c"}, Kind: chat.Direct, Authority: chat.Owner}
	long := chat.TranscriptEntry{ID: 1, Role: chat.User, Text: strings.Repeat("x", 20<<20)}
	menu := make([]chat.CommandSpec, 2*wire.MaxMenu)
	for i := range menu {
		menu[i] = chat.CommandSpec{Name: fmt.Sprint("c", i), Summary: "\xff"}
	}
	for _, err := range []error{
		p.MessageReceived(t.Context(), caller, chat.Message{Text: "hello \xff"}),
		p.TranscriptAppended(t.Context(), "agent:server:s:1", []chat.TranscriptEntry{long}),
		p.SetCommands(t.Context(), menu),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if got, message, err := wire.MessageReceivedFromProto(n.requests[0].(*pluginv1.MessageReceivedRequest)); err != nil ||
		!cmp.Equal(got, caller) || message.Text != "hello ?" {
		t.Errorf("a message goes out as %+v, %+v, %v", got, message, err)
	}
	label, session, entries, err := wire.TranscriptAppendedFromProto(n.requests[1].(*pluginv1.TranscriptAppendedRequest))
	if err != nil || label != "server" || session != "agent:server:s:1" || len(entries) != 1 || len(entries[0].Text) != wire.MaxEntry {
		t.Errorf("%d entries of session %q, %v", len(entries), session, err)
	}
	commands, err := wire.SetCommandsFromProto(n.requests[2].(*pluginv1.SetCommandsRequest))
	if err != nil || len(commands) != wire.MaxMenu || commands[0].Summary != "?" {
		t.Errorf("%d commands, %v", len(commands), err)
	}
}

func TestWhatIsDoneToMessages(t *testing.T) {
	t.Parallel()
	n := &nasty{}
	p, _ := connect(t, n)
	to := chat.Address{Channel: "tg", Chat: "c", Thread: "7"}
	address := &pluginv1.Address{Channel: "tg", ChatId: "c", ThreadId: "7"}
	for call, err := range map[string]error{
		"edit":   p.Edit(t.Context(), to, "1", "new \xff", [][]chat.Button{{{Label: "Yes", Data: "y"}}}),
		"delete": p.Delete(t.Context(), to, "1"),
		"react":  p.React(t.Context(), to, "1", "👍"),
		"pin":    p.Pin(t.Context(), to, "1", true),
		"draft":  p.Draft(t.Context(), to, -7, "so far \xff"),
	} {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	want := []proto.Message{
		&pluginv1.EditMessageRequest{
			Address: address, MessageId: "1", Text: "new ?",
			Buttons: []*pluginv1.ButtonRow{{Buttons: []*pluginv1.Button{{Label: "Yes", Data: "y"}}}},
		},
		&pluginv1.DeleteMessageRequest{Address: address, MessageId: "1"},
		&pluginv1.ReactToMessageRequest{Address: address, MessageId: "1", Emoji: "👍"},
		&pluginv1.PinMessageRequest{Address: address, MessageId: "1", Pinned: true},
		&pluginv1.UpdateDraftRequest{Address: address, DraftId: -7, Text: "so far ?"},
	}
	if diff := cmp.Diff(want, n.requests, protocmp.Transform()); diff != "" {
		t.Errorf("the plugin gets (-want +got):\n%s", diff)
	}
	n.refusal = &pluginv1.Failure{Reason: pluginv1.Reason_REASON_TARGET_GONE, RetryAfter: durationpb.New(1000 * time.Hour)}
	for call, err := range map[string]error{
		"edit":   p.Edit(t.Context(), to, "1", "new", nil),
		"delete": p.Delete(t.Context(), to, "1"),
		"react":  p.React(t.Context(), to, "1", ""),
		"pin":    p.Pin(t.Context(), to, "1", false),
		"draft":  p.Draft(t.Context(), to, 7, ""),
	} {
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.TargetGone || f.RetryAfter != 24*time.Hour {
			t.Errorf("%s of a message that is gone: %v", call, err)
		}
	}
}

func TestAMenuThatIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := connect(t, &nasty{commands: &pluginv1.SetCommandsResponse{Failure: &pluginv1.Failure{
		Reason: pluginv1.Reason_REASON_RATE_LIMITED, RetryAfter: durationpb.New(1000 * time.Hour), Message: strings.Repeat("m", 10_000),
	}}})
	err := p.SetCommands(t.Context(), nil)
	f, ok := errors.AsType[*chat.Failure](err)
	if !ok || f.Reason != chat.RateLimited || f.RetryAfter != 24*time.Hour || len(err.Error()) > 2*wire.MaxDetail {
		t.Errorf("%.100v", err)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	secret := "http://127.0.0.1:7080/#token=abc"
	p, _ := connect(t, &nasty{reports: []*pluginv1.RunResponse{
		{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTED, Detail: "here", OpenUrl: secret},
		{State: 4242, Detail: "of a newer protocol"},
		{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTING, Detail: strings.Repeat("d", 10_000), OpenUrl: "\x1b]0;owned\a"},
		{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTED, OpenUrl: "file:///etc/passwd"},
		{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTED, OpenUrl: "http://host/ with spaces"},
		{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTED, OpenUrl: "http://host/?q=\u202e"},
		{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTED, OpenUrl: "http://host/" + strings.Repeat("x", 10_000)},
	}})
	var got []remote.Report
	err := p.Run(t.Context(), func(r remote.Report) { got = append(got, r) })
	if err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("a channel that ended: %v", err)
	}
	want := []remote.Report{
		{State: chat.Connected, Detail: "here", URL: secret},
		{State: chat.Connecting, Detail: strings.Repeat("d", wire.MaxDetail)},
		{State: chat.Connected},
		{State: chat.Connected},
		{State: chat.Connected},
		{State: chat.Connected},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestRunEndsWellWithItsContext(t *testing.T) {
	t.Parallel()
	p, _ := connect(t, &nasty{reports: []*pluginv1.RunResponse{{State: pluginv1.ChannelState_CHANNEL_STATE_CONNECTED}}})
	ctx, cancel := context.WithCancel(t.Context())
	if err := p.Run(ctx, func(remote.Report) { cancel() }); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p, _ := connect(t, &nasty{capabilities: &pluginv1.GetCapabilitiesResponse{
		Text: &pluginv1.TextLimit{Max: math.MaxUint32, Unit: 99}, Markup: 99, Draft: 99,
		TypingTtl: durationpb.New(1), Edit: &pluginv1.EditLimits{Window: &durationpb.Duration{Seconds: -5}, MinInterval: &durationpb.Duration{Seconds: math.MaxInt64}},
		Buttons: &pluginv1.ButtonLimits{Rows: math.MaxUint32},
		MediaIn: []*pluginv1.MediaLimit{{Kind: 99, MaxBytes: -1}},
	}})
	got, err := p.Limits(t.Context(), remote.Description{}, chat.Group)
	if err != nil {
		t.Fatal(err)
	}
	want := chat.Limits{
		Text: chat.TextLimit{Max: math.MaxInt32, Unit: chat.Bytes}, Markup: chat.Plain, Draft: chat.NoDraft, TypingTTL: time.Second,
		Buttons: chat.ButtonLimits{Rows: math.MaxInt32}, MediaIn: []chat.MediaLimit{{Kind: chat.File}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	p, _ = connect(t, &nasty{capabilities: &pluginv1.GetCapabilitiesResponse{MediaOut: slices.Repeat([]*pluginv1.MediaLimit{{}}, 17)}})
	if _, err := p.Limits(t.Context(), remote.Description{}, chat.Group); err == nil {
		t.Error("17 media limits were taken")
	}
}

// A channel shows drafts as far as it can do what they need.
// Behaviour: stream.
func TestDraftsNeedTheirCapability(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		claimed pluginv1.DraftKind
		can     []remote.Capability
		want    chat.Draft
	}{
		{pluginv1.DraftKind_DRAFT_KIND_NATIVE, []remote.Capability{remote.Edit, remote.Draft}, chat.NativeDraft},
		{pluginv1.DraftKind_DRAFT_KIND_NATIVE, []remote.Capability{remote.Draft}, chat.NativeDraft},
		{pluginv1.DraftKind_DRAFT_KIND_NATIVE, []remote.Capability{remote.Edit}, chat.DraftByEdit},
		{pluginv1.DraftKind_DRAFT_KIND_NATIVE, nil, chat.NoDraft},
		{pluginv1.DraftKind_DRAFT_KIND_BY_EDIT, []remote.Capability{remote.Edit}, chat.DraftByEdit},
		{pluginv1.DraftKind_DRAFT_KIND_BY_EDIT, []remote.Capability{remote.Draft}, chat.NoDraft},
		{pluginv1.DraftKind_DRAFT_KIND_NONE, []remote.Capability{remote.Edit, remote.Draft}, chat.NoDraft},
		{pluginv1.DraftKind_DRAFT_KIND_UNSPECIFIED, []remote.Capability{remote.Edit, remote.Draft}, chat.NoDraft},
	} {
		p, _ := connect(t, &nasty{capabilities: &pluginv1.GetCapabilitiesResponse{Draft: tt.claimed}})
		limits, err := p.Limits(t.Context(), remote.Description{Capabilities: tt.can}, chat.Direct)
		if err != nil || limits.Draft != tt.want {
			t.Errorf("%s of a channel that can %v: %v, %v, want %v", tt.claimed, tt.can, limits.Draft, err, tt.want)
		}
	}
}

// Each capability of the protocol has one of the host's, and no two have the same.
func TestEveryCapabilityIsKnown(t *testing.T) {
	t.Parallel()
	var all []pluginv1.Capability
	for number := range pluginv1.Capability_name {
		if number != 0 {
			all = append(all, pluginv1.Capability(number))
		}
	}
	p, _ := connect(t, &nasty{described: &pluginv1.DescribeResponse{Capabilities: all}})
	d, err := p.Describe(t.Context(), "1")
	if err != nil || len(d.Unknown) > 0 {
		t.Fatalf("unknown are %v: %v", d.Unknown, err)
	}
	slices.Sort(d.Capabilities)
	if distinct := slices.Compact(slices.Clone(d.Capabilities)); len(distinct) != len(all) {
		t.Errorf("%d capabilities become %v", len(all), d.Capabilities)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	sent := func(ids ...string) *pluginv1.SendMessageResponse {
		return &pluginv1.SendMessageResponse{Outcome: &pluginv1.SendMessageResponse_Sent{Sent: &pluginv1.Sent{MessageIds: ids}}}
	}
	for name, test := range map[string]struct {
		answer *pluginv1.SendMessageResponse
		want   []chat.MessageID
	}{
		"with ids":    {sent("1", "2"), []chat.MessageID{"1", "2"}},
		"without ids": {sent(), nil},
		// What was sent must not be sent again for the sake of its ids.
		"with an empty id": {sent("1", ""), nil},
		"with a long id":   {sent(strings.Repeat("i", 1000)), nil},
		"with many ids":    {sent(slices.Repeat([]string{"i"}, 1000)...), nil},
	} {
		p, _ := connect(t, &nasty{sent: test.answer})
		receipt, err := send(t.Context(), p)
		if err != nil || !slices.Equal(receipt.IDs, test.want) {
			t.Errorf("%s: %d ids, %v", name, len(receipt.IDs), err)
		}
	}
	p, _ := connect(t, &nasty{sent: &pluginv1.SendMessageResponse{}})
	_, err := send(t.Context(), p)
	if failure := (*chat.Failure)(nil); err == nil || errors.As(err, &failure) {
		t.Errorf("neither sent nor failed: %v, want an outcome that is not known", err)
	}
}

func TestRefusalsOfTheNetwork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure *pluginv1.Failure
		want    chat.Failure
		text    int // bytes of what the network said
	}{
		"a limit": {
			&pluginv1.Failure{
				Reason: pluginv1.Reason_REASON_RATE_LIMITED, RetryAfter: durationpb.New(3 * time.Second), Delivery: pluginv1.Delivery_DELIVERY_NOT_DELIVERED, Message: "slow",
			},
			chat.Failure{Reason: chat.RateLimited, RetryAfter: 3 * time.Second},
			4,
		},
		"nothing said":            {&pluginv1.Failure{}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, 0},
		"an unknown reason":       {&pluginv1.Failure{Reason: 99, Delivery: 99}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, 0},
		"an age of patience":      {&pluginv1.Failure{RetryAfter: &durationpb.Duration{Seconds: 9_000_000_000}}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, RetryAfter: 24 * time.Hour}, 0},
		"an impossible patience":  {&pluginv1.Failure{RetryAfter: &durationpb.Duration{Seconds: math.MaxInt64}}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, 0},
		"a patience of the past":  {&pluginv1.Failure{RetryAfter: durationpb.New(-time.Hour)}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, 0},
		"a novel of explanations": {&pluginv1.Failure{Message: strings.Repeat("m", 10_000)}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, wire.MaxDetail},
	} {
		p, _ := connect(t, &nasty{
			sent:   &pluginv1.SendMessageResponse{Outcome: &pluginv1.SendMessageResponse_Failure{Failure: test.failure}},
			typing: &pluginv1.SetTypingResponse{Failure: test.failure},
		})
		_, err := send(t.Context(), p)
		for call, err := range map[string]error{"send": err, "typing": p.Typing(t.Context(), chat.Address{Chat: "c"}, true)} {
			var got *chat.Failure
			if !errors.As(err, &got) {
				t.Errorf("%s, %s: %v is no failure", name, call, err)
				continue
			}
			said := ""
			if got.Err != nil {
				said = fmt.Sprint(got.Err)
			}
			if got.Reason != test.want.Reason || got.MaybeDelivered != test.want.MaybeDelivered || got.RetryAfter != test.want.RetryAfter || len(said) != test.text {
				t.Errorf("%s, %s: %+v, want %+v and %d bytes of text", name, call, got, test.want, test.text)
			}
		}
	}
}

// Package sdktest runs a plugin in a test: served over gRPC within the process, as [sdk.Serve] would serve it, with a host
// that the test controls. [New] returns the harness for your own tests; [Exercise] contains the tests that every channel
// must pass.
package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Instance is the label under which the harness configures a plugin.
const Instance = "test"

// Agent is the agent that the harness's own callers write to.
const Agent = "main"

// patience limits each wait of the harness. After it the test fails and says what was seen instead.
const patience = 10 * time.Second

// brokerID is the id of the only brokered connection, from the plugin to the host.
const brokerID = 1

// Harness is a plugin under test. Its methods fail the test if the plugin violates the protocol; errors that the protocol
// allows they return. It is shut down when the test ends.
type Harness struct {
	// Host is the host of the plugin.
	Host *Host
	// StateDir is the state folder that Configure gives to the plugin; empty: a new one each time. It may be set before
	// Configure, to the folder of a previous process.
	StateDir string
	// Workspace is the agent's working folder that Configure tells the plugin; empty: none, as an older host does. It may be
	// set before Configure.
	Workspace string
	// Demo is what Configure tells the plugin of who answers. It may be set before Configure.
	Demo bool
	// Before simulates an older host, which neither fetches files by their tokens, nor takes conversation contexts of hooks,
	// nor runs untrusted turns, nor learns who is typing, nor takes rich posts and turns. It may be set before Configure.
	Before bool

	t        testing.TB
	label    string // marks the goroutines of the plugin
	logs     *recorder
	conn     *grpc.ClientConn
	plugin   pluginv1.PluginClient
	channel  pluginv1.ChannelClient
	commands pluginv1.CommandsClient
	hooks    pluginv1.HooksClient
	tools    pluginv1.ToolsClient
	runs     chan struct{} // one entry for each Run that returned in the plugin
	failed   <-chan error
	stop     func() // idempotent
}

// New serves a plugin made of these components. It is not configured yet.
func New(t testing.TB, components ...sdk.Component) *Harness {
	t.Helper()
	logs := &recorder{}
	plugin, err := sdk.NewPlugin("test", "0.0.0", logs, components...)
	if err != nil {
		t.Fatal(err)
	}
	h := &Harness{
		Host:   newHost(),
		t:      t,
		label:  fmt.Sprintf("%s-%p", t.Name(), logs),
		logs:   logs,
		runs:   make(chan struct{}, 16),
		failed: plugin.Failed(),
	}
	hostPipe, pluginPipe := bufconn.Listen(1<<20), bufconn.Listen(1<<20)
	hostServer := h.Host.server()
	pluginServer := plugin.NewServer([]grpc.ServerOption{grpc.StreamInterceptor(h.noteRun)})
	plugin.Register(pluginServer, func(id uint32, options ...grpc.DialOption) (*grpc.ClientConn, error) {
		if id != brokerID {
			return nil, fmt.Errorf("the host has no connection %d", id)
		}
		return dial(hostPipe, options...)
	})
	var serving sync.WaitGroup
	serving.Go(func() { _ = hostServer.Serve(hostPipe) })
	serving.Go(func() {
		// Goroutines inherit the label from the goroutine that starts them, so those of the plugin can be identified.
		pprof.Do(context.Background(), pprof.Labels("sdktest", h.label), func(context.Context) { _ = pluginServer.Serve(pluginPipe) })
	})
	// The response to a call may arrive after that to Shutdown, which waited for the call.
	var calls sync.RWMutex
	underWay := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		calls.RLock()
		defer calls.RUnlock()
		return invoke(ctx, method, request, reply, conn, options...)
	}
	if h.conn, err = dial(pluginPipe, append(handshake.DialOptions(), grpc.WithUnaryInterceptor(underWay))...); err != nil {
		t.Fatal(err)
	}
	h.plugin, h.channel = pluginv1.NewPluginClient(h.conn), pluginv1.NewChannelClient(h.conn)
	h.commands, h.hooks = pluginv1.NewCommandsClient(h.conn), pluginv1.NewHooksClient(h.conn)
	h.tools = pluginv1.NewToolsClient(h.conn)
	h.stop = sync.OnceFunc(func() {
		h.shutdown()
		calls.Lock()
		_ = h.conn.Close()
		calls.Unlock()
		pluginServer.Stop()
		hostServer.Stop()
		serving.Wait()
	})
	t.Cleanup(func() {
		h.stop()
		if t.Failed() {
			t.Logf("logs of the plugin:\n%s", h.logs)
		}
	})
	return h
}

func dial(pipe *bufconn.Listener, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///pipe", append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
	)...)
}

// noteRun records that a Run has returned in the plugin, which the host's end of the stream does not show.
func (h *Harness) noteRun(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod == pluginv1.Channel_Run_FullMethodName {
		defer func() {
			select {
			case h.runs <- struct{}{}:
			default: // that many are never stopped
			}
		}()
	}
	return handle(server, stream)
}

// Description is a plugin's description of itself.
type Description struct {
	Name, Version string
	Capabilities  []string // names of the protocol, such as "CAPABILITY_CHANNEL_EDIT"
	Schema        []byte   // JSON Schema; empty: the plugin takes no config
	Commands      []sdk.CommandSpec
}

// Describe returns the plugin's description.
func (h *Harness) Describe() Description {
	h.t.Helper()
	r, err := h.plugin.Describe(h.t.Context(), &pluginv1.DescribeRequest{HostVersion: "test"})
	if err != nil {
		h.t.Fatalf("Describe: %v", h.note(err))
	}
	d := Description{Name: r.GetName(), Version: r.GetVersion(), Schema: r.GetConfigSchemaJson()}
	for _, c := range r.GetCapabilities() {
		d.Capabilities = append(d.Capabilities, c.String())
	}
	for _, c := range r.GetCommands() {
		spec, err := wire.CommandSpecFromProto(c)
		if err != nil {
			h.t.Fatalf("Describe: %v", err)
		}
		d.Commands = append(d.Commands, spec)
	}
	return d
}

// Diagnostic is an error in a config.
type Diagnostic struct {
	Path    string // such as "endpoint.url" or "list[2]"; empty: the config as a whole
	Summary string
}

// Configure configures the plugin and fails the test if the plugin refuses the config. Config is JSON as a string, or
// anything that marshals to it; nil is an empty config.
func (h *Harness) Configure(config any) {
	h.t.Helper()
	diagnostics, err := h.TryConfigure(config)
	if err != nil || len(diagnostics) > 0 {
		h.t.Fatalf("the plugin refuses its config: %v, %v", diagnostics, err)
	}
}

// TryConfigure configures the plugin and returns its diagnostics. An error means that the plugin could not start, and a
// host would retry.
func (h *Harness) TryConfigure(config any) ([]Diagnostic, error) {
	h.t.Helper()
	stateDir := h.StateDir
	if stateDir == "" {
		stateDir = h.t.TempDir()
	}
	if h.Before {
		h.Host.OnTyping(func(context.Context, chat.Typing) error {
			return status.Error(codes.Unimplemented, "the host is older")
		})
	}
	r, err := h.plugin.Configure(h.t.Context(), &pluginv1.ConfigureRequest{
		ConfigJson:    h.marshal(config),
		HostBrokerId:  brokerID,
		Instance:      Instance,
		StateDir:      stateDir,
		Workspace:     h.Workspace,
		Demo:          h.Demo,
		FetchesFiles:  !h.Before,
		RunsUntrusted: !h.Before,

		TakesRichRequests: !h.Before,
	})
	if err != nil {
		return nil, h.note(err)
	}
	var list []Diagnostic
	for _, d := range r.GetDiagnostics() {
		if d.GetSeverity() == pluginv1.Diagnostic_SEVERITY_UNSPECIFIED || d.GetSummary() == "" {
			h.t.Errorf("a diagnostic without severity or text: %v", d)
		}
		_ = h.note(errors.New(d.GetSummary() + d.GetDetail()))
		list = append(list, Diagnostic{Path: pathString(d.GetPath()), Summary: d.GetSummary()})
	}
	return list, nil
}

// Forget has the plugin, in place of configuring it, delete what it keeps of a person in [Harness.StateDir], and returns what it says that
// still has them. The person's Instance and StateDir are set to the harness's.
func (h *Harness) Forget(config any, p sdk.Person) (left []string, err error) {
	h.t.Helper()
	if !slices.Contains(h.Describe().Capabilities, "CAPABILITY_FORGET") {
		h.t.Fatal("the config's struct is no sdk.Forgetter")
	}
	request := &pluginv1.ForgetRequest{ConfigJson: h.marshal(config), Instance: Instance, StateDir: h.StateDir, Names: p.Names}
	for _, u := range p.Users {
		request.Users = append(request.Users, &pluginv1.User{Channel: u.Channel, Id: string(u.ID)})
	}
	r, err := h.plugin.Forget(h.t.Context(), request)
	if err != nil {
		return nil, h.note(err)
	}
	return r.GetLeft(), nil
}

func (h *Harness) marshal(config any) []byte {
	h.t.Helper()
	switch c := config.(type) {
	case nil:
		return []byte("{}")
	case string:
		return []byte(c)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		h.t.Fatal(err)
	}
	return raw
}

func pathString(steps []*pluginv1.PathStep) string {
	var b strings.Builder
	for _, s := range steps {
		switch step := s.GetStep().(type) {
		case *pluginv1.PathStep_Index:
			fmt.Fprintf(&b, "[%d]", step.Index)
		case *pluginv1.PathStep_Name:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step.Name)
		}
	}
	return b.String()
}

// Command uses a slash command. A call without a chat comes from an owner in a direct chat.
func (h *Harness) Command(call sdk.CommandCall) (string, error) {
	h.t.Helper()
	reply, err := h.Reply(call)
	return reply.Text, err
}

// Reply is Command with the buttons of the reply.
func (h *Harness) Reply(call sdk.CommandCall) (sdk.Reply, error) {
	h.t.Helper()
	r, err := h.commands.RunCommand(h.t.Context(), &pluginv1.RunCommandRequest{
		Id: call.ID, Name: call.Name, Args: call.Args, Caller: wire.CallerToProto(h.callerOr(call.Caller)),
	})
	if err != nil {
		return sdk.Reply{}, h.note(err)
	}
	buttons, err := wire.ButtonsFromProto(r.GetButtons())
	if err != nil {
		h.t.Fatalf("RunCommand: %v", err)
	}
	return sdk.Reply{Text: r.GetReply(), Buttons: buttons}, nil
}

// BeforeAgentStart calls the hook. A start without a chat is an owner's in a direct chat.
func (h *Harness) BeforeAgentStart(start sdk.AgentStart) (sdk.AgentContext, error) {
	h.t.Helper()
	r, err := h.hooks.BeforeAgentStart(h.t.Context(), &pluginv1.BeforeAgentStartRequest{
		TurnId: start.TurnID, Caller: wire.CallerToProto(h.callerOr(start.Caller)), Prompt: start.Prompt,
		TakesConversationContext: !h.Before,
	})
	return sdk.AgentContext{Prepend: r.GetPrependContext(), Conversation: r.GetConversationContext()}, h.note(err)
}

// MessageReceived calls the plugin's message observer. A message without a chat is an owner's in a direct chat.
func (h *Harness) MessageReceived(received sdk.MessageReceived) error {
	h.t.Helper()
	_, err := h.hooks.MessageReceived(h.t.Context(), wire.MessageReceivedToProto(h.callerOr(received.Caller), received.Message))
	return h.note(err)
}

// TranscriptAppended calls the plugin's transcript observer. Without a session it uses an owner's. After an error a host
// would send the entries again; here that is up to the test.
func (h *Harness) TranscriptAppended(appended sdk.TranscriptAppended) error {
	h.t.Helper()
	if appended.Session == "" {
		own := h.callerOr(chat.Caller{})
		appended.Agent, appended.Session = own.Agent, own.Session
	}
	_, err := h.hooks.TranscriptAppended(h.t.Context(), wire.TranscriptAppendedToProto(appended.Agent, appended.Session, appended.Entries))
	return h.note(err)
}

func (h *Harness) callerOr(c chat.Caller) chat.Caller {
	if c.Address.Chat != "" {
		return c
	}
	return chat.Caller{
		Session:   Instance + ":owner",
		Address:   chat.Address{Channel: Instance, Chat: "chat"},
		Kind:      chat.Direct,
		Sender:    chat.Sender{ID: "owner", DisplayName: "Owner"},
		Authority: chat.Owner,
		Agent:     Agent,
		Workspace: h.Workspace,
	}
}

// Health calls the plugin's health check; nil is healthy.
func (h *Harness) Health() error {
	h.t.Helper()
	r, err := h.plugin.CheckHealth(h.t.Context(), &pluginv1.CheckHealthRequest{})
	if err == nil && !r.GetHealthy() {
		err = errors.New(r.GetDetail())
	}
	return h.note(err)
}

// Status returns what the plugin says that it is doing.
func (h *Harness) Status() string {
	h.t.Helper()
	r, err := h.plugin.CheckHealth(h.t.Context(), &pluginv1.CheckHealthRequest{})
	if err != nil || !r.GetHealthy() {
		h.t.Fatalf("the plugin is not healthy: %s, %v", r.GetDetail(), h.note(err))
	}
	return r.GetDetail()
}

// Failed receives the error of a service that ended too early; under Serve the process would end.
func (h *Harness) Failed() <-chan error { return h.failed }

// Shutdown drains the plugin and ends it. Further calls have no effect.
func (h *Harness) Shutdown() {
	h.t.Helper()
	h.stop()
}

func (h *Harness) shutdown() {
	// The test's context has ended when this runs in cleanup.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := h.plugin.Shutdown(ctx, &pluginv1.ShutdownRequest{Grace: durationpb.New(patience)})
	if err != nil {
		h.t.Errorf("Shutdown: %v", h.note(err))
	}
}

// Logs returns what the plugin has logged so far, as JSON lines.
func (h *Harness) Logs() string { return h.logs.String() }

// note records an error of the plugin for the search for secrets, and returns it.
func (h *Harness) note(err error) error {
	if err != nil {
		_, _ = fmt.Fprintf(&h.logs.errors, "%v\n", err)
	}
	return err
}

// Panicked reports whether an error of the harness comes from a panic of the plugin.
func Panicked(err error) bool {
	return status.Code(err) == codes.Internal && strings.Contains(err.Error(), "panic")
}

// recorder records what is written.
type recorder struct {
	buffer
	errors buffer
}

type buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

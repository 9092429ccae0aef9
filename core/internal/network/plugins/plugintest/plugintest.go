// Package plugintest runs plugins of the sdk within a test as the host sees them: over gRPC, but without a process of their own.
package plugintest

import (
	"context"
	"maps"
	"net"
	"path"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
)

// Registry returns a registry of enabled plugins in this order. None of them runs.
func Registry(names ...string) *plugins.Registry {
	var list []*config.Plugin
	for _, name := range names {
		list = append(list, &config.Plugin{Label: name, Enabled: true})
	}
	return plugins.New(list)
}

// Channels returns a registry of channels that have reported their limits, the same in each kind of chat. None of them runs.
func Channels(limits map[string]chat.Limits) *plugins.Registry {
	r := Registry(slices.Sorted(maps.Keys(limits))...)
	for name, l := range limits {
		reported := map[chat.Kind]chat.Limits{0: l, chat.Direct: l, chat.Group: l, chat.Broadcast: l}
		r.Entry(name).Publish(&plugins.Plugin{Name: name, Reported: reported})
		r.Entry(name).Publish(nil)
	}
	return r
}

// Process is a plugin that runs within a test.
type Process struct {
	*plugins.Plugin

	entry *plugins.Entry
	kill  func()

	mu       sync.Mutex // guards the following, by the names of calls in the protocol
	handlers map[string]grpc.UnaryHandler
	held     map[string]chan struct{}
}

// Run starts a plugin of the registry. It runs until the test ends, or another process of it does.
func Run(t testing.TB, r *plugins.Registry, name string, components ...sdk.Component) *Process {
	t.Helper()
	p := Start(t, name, components...)
	p.Enter(r)
	return p
}

// Start starts a plugin that no registry knows.
func Start(t testing.TB, name string, components ...sdk.Component) *Process {
	t.Helper()
	plugin, err := sdk.NewPlugin("test", "1", t.Output(), components...)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{handlers: map[string]grpc.UnaryHandler{}, held: map[string]chan struct{}{}}
	pipe, server := bufconn.Listen(1<<20), plugin.NewServer([]grpc.ServerOption{grpc.UnaryInterceptor(p.intercept)})
	p.kill = server.Stop
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	t.Cleanup(server.Stop)
	dial := func(_ uint32, options ...grpc.DialOption) (*grpc.ClientConn, error) {
		conn, err := grpc.NewClient("passthrough:///pipe", append(options,
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
		)...)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
		return conn, err
	}
	plugin.Register(server, dial)
	serving.Go(func() { _ = server.Serve(pipe) }) // its error says that it was stopped
	conn, err := dial(0, append(handshake.DialOptions(), grpc.WithUnaryInterceptor(p.hold))...)
	if err != nil {
		t.Fatal(err)
	}
	host := remote.New(conn)
	description, err := host.Describe(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Configure(t.Context(), remote.Configuration{Config: []byte("{}"), Instance: name}); err != nil {
		t.Fatal(err)
	}
	if p.Plugin, err = plugins.Open(t.Context(), name, "", host, description); err != nil {
		t.Fatal(err)
	}
	return p
}

// Enter makes the plugin the one that runs under its name.
func (p *Process) Enter(r *plugins.Registry) {
	p.entry = r.Entry(p.Name)
	p.entry.Update(func(s *plugins.Status) { s.State, s.Kinds = plugins.Running, plugins.Kinds(p.Description) })
	p.entry.Publish(p.Plugin)
}

// Leave ends the plugin as the host knows it: it waits for its next start.
func (p *Process) Leave() {
	p.entry.Update(func(s *plugins.Status) { s.State = plugins.Waiting })
	p.entry.Publish(nil)
}

// Kill ends the plugin without the host's notice.
func (p *Process) Kill() { p.kill() }

// Handle answers a call of the protocol, such as "ListTools", in place of the sdk, so that it can be answered as no plugin of the
// sdk would. Nil: the sdk answers again.
func (p *Process) Handle(call string, handle grpc.UnaryHandler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers[call] = handle
}

// Hold keeps calls from returning to the host, although they have been answered, until release is called.
func (p *Process) Hold(call string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.held[call] = held
	return func() { close(held) }
}

func (p *Process) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	call := path.Base(info.FullMethod)
	p.mu.Lock()
	if own := p.handlers[call]; own != nil {
		handle = own
	}
	p.mu.Unlock()
	return handle(ctx, request)
}

// hold is the host's end of the calls.
func (p *Process) hold(
	ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, response, conn, options...)
	p.mu.Lock()
	held := p.held[path.Base(method)]
	p.mu.Unlock()
	if held != nil {
		<-held
	}
	return err
}

// Channel returns a channel as a component.
func Channel[T sdk.Channel](limits chat.Limits, channel T) sdk.Component {
	return sdk.NewChannel(limits, func(context.Context, sdk.Env, struct{}) (T, error) { return channel, nil })
}

// Service returns a value with hooks, tools or commands as a component.
func Service[T any](service T, commands ...sdk.CommandSpec) sdk.Component {
	return sdk.Service(func(context.Context, sdk.Env, struct{}) (T, error) { return service, nil }, commands...)
}

// Idle is a channel that receives nothing, and loses what it is to send.
type Idle struct{}

// Run implements [sdk.Channel].
func (Idle) Run(ctx context.Context, _ sdk.Inbox) error {
	<-ctx.Done()
	return nil
}

// Send implements [sdk.Channel].
func (Idle) Send(context.Context, chat.Outgoing) (chat.Receipt, error) { return chat.Receipt{}, nil }

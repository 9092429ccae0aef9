package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/wire"
)

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// Plugin is the serving side of a plugin. [Serve] makes one; authors meet it in tests only, through package sdktest.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin

	description *pluginv1.DescribeResponse
	components  []Component
	log         hclog.Logger
	redact      *redactor
	line        *handshake.Line // to the host; nil where it has none

	calls *gate // calls of channel, commands, hooks and tools
	runs  *gate // the channel's Run and the services'
	// life ends when the plugin shuts down.
	life context.Context
	end  context.CancelFunc
	// failed gets the error of a service that gave up.
	failed chan error

	mu          sync.Mutex
	parts       []part           // nil until Configure has succeeded
	conn        *grpc.ClientConn // to the host; nil as long
	fetches     bool             // the host fetches files by their tokens
	configuring bool
	closed      bool
}

// part is an opened component.
type part struct {
	Component

	value any
}

// NewPlugin puts a plugin together. Logs are written as JSON lines, with the config's secrets taken out. The error is the
// author's mistake: a config struct that no schema fits, two channels, a bad name.
func NewPlugin(name, version string, logs io.Writer, components ...Component) (*Plugin, error) {
	if err := validate(name, components); err != nil {
		return nil, err
	}
	redact := &redactor{}
	p := &Plugin{
		description: &pluginv1.DescribeResponse{Name: name, Version: version},
		components:  components,
		redact:      redact,
		calls:       &gate{},
		runs:        &gate{},
		failed:      make(chan error, 1),
		log: hclog.New(&hclog.LoggerOptions{
			Name: name, Level: hclog.Debug, JSONFormat: true, Output: redact.writer(logs),
		}),
	}
	p.life, p.end = context.WithCancel(context.Background())
	told := map[pluginv1.Capability]bool{}
	for _, c := range components {
		for _, capability := range c.capabilities {
			if !told[capability] {
				told[capability] = true
				p.description.Capabilities = append(p.description.Capabilities, capability)
			}
		}
		for _, spec := range c.commands {
			p.description.Commands = append(p.description.Commands, wire.CommandSpecToProto(spec))
		}
		if c.schema != nil {
			raw, err := json.Marshal(c.schema)
			if err != nil {
				return nil, fmt.Errorf("the config of the %s: %w", c.name, err)
			}
			p.description.ConfigSchemaJson = raw
		}
	}
	return p, nil
}

// NewServer makes the gRPC server that the plugin is registered on: it bounds messages, turns a panic into an error of
// the call and keeps secrets out of errors.
func (p *Plugin) NewServer(options []grpc.ServerOption) *grpc.Server {
	options = append(options, handshake.ServerOptions()...)
	return grpc.NewServer(append(options,
		grpc.ChainUnaryInterceptor(p.guardCall),
		grpc.ChainStreamInterceptor(p.guardStream),
	)...)
}

// Register registers the services of the plugin's capabilities, and only those. Dial opens the brokered connection to the
// host.
func (p *Plugin) Register(s grpc.ServiceRegistrar, dial func(id uint32, options ...grpc.DialOption) (*grpc.ClientConn, error)) {
	pluginv1.RegisterPluginServer(s, &pluginServer{Plugin: p, dial: dial})
	if p.serves(pluginv1.Capability_CAPABILITY_CHANNEL) {
		pluginv1.RegisterChannelServer(s, &channelServer{Plugin: p})
	}
	if p.serves(pluginv1.Capability_CAPABILITY_COMMANDS) {
		pluginv1.RegisterCommandsServer(s, &commandsServer{Plugin: p})
	}
	for _, hook := range hooks {
		if p.serves(hook.capability) {
			pluginv1.RegisterHooksServer(s, &hooksServer{Plugin: p})
			break
		}
	}
	if p.serves(pluginv1.Capability_CAPABILITY_TOOLS) {
		pluginv1.RegisterToolsServer(s, &toolsServer{Plugin: p})
	}
}

func (p *Plugin) serves(capability pluginv1.Capability) bool {
	return slices.Contains(p.description.GetCapabilities(), capability)
}

// GRPCServer is called by go-plugin.
func (p *Plugin) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	p.Register(s, broker.DialWithOptions)
	return nil
}

// GRPCClient is called by go-plugin on the host's side, which uses [handshake.Client] instead.
func (p *Plugin) GRPCClient(ctx context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return (&handshake.Client{}).GRPCClient(ctx, broker, conn)
}

// Failed gets the error of a service whose Run ended before it was told to. Under [Serve] the process ends with it, so
// that the host starts it again.
func (p *Plugin) Failed() <-chan error { return p.failed }

// opened returns the opened components; none before Configure has succeeded.
func (p *Plugin) opened() []part {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parts
}

// find returns the opened component of a capability.
func find[T any](p *Plugin, capability pluginv1.Capability) (value T, ok bool) {
	for _, part := range p.opened() {
		if part.has(capability) {
			value, ok = part.value.(T)
			return value, ok
		}
	}
	return value, false
}

package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/internal/serving"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// plugin is the serving side of a plugin.
type plugin struct {
	description *pluginv1.DescribeResponse
	components  []Component
	log         *slog.Logger
	redact      *redactor
	line        *handshake.Line // to the host; nil if the host has none

	calls *gate // calls of channel, commands, hooks and tools
	runs  *gate // the channel's Run and the services'
	// alive ends when the plugin shuts down.
	alive context.Context
	end   context.CancelFunc
	// failed receives the error of a service that ended too early.
	failed chan error

	mu          sync.Mutex
	parts       []part           // nil until Configure has succeeded
	conn        *grpc.ClientConn // to the host; nil until then
	fetches     bool             // the host fetches files by their tokens
	instance    string           // as in [Env]
	share       float64          // of the messages, whose traces the host records
	configuring bool
	closed      bool
}

// part is an opened component.
type part struct {
	Component

	value any
}

// NewPlugin builds a plugin without serving it. Authors call [Serve], and in tests package sdktest, which is the purpose of
// NewPlugin. Logs are written as JSON lines, with the config's secrets redacted. The error is the author's mistake: a
// config struct without a valid schema, two channels, an invalid name.
func NewPlugin(name, version string, logs io.Writer, components ...Component) (serving.Plugin, error) {
	p, err := newPlugin(name, version, logs, components)
	if err != nil {
		return nil, err // not a nil *plugin, which would be a Plugin
	}
	return p, nil
}

func newPlugin(name, version string, logs io.Writer, components []Component) (*plugin, error) {
	if err := validate(name, components); err != nil {
		return nil, err
	}
	redact := &redactor{}
	p := &plugin{
		description: &pluginv1.DescribeResponse{Name: name, Version: version},
		components:  components,
		redact:      redact,
		calls:       &gate{},
		runs:        &gate{},
		failed:      make(chan error, 1),
		log:         slog.New(logHandler{to: redact.writer(logs), module: name}),
	}
	p.alive, p.end = context.WithCancel(context.Background())
	seen := map[pluginv1.Capability]bool{}
	for _, c := range components {
		for _, capability := range c.capabilities {
			if !seen[capability] {
				seen[capability] = true
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

// NewServer implements [serving.Plugin].
func (p *plugin) NewServer(options []grpc.ServerOption) *grpc.Server {
	options = append(options, handshake.ServerOptions()...)
	return grpc.NewServer(append(options,
		grpc.ChainUnaryInterceptor(p.guardCall, traceCall),
		grpc.ChainStreamInterceptor(p.guardStream),
	)...)
}

// Register implements [serving.Plugin].
func (p *plugin) Register(s grpc.ServiceRegistrar, dial serving.Dial) {
	pluginv1.RegisterPluginServer(s, &pluginServer{plugin: p, dial: dial})
	if p.serves(pluginv1.Capability_CAPABILITY_CHANNEL) {
		pluginv1.RegisterChannelServer(s, &channelServer{plugin: p})
	}
	if p.serves(pluginv1.Capability_CAPABILITY_COMMANDS) {
		pluginv1.RegisterCommandsServer(s, &commandsServer{plugin: p})
	}
	for _, hook := range hooks {
		if p.serves(hook.capability) {
			pluginv1.RegisterHooksServer(s, &hooksServer{plugin: p})
			break
		}
	}
	if p.serves(pluginv1.Capability_CAPABILITY_TOOLS) {
		pluginv1.RegisterToolsServer(s, &toolsServer{plugin: p})
	}
	if p.serves(pluginv1.Capability_CAPABILITY_WAKE_UP) {
		pluginv1.RegisterWakerServer(s, &wakerServer{plugin: p, calling: make(chan struct{}, 1)})
	}
	if p.serves(pluginv1.Capability_CAPABILITY_CLI) {
		pluginv1.RegisterCliServer(s, &cliServer{plugin: p})
	}
	if p.serves(pluginv1.Capability_CAPABILITY_HTTP) {
		pluginv1.RegisterHttpServer(s, &httpServer{plugin: p})
	}
}

func (p *plugin) serves(capability pluginv1.Capability) bool {
	return slices.Contains(p.description.GetCapabilities(), capability)
}

// Failed implements [serving.Plugin].
func (p *plugin) Failed() <-chan error { return p.failed }

// opened returns the opened components; none before Configure has succeeded.
func (p *plugin) opened() []part {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parts
}

// find returns the opened component with a capability.
func find[T any](p *plugin, capability pluginv1.Capability) (value T, ok bool) {
	for _, part := range p.opened() {
		if part.has(capability) {
			value, ok = part.value.(T)
			return value, ok
		}
	}
	return value, false
}

// Package remote is the host's side of a running plugin: its services as Go calls in the vocabulary of package chat. All
// responses of a plugin are checked and limited here; gRPC errors are translated here and nowhere else.
package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/span"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ErrGone is returned when the plugin's process or its connection has ended.
var ErrGone = errors.New("the plugin is gone")

// Limits of a plugin's description.
const (
	maxSchema       = 1 << 20
	maxCommands     = 100
	maxCapabilities = 100
	maxDiagnostics  = 100
	maxPath         = 32 // steps from a config's root
)

// Plugin is a running plugin.
type Plugin struct {
	conn     grpc.ClientConnInterface
	plugin   pluginv1.PluginClient
	channel  pluginv1.ChannelClient
	commands pluginv1.CommandsClient
	hooks    pluginv1.HooksClient
	tools    pluginv1.ToolsClient
	waker    pluginv1.WakerClient
	cli      pluginv1.CliClient
	http     pluginv1.HttpClient
}

// New returns the plugin served on a connection.
func New(conn grpc.ClientConnInterface) *Plugin {
	return &Plugin{
		conn:     conn,
		plugin:   pluginv1.NewPluginClient(conn),
		channel:  pluginv1.NewChannelClient(conn),
		commands: pluginv1.NewCommandsClient(conn),
		hooks:    pluginv1.NewHooksClient(conn),
		tools:    pluginv1.NewToolsClient(conn),
		waker:    pluginv1.NewWakerClient(conn),
		cli:      pluginv1.NewCliClient(conn),
		http:     pluginv1.NewHttpClient(conn),
	}
}

// Description is a plugin's description of itself.
type Description struct {
	Name         string
	Version      string
	Schema       []byte // JSON Schema of the config; empty: no config
	Commands     []chat.CommandSpec
	Capabilities []Capability
	Unknown      []int32 // capabilities unknown to this host
}

// Can reports whether the plugin has a capability.
func (d Description) Can(c Capability) bool { return slices.Contains(d.Capabilities, c) }

// Describe returns the plugin's description.
func (p *Plugin) Describe(ctx context.Context, hostVersion string) (Description, error) {
	response, err := p.plugin.Describe(ctx, &pluginv1.DescribeRequest{HostVersion: hostVersion})
	if err != nil {
		return Description{}, translate(err)
	}
	d := Description{
		Name:    wire.Cut(response.GetName(), wire.MaxName),
		Version: wire.Cut(response.GetVersion(), wire.MaxName),
		Schema:  response.GetConfigSchemaJson(),
	}
	if len(d.Schema) > maxSchema {
		return Description{}, fmt.Errorf("the config schema has %d bytes, at most %d are allowed", len(d.Schema), maxSchema)
	}
	if n := len(response.GetCommands()); n > maxCommands {
		return Description{}, fmt.Errorf("%d commands, at most %d are allowed", n, maxCommands)
	}
	if n := len(response.GetCapabilities()); n > maxCapabilities {
		return Description{}, fmt.Errorf("%d capabilities, at most %d are allowed", n, maxCapabilities)
	}
	for _, c := range response.GetCapabilities() {
		if known, ok := capabilities[c]; ok {
			d.Capabilities = append(d.Capabilities, known)
		} else {
			d.Unknown = append(d.Unknown, int32(c))
		}
	}
	for _, c := range response.GetCommands() {
		spec, err := wire.CommandSpecFromProto(c)
		if err != nil {
			return Description{}, fmt.Errorf("commands: %w", err)
		}
		d.Commands = append(d.Commands, spec)
	}
	return d, nil
}

// Diagnostic is a plugin's error or warning about its config.
type Diagnostic struct {
	Warning         bool
	Summary, Detail string
	Path            []string // names, and indices in decimal, from the config's root
}

// Configuration is the configuration of a plugin instance.
type Configuration struct {
	Config    []byte // JSON that matches the schema
	BrokerID  uint32
	Instance  string
	StateDir  string
	Workspace string // the agent's
	Demo      bool   // a stand-in answers
	ServeHTTP bool   // requests are passed on
	// TraceShare is the share of messages whose traces are recorded.
	TraceShare float64
}

// Configure passes the config to the plugin.
func (p *Plugin) Configure(ctx context.Context, c Configuration) ([]Diagnostic, error) {
	if c.TraceShare > 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, span.Share, strconv.FormatFloat(c.TraceShare, 'g', -1, 64))
	}
	response, err := p.plugin.Configure(ctx, &pluginv1.ConfigureRequest{
		ConfigJson: c.Config, HostBrokerId: c.BrokerID, Instance: c.Instance, StateDir: c.StateDir, Workspace: c.Workspace,
		FetchesFiles: true, RunsUntrusted: true, TakesRichRequests: true, Demo: c.Demo, ServesHttp: c.ServeHTTP,
	})
	if err != nil {
		return nil, translate(err)
	}
	return diagnostics(response.GetDiagnostics()), nil
}

// CheckConfig returns the plugin's diagnostics of a config. It requires the capability.
func (p *Plugin) CheckConfig(ctx context.Context, config []byte) ([]Diagnostic, error) {
	response, err := p.plugin.CheckConfig(ctx, &pluginv1.CheckConfigRequest{ConfigJson: config})
	if err != nil {
		return nil, translate(err)
	}
	return diagnostics(response.GetDiagnostics()), nil
}

// Account is an account of a network.
type Account struct {
	Name string // as people of the network see it; empty: unknown
	Link string // of a page by which a person begins to write to it; empty: none
}

// CheckAccount asks the network about the account that a config names. It requires the capability.
func (p *Plugin) CheckAccount(ctx context.Context, config []byte) (Account, []Diagnostic, error) {
	response, err := p.plugin.CheckAccount(ctx, &pluginv1.CheckAccountRequest{ConfigJson: config})
	if err != nil {
		return Account{}, nil, translate(err)
	}
	account := Account{wire.Cut(response.GetName(), wire.MaxName), wire.Cut(response.GetLink(), wire.MaxDetail)}
	return account, diagnostics(response.GetDiagnostics()), nil
}

// Person is whom a plugin forgets.
type Person struct {
	Instance, StateDir string // of the plugin
	Users              []User // all ids of the person
	Names              []string
}

// User is a person on a channel.
type User struct {
	Channel string
	ID      chat.UserID
}

// Forget deletes what a plugin that is not configured keeps of a person, and returns what it says that still has them. It requires the
// capability.
func (p *Plugin) Forget(ctx context.Context, config []byte, who Person) (left []string, err error) {
	request := &pluginv1.ForgetRequest{ConfigJson: config, Instance: who.Instance, StateDir: who.StateDir}
	for _, u := range who.Users {
		request.Users = append(request.Users, &pluginv1.User{Channel: u.Channel, Id: wire.Repair(string(u.ID))})
	}
	for _, name := range who.Names {
		request.Names = append(request.Names, wire.Repair(name))
	}
	response, err := p.plugin.Forget(ctx, request)
	if err != nil {
		return nil, translate(err)
	}
	for _, line := range response.GetLeft()[:min(len(response.GetLeft()), maxDiagnostics)] {
		left = append(left, wire.Cut(line, wire.MaxDetail))
	}
	return left, nil
}

// diagnostics limits a plugin's diagnostics.
func diagnostics(list []*pluginv1.Diagnostic) []Diagnostic {
	var failures, warnings []Diagnostic
	for _, d := range list {
		if d.GetSeverity() == pluginv1.Diagnostic_SEVERITY_WARNING {
			warnings = appendDiagnostic(warnings, d, true)
		} else {
			failures = appendDiagnostic(failures, d, false)
		}
	}
	found := append(failures, warnings...) // many warnings must not hide an error
	return found[:min(len(found), maxDiagnostics)]
}

// appendDiagnostic appends a diagnostic unless the limit is reached.
func appendDiagnostic(list []Diagnostic, d *pluginv1.Diagnostic, warning bool) []Diagnostic {
	if len(list) == maxDiagnostics {
		return list
	}
	diagnostic := Diagnostic{
		Warning: warning, Summary: wire.Cut(d.GetSummary(), wire.MaxDetail), Detail: wire.Cut(d.GetDetail(), wire.MaxDetail),
	}
	for _, step := range d.GetPath()[:min(len(d.GetPath()), maxPath)] {
		diagnostic.Path = append(diagnostic.Path, pathStep(step))
	}
	return append(list, diagnostic)
}

func pathStep(s *pluginv1.PathStep) string {
	if index, ok := s.GetStep().(*pluginv1.PathStep_Index); ok {
		return strconv.FormatInt(index.Index, 10)
	}
	return wire.Cut(s.GetName(), wire.MaxName)
}

// CheckHealth returns what a healthy plugin says that it is doing, and an error for any other.
func (p *Plugin) CheckHealth(ctx context.Context) (doing string, err error) {
	response, err := p.plugin.CheckHealth(ctx, &pluginv1.CheckHealthRequest{})
	if err != nil {
		return "", translate(err)
	}
	detail := wire.Cut(response.GetDetail(), wire.MaxDetail)
	if !response.GetHealthy() {
		return "", fmt.Errorf("unhealthy: %s", detail)
	}
	return detail, nil
}

// Shutdown drains the plugin, which may be killed afterwards.
func (p *Plugin) Shutdown(ctx context.Context, grace time.Duration) error {
	_, err := p.plugin.Shutdown(ctx, &pluginv1.ShutdownRequest{Grace: durationpb.New(grace)})
	return translate(err)
}

// CommandCall is one use of a plugin's slash command.
type CommandCall struct {
	ID         string // the same in each attempt
	Name, Args string
	Caller     chat.Caller
}

// RunCommand calls the plugin's slash command. The caller checks the buttons.
func (p *Plugin) RunCommand(ctx context.Context, c CommandCall) (reply string, buttons [][]chat.Button, err error) {
	response, err := p.commands.RunCommand(ctx, &pluginv1.RunCommandRequest{
		Id: wire.Cut(c.ID, wire.MaxID), Name: wire.Repair(c.Name), Args: wire.Repair(c.Args), Caller: wire.CallerToProto(c.Caller),
	})
	if err != nil {
		return "", nil, translate(err)
	}
	buttons, err = wire.ButtonsFromProto(response.GetButtons())
	return wire.Cut(response.GetReply(), wire.MaxText), buttons, err
}

// translate converts gRPC errors. An operation that a plugin does not support, such as edits, gives
// [errors.ErrUnsupported].
func translate(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	switch s.Code() {
	case codes.Unavailable:
		return fmt.Errorf("%w: %s", ErrGone, wire.Cut(s.Message(), wire.MaxDetail))
	case codes.FailedPrecondition:
		return terminalError{wire.Cut(s.Message(), wire.MaxDetail)}
	case codes.Unimplemented:
		return fmt.Errorf("%w: %s", errors.ErrUnsupported, wire.Cut(s.Message(), wire.MaxDetail))
	case codes.Aborted: // how the sdk passes on an error of the plugin's author
		return errors.New(wire.Cut(s.Message(), wire.MaxDetail))
	case codes.Canceled:
		return context.Canceled
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	default:
		return fmt.Errorf("the plugin failed (%s): %s", s.Code(), wire.Cut(s.Message(), wire.MaxDetail))
	}
}

package sdk

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Component is one thing that a plugin does. [NewChannel], [Service], [Command], [BeforeAgentStart], [Tools], [OnMessage]
// and [OnTranscript] make one, [Serve] serves several. A plugin has at most one channel, one hook of each kind and one
// component with a config.
type Component struct {
	name         string // for messages to the author
	schema       *jsonschema.Schema
	capabilities []pluginv1.Capability
	commands     []CommandSpec
	tools        []AgentTool
	limits       func(chat.Kind) chat.Limits // of a channel
	// open decodes the config and opens the component. The capabilities of the result are found by its interfaces.
	open func(ctx context.Context, env Env, config []byte) (any, error)
	// check validates the config without opening the component; nil if the schema alone decides.
	check func(config []byte) error
	// account asks the network about the config's account; nil: it cannot.
	account func(ctx context.Context, config []byte) (Account, error)
	// forget deletes what is kept of a person; nil: it cannot.
	forget func(ctx context.Context, config []byte, p Person) (left []string, err error)
	err    error // a mistake in the definition; Serve reports it
}

// NewChannel returns a channel component. Open is called once with the checked config, decoded into C; its context ends
// when it returns. If the error of open contains a [ConfigError], the host shows it in the config file; after any other
// error the host restarts the plugin with backoff, unless the error wraps [ErrBadCredentials] or [ErrLoggedOut].
//
// Limits are the same for each kind of chat unless T is a [Limiter].
func NewChannel[C any, T Channel](limits chat.Limits, open func(context.Context, Env, C) (T, error)) Component {
	c := configured("channel", open)
	c.capabilities = append(c.capabilities, pluginv1.Capability_CAPABILITY_CHANNEL)
	c.capabilities = append(c.capabilities, found(reflect.TypeFor[T](), extras)...)
	c.limits = func(chat.Kind) chat.Limits { return limits }
	var zero T
	if limiter, ok := any(zero).(Limiter); ok {
		c.limits = limiter.Limits
	}
	return c
}

// extra is a capability that a type has by implementing an interface.
type extra struct {
	is         reflect.Type
	capability pluginv1.Capability
}

// extras are the optional capabilities of a [Channel].
var extras = []extra{
	{reflect.TypeFor[Editor](), pluginv1.Capability_CAPABILITY_CHANNEL_EDIT},
	{reflect.TypeFor[Deleter](), pluginv1.Capability_CAPABILITY_CHANNEL_DELETE},
	{reflect.TypeFor[Reactor](), pluginv1.Capability_CAPABILITY_CHANNEL_REACT},
	{reflect.TypeFor[Typer](), pluginv1.Capability_CAPABILITY_CHANNEL_TYPING},
	{reflect.TypeFor[Drafter](), pluginv1.Capability_CAPABILITY_CHANNEL_DRAFT},
	{reflect.TypeFor[CommandMenu](), pluginv1.Capability_CAPABILITY_CHANNEL_COMMANDS},
	{reflect.TypeFor[LoginFlow](), pluginv1.Capability_CAPABILITY_CHANNEL_LOGIN},
	{reflect.TypeFor[FileFetcher](), pluginv1.Capability_CAPABILITY_CHANNEL_FETCH},
	{reflect.TypeFor[Historian](), pluginv1.Capability_CAPABILITY_CHANNEL_HISTORY},
	{reflect.TypeFor[MemberLister](), pluginv1.Capability_CAPABILITY_CHANNEL_MEMBERS},
	{reflect.TypeFor[Pinner](), pluginv1.Capability_CAPABILITY_CHANNEL_PIN},
}

// hooks are the hooks that a service may have.
var hooks = []extra{
	{reflect.TypeFor[AgentStarter](), pluginv1.Capability_CAPABILITY_HOOK_BEFORE_AGENT_START},
	{reflect.TypeFor[MessageObserver](), pluginv1.Capability_CAPABILITY_HOOK_MESSAGE_RECEIVED},
	{reflect.TypeFor[TranscriptObserver](), pluginv1.Capability_CAPABILITY_HOOK_TRANSCRIPT_APPENDED},
}

// services are what else a service may do. A plugin has at most one component with each.
var services = []extra{
	{reflect.TypeFor[Waker](), pluginv1.Capability_CAPABILITY_WAKE_UP},
	{reflect.TypeFor[CLI](), pluginv1.Capability_CAPABILITY_CLI},
	{reflect.TypeFor[HTTPServer](), pluginv1.Capability_CAPABILITY_HTTP},
}

// found returns the capabilities of a type.
func found(t reflect.Type, list []extra) (capabilities []pluginv1.Capability) {
	for _, e := range list {
		if t.Implements(e.is) {
			capabilities = append(capabilities, e.capability)
		}
	}
	return capabilities
}

// Service returns a component without a chat network. Its capabilities are found by the interfaces of T: [Runner],
// [CommandRunner] or [CommandReplier] (it answers the commands given here), [AgentStarter], [Toolbox], [MessageObserver],
// [TranscriptObserver], [Waker], [CLI], [HTTPServer], [HealthChecker], [StatusReporter], [Stopper]. Open is called as that of
// [NewChannel].
func Service[C, T any](open func(context.Context, Env, C) (T, error), commands ...CommandSpec) Component {
	c := configured("service", open)
	c.commands = commands
	t := reflect.TypeFor[T]()
	if len(commands) > 0 {
		c.capabilities = append(c.capabilities, pluginv1.Capability_CAPABILITY_COMMANDS)
		if !t.Implements(reflect.TypeFor[CommandRunner]()) && !t.Implements(reflect.TypeFor[CommandReplier]()) {
			c.err = fmt.Errorf("the service has commands, but %s is not an sdk.CommandRunner or an sdk.CommandReplier", t)
		}
	}
	c.capabilities = append(c.capabilities, found(t, slices.Concat(hooks, services))...)
	if t.Implements(reflect.TypeFor[Toolbox]()) {
		c.capabilities = append(c.capabilities, pluginv1.Capability_CAPABILITY_TOOLS)
	}
	return c
}

// Command returns a slash command that needs no config.
func Command(spec CommandSpec, run CommandFunc) Component {
	c := plain("command /"+spec.Name, run)
	c.commands = []CommandSpec{spec}
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_COMMANDS}
	return c
}

// BeforeAgentStart returns a hook that needs no config.
func BeforeAgentStart(f BeforeAgentStartFunc) Component {
	c := plain("before_agent_start hook", f)
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_HOOK_BEFORE_AGENT_START}
	return c
}

// RunCommand calls f; it implements [CommandRunner].
func (f CommandFunc) RunCommand(ctx context.Context, call CommandCall) (string, error) {
	return f(ctx, call)
}

// BeforeAgentStart calls f; it implements [AgentStarter].
func (f BeforeAgentStartFunc) BeforeAgentStart(ctx context.Context, start AgentStart) (AgentContext, error) {
	return f(ctx, start)
}

func plain(name string, value any) Component {
	return Component{name: name, open: func(context.Context, Env, []byte) (any, error) { return value, nil }}
}

func configured[C, T any](name string, open func(context.Context, Env, C) (T, error)) Component {
	schema, err := schemaOf(reflect.TypeFor[C]())
	if err != nil {
		err = fmt.Errorf("the config of the %s: %w", name, err)
	}
	decode := func(raw []byte) (config C, err error) {
		if schema == nil {
			return config, nil
		}
		if err := decodeConfig(raw, schema, &config); err != nil {
			return config, err
		}
		if checker, ok := any(config).(ConfigChecker); ok {
			return config, checker.Check()
		}
		return config, nil
	}
	c := Component{
		name: name, schema: schema, err: err,
		open: func(ctx context.Context, env Env, raw []byte) (any, error) {
			config, err := decode(raw)
			if err != nil {
				return nil, err
			}
			return open(ctx, env, config)
		},
	}
	if schema != nil && reflect.TypeFor[C]().Implements(reflect.TypeFor[ConfigChecker]()) {
		c.capabilities = append(c.capabilities, pluginv1.Capability_CAPABILITY_CHECK_CONFIG)
		c.check = func(raw []byte) error {
			_, err := decode(raw)
			return err
		}
	}
	if schema != nil && reflect.TypeFor[C]().Implements(reflect.TypeFor[AccountChecker]()) {
		c.capabilities = append(c.capabilities, pluginv1.Capability_CAPABILITY_CHECK_ACCOUNT)
		c.account = func(ctx context.Context, raw []byte) (Account, error) {
			config, err := decode(raw)
			if err != nil {
				return Account{}, err
			}
			return any(config).(AccountChecker).CheckAccount(ctx)
		}
	}
	if schema != nil && reflect.TypeFor[C]().Implements(reflect.TypeFor[Forgetter]()) {
		c.capabilities = append(c.capabilities, pluginv1.Capability_CAPABILITY_FORGET)
		c.forget = func(ctx context.Context, raw []byte, p Person) ([]string, error) {
			config, err := decode(raw)
			if err != nil {
				return nil, err
			}
			return any(config).(Forgetter).Forget(ctx, p)
		}
	}
	return c
}

// validate finds mistakes of the author in combining components.
func validate(name string, components []Component) error {
	if len(name) > 64 || !pluginName.MatchString(name) {
		return fmt.Errorf("the plugin's name %q must be at most 64 lower-case letters, digits and hyphens, and begin with a letter", name)
	}
	if len(components) == 0 {
		return errors.New("the plugin has no component")
	}
	var channels, configs int
	var tools []AgentTool
	commands, hooked := map[string]bool{}, map[pluginv1.Capability]bool{}
	for _, c := range components {
		if c.open == nil {
			return errors.New("a component was not made by a function of package sdk, such as NewChannel or Service")
		}
		if c.err != nil {
			return c.err
		}
		if c.limits != nil {
			channels++
		}
		if c.schema != nil {
			configs++
		}
		tools = append(tools, c.tools...)
		for _, one := range slices.Concat(hooks, services) {
			if !c.has(one.capability) {
				continue
			}
			if hooked[one.capability] {
				name := strings.TrimPrefix(strings.TrimPrefix(one.capability.String(), "CAPABILITY_"), "HOOK_")
				return fmt.Errorf("several components of the plugin serve %s; one may", strings.ToLower(name))
			}
			hooked[one.capability] = true
		}
		for _, spec := range c.commands {
			if !wire.ValidCommandName(spec.Name) {
				return fmt.Errorf("the command's name %q is not made of 1 to %d lower-case letters, digits and underscores",
					spec.Name, wire.MaxCommand)
			}
			if commands[spec.Name] {
				return fmt.Errorf("the command /%s is defined twice", spec.Name)
			}
			commands[spec.Name] = true
		}
	}
	switch {
	case channels > 1:
		return errors.New("the plugin has several channels; a binary serves one")
	case configs > 1:
		return errors.New("several components have a config; only one may have one, because a plugin has a single block")
	}
	return validateTools(tools)
}

func (c Component) has(capability pluginv1.Capability) bool {
	return slices.Contains(c.capabilities, capability)
}

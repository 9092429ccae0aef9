package core

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/core/internal/hostapi"
	"github.com/clawhost/clawhost/core/internal/reaction"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxSocketPath is the longest path of a unix socket on the systems that take the least.
const maxSocketPath = 103

// specs are the plugins to run.
func (h *Host) specs() []supervisor.Spec {
	var list []supervisor.Spec
	for _, p := range h.config.Plugins {
		if p.Enabled {
			list = append(list, spec(p))
		}
	}
	return list
}

func spec(p *config.Plugin) supervisor.Spec {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	return supervisor.Spec{
		Name: p.Label, Path: p.Source, SHA256: p.SHA256, Env: env, Decode: p.Decode,
		Place: func(path []string, summary, detail string) string { return p.Place(path, summary, detail).String() },
		PlaceBinary: func(attribute, detail string) string {
			return p.PlaceAttribute(attribute, "Plugin does not start", detail).String()
		},
	}
}

// forPlugins is what the plugins meet of a host.
type forPlugins struct {
	*hostapi.API
	*claims
	owners
	out io.Writer
}

func (h *Host) forPlugins() forPlugins {
	return forPlugins{
		h.api, &claims{registry: h.commands, plugins: h.config.Plugins, supervisor: h.supervisor, names: map[string][]string{}},
		owners{h},
		h.options.Out,
	}
}

// Opened tells the operator where a channel is opened, which may hold a secret and is not logged.
func (p forPlugins) Opened(name, url string) { fmt.Fprintf(p.out, "Open %s: %s\n", name, url) }

// socketDir is where plugins have their sockets: the host's folder, if the sockets' paths are short enough there.
func socketDir(run string) string {
	const socket = "/plugin-dir0123456789/plugin0123456789"
	if len(run)+len(socket) <= maxSocketPath {
		return run
	}
	return os.TempDir()
}

// pluginNames lists the enabled plugins.
func (h *Host) pluginNames() []string {
	var names []string
	for _, p := range h.config.Plugins {
		if p.Enabled {
			names = append(names, p.Label)
		}
	}
	return names
}

// grants lists the other channels that a plugin may reach.
func (h *Host) grants(instance string) []string {
	if p := h.config.Plugin(instance); p != nil {
		return p.Grants
	}
	return nil
}

// pluginCommands are the commands of the plugins that run now.
func (h *Host) pluginCommands() []command.Command {
	var list []command.Command
	for _, live := range h.supervisor.Running() {
		for _, c := range live.Commands {
			list = append(list, command.Command{
				Name: c.Name, Usage: c.Usage, Summary: c.Summary, MinAuthority: max(c.Least, chat.Authorised),
				Run: func(ctx context.Context, call command.Call) (string, error) {
					return live.RunCommand(ctx, call.Name, call.Args, call.Caller)
				},
			})
		}
	}
	return list
}

// hooks are the before_agent_start hooks in the order of the config file. One whose plugin is down fails at its call, so
// that a required one is missed.
func (h *Host) hooks() []hook.Hook {
	var list []hook.Hook
	for _, p := range h.config.Plugins {
		if !p.Enabled {
			continue
		}
		live, running := h.supervisor.Get(p.Label)
		required := p.Hook.OnError == "fail"
		if running && !live.Has(pluginv1.Capability_CAPABILITY_HOOK_BEFORE_AGENT_START) || !running && !required {
			continue
		}
		list = append(list, hook.Hook{
			Name: p.Label, Timeout: p.Hook.Timeout, Required: required,
			Call: func(ctx context.Context, start hook.Start) (string, error) {
				if !running {
					return "", remote.ErrGone
				}
				return live.BeforeAgentStart(ctx, start.TurnID, start.Caller, start.Prompt)
			},
		})
	}
	return list
}

// channelLines says of each channel how it is, for /status.
func (h *Host) channelLines() []string {
	var lines []string
	for _, s := range h.supervisor.List() {
		if !slices.Contains(s.Kinds, "channel") && s.State == supervisor.Running {
			continue
		}
		state := string(s.State)
		if s.State == supervisor.Running && s.Connection != 0 {
			state = s.Connection.String()
		}
		lines = append(lines, fmt.Sprintf("%s: %s", s.Name, state))
	}
	return lines
}

// quoted makes what a plugin said of itself fit to stand in a code block: one line, bounded, that does not end the block.
func quoted(s string) string {
	const most = 300
	line := []rune(strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "'")), " "))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return string(line)
}

// networks put reactions by the plugins that run.
type networks struct{ *supervisor.Supervisor }

// React implements [reaction.Networks].
func (n networks) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	live, ok := n.Get(to.Channel)
	if !ok {
		return reaction.ErrNoChannel
	}
	return live.React(ctx, to, id, emoji)
}

package claims

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// Validate checks the plugins' own configs by the schemas and checks of their binaries, and that no two have a command
// of the same name. It starts each enabled plugin's binary, asks it and ends it; none is configured. The error is a
// [config.Problems]. Children start the binaries; nil: processes that leave their trees are not adopted.
func Validate(ctx context.Context, c *config.Config, version string, children *process.Children) error {
	found := make([]config.Problems, len(c.Plugins))
	commands := make([]command.PluginCommands, len(c.Plugins))
	var asking sync.WaitGroup
	for i, p := range c.Plugins {
		if p.Enabled {
			asking.Go(func() { found[i], commands[i] = validate(ctx, p, version, children) })
		}
	}
	asking.Wait()
	var list config.Problems
	for _, f := range found {
		list = append(list, f...)
	}
	clashes := command.New(nil, nil, command.Host{}).Clashes(commands)
	list = append(list, problems(c.Plugins, clashes, "")...)
	if len(list) == 0 {
		return nil
	}
	return list
}

func validate(ctx context.Context, p *config.Plugin, version string, children *process.Children) (config.Problems, command.PluginCommands) {
	if missing, is := p.Missing(); is {
		return config.Problems{missing}, command.PluginCommands{}
	}
	checked, err := supervisor.Check(ctx, p, supervisor.Checking{
		HostVersion: version, SocketDir: os.TempDir(), Children: children,
	}, hclog.NewNullLogger())
	if err != nil {
		attribute := ""
		if unfit, ok := errors.AsType[*supervisor.Unfit](err); ok {
			attribute = unfit.Attribute
		}
		return config.Problems{p.PlaceAttribute(attribute, "Plugin does not start", err.Error())}, command.PluginCommands{}
	}
	commands := command.PluginCommands{Plugin: p.Label, Overrides: p.Overrides}
	for _, c := range checked.Commands {
		commands.Names = append(commands.Names, c.Name)
	}
	var problems config.Problems
	if checked.Misfit != nil && !errors.As(checked.Misfit, &problems) {
		problems = config.Problems{p.Place(nil, "Plugin's config cannot be checked", checked.Misfit.Error())}
	}
	for _, d := range checked.Found {
		if !d.Warning {
			problems = append(problems, p.Place(d.Path, d.Summary, d.Detail))
		}
	}
	return problems, commands
}

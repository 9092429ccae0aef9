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

// Validate checks what the machine must have for a config ([config.Config.Check]), the plugins' own configs by the schemas and
// checks of their binaries, and that no two have a command of the same name or listen at the same address. It starts each enabled plugin's binary, asks it
// and ends it; none is configured. The error is a [config.Problems]. Demo reports whether no real claude runs. Children start
// the binaries; nil: processes that leave their trees are not adopted.
func Validate(ctx context.Context, c *config.Config, demo bool, version string, children *process.Children) error {
	found := make([]checked, len(c.Plugins))
	var asking sync.WaitGroup
	for i, p := range c.Plugins {
		if p.Enabled {
			asking.Go(func() { found[i] = check(ctx, p, version, children) })
		}
	}
	asking.Wait()
	list, _ := errors.AsType[config.Problems](c.Check(demo))
	commands := make([]command.PluginCommands, len(found))
	configs := map[*config.Plugin][]byte{}
	for i, f := range found {
		list = append(list, f.problems...)
		commands[i], configs[c.Plugins[i]] = f.commands, f.config
	}
	clashes := command.New(nil, nil, command.Host{}).Clashes(commands)
	list = append(list, problems(c.Plugins, clashes, "")...)
	list = append(list, c.UsedTwice(configs)...)
	if len(list) == 0 {
		return nil
	}
	return list.Sorted()
}

// checked is what is known of a plugin that was started only to be asked.
type checked struct {
	problems config.Problems
	commands command.PluginCommands
	config   []byte // with its defaults; nil: it does not match the schema
}

func check(ctx context.Context, p *config.Plugin, version string, children *process.Children) checked {
	if missing, is := p.Missing(); is {
		return checked{problems: config.Problems{missing}}
	}
	said, err := supervisor.Check(ctx, p, version, os.TempDir(), children, hclog.NewNullLogger())
	if err != nil {
		attribute := ""
		if unfit, ok := errors.AsType[*supervisor.Unfit](err); ok {
			attribute = unfit.Attribute
		}
		return checked{problems: config.Problems{p.PlaceAttribute(attribute, "Plugin does not start", err.Error())}}
	}
	found := checked{commands: command.PluginCommands{Plugin: p.Label, Overrides: p.Overrides}, config: said.Config}
	for _, c := range said.Commands {
		found.commands.Names = append(found.commands.Names, c.Name)
	}
	if said.Misfit != nil && !errors.As(said.Misfit, &found.problems) {
		found.problems = config.Problems{p.Place(nil, "Plugin's config cannot be checked", said.Misfit.Error())}
	}
	for _, d := range said.Found {
		if !d.Warning {
			found.problems = append(found.problems, p.Place(d.Path, d.Summary, d.Detail))
		}
	}
	return found
}

package claims

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// Options are how a config is checked.
type Options struct {
	Version  string            // of the host
	Demo     bool              // no real claude runs
	Online   bool              // the plugins ask their networks about their accounts
	Children *process.Children // starts the plugins; nil: processes that leave their trees are not adopted
}

// NoStart is the summary of the problem that a plugin does not start.
const NoStart = "Plugin does not start"

// Report is what the check of a config has found.
type Report struct {
	Problems  config.Problems  // sorted; empty: the config is good
	Refused   config.Problems  // those of the problems that networks have with accounts
	Warnings  config.Problems  // of the plugins
	Accounts  []Account        // that a network has accepted
	Addresses []config.Address // at which the host and its plugins will listen
}

// Account is a plugin's account, as its network names it.
type Account struct {
	Plugin string
	remote.Account
}

// Err returns the problems; nil: there are none.
func (r Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return r.Problems
}

// Check checks what the machine must have for a config ([config.Config.Check]), the plugins' own configs by the schemas and checks of
// their binaries, and that no two have a command of the same name or listen at the same address. It starts each enabled plugin's
// binary, asks it and ends it; none is configured.
func Check(ctx context.Context, c *config.Config, o Options) Report {
	r := checkAll(ctx, c, o)
	machine, _ := errors.AsType[config.Problems](c.Check(o.Demo))
	r.Problems = append(machine, r.Problems...).Sorted()
	return r
}

// CheckPlugins checks as [Check] does, but only what the plugins with these labels have.
func CheckPlugins(ctx context.Context, c *config.Config, labels []string, o Options) Report {
	only := *c
	only.Plugins = slices.DeleteFunc(slices.Clone(c.Plugins), func(p *config.Plugin) bool { return !slices.Contains(labels, p.Label) })
	return checkAll(ctx, &only, o)
}

func checkAll(ctx context.Context, c *config.Config, o Options) Report {
	found := make([]checked, len(c.Plugins))
	var asking sync.WaitGroup
	for i, p := range c.Plugins {
		if p.Enabled {
			asking.Go(func() { found[i] = check(ctx, p, o) })
		}
	}
	asking.Wait()
	var r Report
	commands := make([]command.PluginCommands, len(found))
	configs := map[*config.Plugin][]byte{}
	for i, f := range found {
		r.Problems, r.Warnings = append(append(r.Problems, f.problems...), f.refused...), append(r.Warnings, f.warnings...)
		r.Refused = append(r.Refused, f.refused...)
		commands[i], configs[c.Plugins[i]] = f.commands, f.config
		if f.account.Name != "" {
			r.Accounts = append(r.Accounts, Account{c.Plugins[i].Label, f.account})
		}
	}
	clashes := command.New(nil, nil, command.Host{}).Clashes(commands)
	r.Problems = append(r.Problems, problems(c.Plugins, clashes, "")...)
	r.Addresses = c.Addresses(configs)
	r.Problems = append(r.Problems, config.UsedTwice(r.Addresses)...).Sorted()
	return r
}

// checked is what is known of a plugin that was started only to be asked.
type checked struct {
	problems, refused, warnings config.Problems
	commands                    command.PluginCommands
	config                      []byte // with its defaults; nil: it does not match the schema
	account                     remote.Account
}

func check(ctx context.Context, p *config.Plugin, o Options) checked {
	if missing, is := p.Missing(); is {
		return checked{problems: config.Problems{missing}}
	}
	said, err := supervisor.Check(ctx, p, supervisor.Checking{
		HostVersion: o.Version, SocketDir: os.TempDir(), Children: o.Children, Online: o.Online,
	}, hclog.NewNullLogger())
	if err != nil {
		attribute := ""
		if unfit, ok := errors.AsType[*supervisor.Unfit](err); ok {
			attribute = unfit.Attribute
		}
		return checked{problems: config.Problems{p.PlaceAttribute(attribute, NoStart, err.Error())}}
	}
	found := checked{
		commands: command.PluginCommands{Plugin: p.Label, Overrides: p.Overrides}, config: said.Config, account: said.Account,
	}
	for _, c := range said.Commands {
		found.commands.Names = append(found.commands.Names, c.Name)
	}
	if said.Misfit != nil && !errors.As(said.Misfit, &found.problems) {
		found.problems = config.Problems{p.Place(nil, "Plugin's config cannot be checked", said.Misfit.Error())}
	}
	found.sort(p, said.Found, &found.problems)
	found.sort(p, said.Refused, &found.refused)
	return found
}

// sort adds diagnostics to the warnings, or to problems.
func (c *checked) sort(p *config.Plugin, list []remote.Diagnostic, problems *config.Problems) {
	for _, d := range list {
		to := problems
		if d.Warning {
			to = &c.warnings
		}
		*to = append(*to, p.Place(d.Path, d.Summary, d.Detail))
	}
}

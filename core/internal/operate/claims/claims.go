// Package claims checks what plugins claim: that no two have the same command, and that their configs fit them.
package claims

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// Claims knows which plugin has which commands. If two have the same, the first in the config file keeps it and the
// other is refused, whichever starts first.
type Claims struct {
	config     config.Getter
	commands   *command.Registry
	supervisor *supervisor.Supervisor

	mu    sync.Mutex
	names map[string][]string // each plugin's commands
}

// New returns the claims of a config's plugins besides the host's own commands.
func New(c config.Getter, commands *command.Registry, s *supervisor.Supervisor) *Claims {
	return &Claims{config: c, commands: commands, supervisor: s, names: map[string][]string{}}
}

// Accept refuses a plugin that has a command of the host or of a plugin before it in the file. A plugin after it that
// has one of its commands is restarted, so that it is refused.
func (c *Claims) Accept(instance string, d remote.Description) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, len(d.Commands))
	for i, spec := range d.Commands {
		names[i] = spec.Name
	}
	delete(c.names, instance)
	if problems := c.clashes(instance, names); len(problems) > 0 {
		return problems
	}
	c.names[instance] = names
	var errs []error
	for label, theirs := range c.names {
		if label != instance && len(c.clashes(label, theirs)) > 0 {
			delete(c.names, label)
			errs = append(errs, c.supervisor.Restart(label))
		}
	}
	return errors.Join(errs...)
}

// clashes returns the commands that a plugin may not have.
func (c *Claims) clashes(label string, names []string) config.Problems {
	var list []command.PluginCommands
	for _, p := range c.config.Get().Plugins {
		if p.Label == label {
			list = append(list, command.PluginCommands{Plugin: label, Names: names, Overrides: p.Overrides})
			break
		}
		list = append(list, command.PluginCommands{Plugin: p.Label, Names: c.names[p.Label], Overrides: p.Overrides})
	}
	return problems(c.config.Get().Plugins, c.commands.Clashes(list), label)
}

// problems names both places of each clash. With a label it returns those of one plugin, without one all.
func problems(plugins []*config.Plugin, clashes []command.Clash, label string) config.Problems {
	place := func(label string) *config.Plugin {
		return plugins[slices.IndexFunc(plugins, func(p *config.Plugin) bool { return p.Label == label })]
	}
	var list config.Problems
	for _, clash := range clashes {
		if label != "" && clash.Plugin != label {
			continue
		}
		detail := clash.String()
		if clash.Other != "" {
			at := place(clash.Other).Place(nil, "", "")
			detail += fmt.Sprintf("; the other one is at %s:%d:%d", at.File, at.Line, at.Column)
		}
		list = append(list, place(clash.Plugin).PlaceAttribute(clash.Attribute, "Command clash", detail))
	}
	return list
}

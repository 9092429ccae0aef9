package command

import "fmt"

// PluginCommands are the commands of a plugin.
type PluginCommands struct {
	Plugin string // its label
	Names  []string
}

// Clash is a command that two plugins, or a plugin and the host, have.
type Clash struct {
	Name   string // of the command, as the plugin has it
	Plugin string // the plugin that has it; of two, the later one
	Other  string // the other plugin that has it; empty: the host
}

// String names the command and who has it.
func (c Clash) String() string {
	if c.Other == "" {
		return fmt.Sprintf("the command /%s of the plugin %q is one of the host's own", c.Name, c.Plugin)
	}
	return fmt.Sprintf("the plugins %q and %q both have the command /%s", c.Other, c.Plugin, c.Name)
}

// Clashes returns the plugins' commands that the host, by name or alias, or an earlier plugin also has.
func (r *Registry) Clashes(plugins []PluginCommands) []Clash {
	var clashes []Clash
	owners := map[string]string{}
	for _, p := range plugins {
		for _, name := range p.Names {
			key := canonical(name)
			if _, taken := r.byName[key]; taken {
				clashes = append(clashes, Clash{Name: name, Plugin: p.Plugin})
			} else if other, taken := owners[key]; taken {
				clashes = append(clashes, Clash{Name: name, Plugin: p.Plugin, Other: other})
			} else {
				owners[key] = p.Plugin
			}
		}
	}
	return clashes
}

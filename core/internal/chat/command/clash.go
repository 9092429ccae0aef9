package command

import (
	"fmt"
	"slices"
)

// PluginCommands are the commands of a plugin.
type PluginCommands struct {
	Plugin    string // its label
	Names     []string
	Overrides []string // those of the host's commands that its own may replace
}

// Clash is a command that two plugins, or a plugin and the host, have, or one that a plugin overrides without effect.
type Clash struct {
	Plugin    string // the plugin that has it; of two, the later one
	Other     string // the other plugin that has it; empty: the host
	Attribute string // the argument of the plugin's block that must change; empty: none in particular
	what      string
}

// String names the command and who has it.
func (c Clash) String() string { return c.what }

// Clashes returns the plugins' commands that the host, by name or alias, or an earlier plugin also has, except those that
// override the host's.
func (r *Registry) Clashes(plugins []PluginCommands) []Clash {
	var clashes []Clash
	owners := map[string]string{}
	for _, p := range plugins {
		var names []string
		for _, name := range p.Names {
			key := canonical(name)
			names = append(names, key)
			if _, taken := r.byName[key]; taken && !slices.Contains(p.Overrides, key) {
				what := fmt.Sprintf("the command /%s of the plugin %q is one of the host's own", name, p.Plugin)
				if r.replaceable(key) {
					what += fmt.Sprintf("; `overrides = [%q]` in the plugin's block replaces the host's", key)
				}
				clashes = append(clashes, Clash{Plugin: p.Plugin, what: what})
			} else if other, taken := owners[key]; taken {
				clashes = append(clashes, Clash{
					Plugin: p.Plugin, Other: other,
					what: fmt.Sprintf("the plugins %q and %q both have the command /%s", other, p.Plugin, name),
				})
			} else {
				owners[key] = p.Plugin
			}
		}
		for _, name := range p.Overrides {
			switch {
			case !r.replaceable(name):
				clashes = append(clashes, Clash{
					Plugin: p.Plugin, Attribute: "overrides",
					what: fmt.Sprintf("the host has no command /%s that a plugin can replace", name),
				})
			case !slices.Contains(names, name):
				clashes = append(clashes, Clash{
					Plugin: p.Plugin, Attribute: "overrides",
					what: fmt.Sprintf("the plugin %q has no command /%s", p.Plugin, name),
				})
			}
		}
	}
	return clashes
}

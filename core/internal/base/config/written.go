package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// hidden is shown instead of a value that may be a secret.
const hidden = "(hidden)"

// wholeBlock is shown for a block with a label.
const wholeBlock = "{…}"

// maxShown limits a value that is shown, in bytes.
const maxShown = 400

// Written is a value that the file or an override sets, or a block with a label.
type Written struct {
	Name   string `json:"name"`   // with the labels of its blocks, such as plugin.telegram.access.dm
	Value  string `json:"value"`  // as it is written, or "(hidden)"; "{…}": a block
	From   string `json:"from"`   // its place in the file, as file:line:column, or the override
	Effect Effect `json:"effect"` // of a change

	Override bool `json:"override,omitempty"` // it was set by /config set

	plugin string // the label of its plugin block; empty: it is in none
	value  cty.Value
}

// Change is the difference of a name between two configs.
type Change struct {
	Name   string `json:"name"`
	Was    string `json:"was,omitempty"` // empty: it was not set
	Is     string `json:"is,omitempty"`  // empty: it is not set any more
	From   string `json:"from"`          // the place of what is set, or else of what was set
	Effect Effect `json:"effect"`
	Plugin string `json:"plugin,omitempty"` // the label of the plugin that the effect is on; empty: none
}

// Reloaded is what a reload has changed, or would change.
type Reloaded struct {
	Changes []Change `json:"changes"`
	Plugins []string `json:"plugins,omitempty"` // that are started, ended or restarted
	Misfits []Misfit `json:"misfits,omitempty"` // overrides that do not fit the file and have no effect
}

// RestartError says which changes need a restart of the host. Nothing was applied.
type RestartError struct{ Changes []Change }

// Error names them, with their places.
func (e *RestartError) Error() string {
	lines := make([]string, len(e.Changes))
	for i, c := range e.Changes {
		lines[i] = c.From + ": " + c.Name
	}
	return "a restart of the host is needed for\n" + strings.Join(lines, "\n")
}

// String returns the change in a line.
func (c Change) String() string {
	switch {
	case c.Was == "":
		return fmt.Sprintf("%s = %s", c.Name, c.Is)
	case c.Is == "":
		return fmt.Sprintf("%s is not set any more; it was %s", c.Name, c.Was)
	case c.Was == c.Is:
		return c.Name + " has another value"
	default:
		return fmt.Sprintf("%s = %s; it was %s", c.Name, c.Is, c.Was)
	}
}

// Written returns everything that the file and the overrides set, in the order of the names.
func (c *Config) Written() []Written { return c.written }

// Changes returns the differences of another config from this one, in the order of the names. A block with a label that is new or gone is
// one change.
func (c *Config) Changes(next *Config) []Change {
	was, is := byName(c.written), byName(next.written)
	all := maps.Clone(was)
	maps.Copy(all, is)
	var list []Change
	var whole []string // blocks that are new or gone
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.ContainsFunc(whole, func(block string) bool { return strings.HasPrefix(name, block+".") }) {
			continue
		}
		before, after := was[name], is[name]
		if before.Name != "" && after.Name != "" && before.value.RawEquals(after.value) {
			continue
		}
		change := Change{Name: name, Was: before.Value, Is: after.Value, From: all[name].From, Effect: all[name].Effect}
		if change.Effect == EffectPlugin {
			change.Plugin = all[name].plugin
		}
		if list = append(list, change); all[name].Value == wholeBlock {
			whole = append(whole, name)
		}
	}
	return list
}

func byName(list []Written) map[string]Written {
	names := map[string]Written{}
	for _, w := range list {
		names[w.Name] = w
	}
	return names
}

// written lists what a body sets, below the names of its blocks: as they are shown, and as the documentation has them.
func (d *decoder) written(body *hclsyntax.Body, shown []string, documented string) (list []Written) {
	add := func(name, documented string, at hcl.Range, expr hclsyntax.Expression, value cty.Value) {
		w := Written{Name: name, Value: wholeBlock, From: d.placeOf(at), Effect: EffectOf(documented), value: value}
		if len(shown) > 1 && shown[0] == "plugin" {
			w.plugin = shown[1]
		} else if block, label, _ := strings.Cut(name, "."); block == "plugin" {
			w.plugin = label
		}
		_, w.Override = d.overrides[at.Filename]
		if expr != nil {
			w.Value = d.shown(documented, expr)
		}
		list = append(list, w)
	}
	for name, a := range body.Attributes {
		value, diagnostics := a.Expr.Value(d.eval)
		if !diagnostics.HasErrors() && !value.IsNull() {
			add(strings.Join(append(slices.Clone(shown), name), "."), dotted(documented, name), a.Expr.Range(), a.Expr, value)
		}
	}
	number := map[string]int{}
	for _, b := range body.Blocks {
		inner, name := append(slices.Clone(shown), b.Type), dotted(documented, b.Type)
		switch {
		case len(b.Labels) > 0:
			inner = append(inner, shownStep(b.Labels[0]))
			add(strings.Join(inner, "."), name, b.DefRange(), nil, cty.True)
		case b.Type == "route" || b.Type == "budget":
			number[b.Type]++
			inner = append(inner, strconv.Itoa(number[b.Type]))
			add(strings.Join(inner, "."), name, b.DefRange(), nil, cty.True)
		}
		switch {
		case b.Type == "plugin" && off(b, d.eval):
			only := &hclsyntax.Body{Attributes: hclsyntax.Attributes{"enabled": b.Body.Attributes["enabled"]}}
			list = append(list, d.written(only, inner, name)...)
			continue
		case documented == "" && b.Type == "agent" && len(b.Labels) > 0:
			list = append(list, d.written(b.Body, inner, "agent")...)
			continue
		case documented == "agent", documented == "plugin" && b.Type != "config" && b.Type != "hook":
			name = b.Type // as at the top level
		}
		list = append(list, d.written(b.Body, inner, name)...)
	}
	slices.SortFunc(list, func(a, b Written) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// off reports whether a plugin block is disabled: the rest of it is not evaluated.
func off(b *hclsyntax.Block, eval *hcl.EvalContext) bool {
	a := b.Body.Attributes["enabled"]
	if a == nil {
		return false
	}
	value, diagnostics := a.Expr.Value(eval)
	return !diagnostics.HasErrors() && (value.RawEquals(cty.False) || value.RawEquals(cty.StringVal("false")))
}

// shown is a value as it is written.
func (d *decoder) shown(documented string, expr hclsyntax.Expression) string {
	block, name := undotted(documented)
	if slices.Contains(secretNames, name) || strings.HasPrefix(documented, "plugin.config") || strings.HasPrefix(block, "claude.mcp") {
		return hidden
	}
	at, text := expr.Range(), d.text
	if o, ok := d.overrides[at.Filename]; ok {
		return shorten(printable(o.Value), maxShown)
	}
	if at.End.Byte > len(text) || at.Start.Byte > at.End.Byte {
		return hidden
	}
	return shorten(printable(string(text[at.Start.Byte:at.End.Byte])), maxShown)
}

// placeOf names the place of a value.
func (d *decoder) placeOf(at hcl.Range) string {
	if _, ok := d.overrides[at.Filename]; ok {
		return at.Filename
	}
	return fmt.Sprintf("%s:%d:%d", at.Filename, at.Start.Line, at.Start.Column)
}

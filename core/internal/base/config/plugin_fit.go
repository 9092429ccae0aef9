package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Decode checks the plugin's config against the plugin's JSON Schema (2020-12) and returns it as JSON, with the schema's
// defaults for missing values. Values are converted to the schema's types, so that a text from env can be a number. Without
// a schema the plugin has no config. Arguments that an object's schema does not name are refused unless its
// additionalProperties allow them, or it names none.
//
// The error is a [Problems]. It contains no value of the config.
func (p *Plugin) Decode(schemaJSON []byte) (configJSON []byte, err error) {
	s, err := parseSchema(schemaJSON)
	if err != nil {
		return nil, Problems{p.problem(p.header(), "Unsuitable schema",
			fmt.Sprintf("The plugin's author must fix the schema of its config: %s.", err))}
	}
	f := &fit{plugin: p, schema: s}
	found := f.object(p.config, s.root, false, spot{})
	if err := f.problems.err(); err != nil {
		return nil, err
	}
	configJSON, err = json.Marshal(found)
	if err != nil {
		return nil, Problems{p.problem(p.header(), "Unsuitable value", "The config cannot be written as JSON.")}
	}
	return configJSON, nil
}

// Place converts a plugin's error in its config to a problem at the position of the value that path leads to, or of the
// nearest one in the file. A path consists of names, and of indices in decimal; an empty one means the config as a whole.
func (p *Plugin) Place(path []string, summary, detail string) Problem {
	return p.problem(spot{path: path}.at(p), summary, detail)
}

// PlaceAttribute converts an error about the plugin to a problem at an attribute of its block, or at the block if it has no
// such attribute.
func (p *Plugin) PlaceAttribute(name, summary, detail string) Problem {
	at := p.block.DefRange()
	if a := p.block.Body.Attributes[name]; a != nil {
		at = a.Expr.Range()
	}
	return p.problem(at, summary, detail)
}

func (p *Plugin) problem(at hcl.Range, summary, detail string) Problem {
	return p.source.problem(at, summary, detail)
}

// header returns the position for what is missing.
func (p *Plugin) header() hcl.Range {
	if p.configBlock != nil {
		return p.configBlock.DefRange()
	}
	return p.block.DefRange()
}

// A spot is a path from the config's root.
type spot struct {
	path []string
	name string // the path as written in error messages
}

// step returns the path to an argument.
func (s spot) step(name string) spot {
	return spot{append(slices.Clone(s.path), name), strings.TrimPrefix(s.name+"."+name, ".")}
}

// element returns the path to a list element.
func (s spot) element(i int) spot {
	return spot{append(slices.Clone(s.path), strconv.Itoa(i)), fmt.Sprintf("%s[%d]", s.name, i)}
}

func (s spot) at(p *Plugin) hcl.Range {
	if len(s.path) == 0 || p.configBlock == nil {
		return p.header()
	}
	a := p.configBlock.Body.Attributes[s.path[0]]
	if a == nil {
		return p.header()
	}
	at := locate(a.Expr, s.path[1:])
	return at
}

// title returns the path's name for error messages.
func (s spot) title() string {
	if len(s.path) == 0 {
		return "The plugin's config"
	}
	return s.name
}

// fit converts a config to a schema's types.
type fit struct {
	plugin   *Plugin
	schema   *schema
	problems Problems

	depth   int  // of nested defaults
	filled  int  // the cost of the defaults so far
	endless bool // whether the cost was reported as too high
}

// Limits on the defaults of one config: parts of a schema can be used repeatedly.
const (
	maxDefaults = 1 << 18 // bytes of JSON, with
	defaultCost = 64      // for each default
)

func (f *fit) refuse(s spot, format string, args ...any) {
	f.problems = append(f.problems, f.plugin.problem(s.at(f.plugin), "Unsuitable value", s.title()+" "+fmt.Sprintf(format, args...)+"."))
}

// value converts a value to JSON's types: nil, bool, int64, uint64, float64, string, []any and map[string]any.
func (f *fit) value(v cty.Value, node *jsonschema.Schema, s spot) any {
	node, secret := f.schema.follow(node)
	if isFalse(node) {
		f.refuse(s, "must be omitted")
		return nil
	}
	v, ok := toTypes(v, types(node))
	if !ok {
		f.refuse(s, "must be %s", titles(types(node)))
		return nil
	}
	var found any
	switch kind(v) {
	case "object":
		return f.object(v.AsValueMap(), node, secret, s)
	case "array":
		elements := []any{}
		for i, element := range v.AsValueSlice() {
			inner := node.Items
			if inner == nil {
				inner = &jsonschema.Schema{}
			}
			elements = append(elements, f.value(element, inner, s.element(i)))
		}
		found = elements
	case "string":
		found = v.AsString()
		if node.Format == chatFormat && !secret {
			f.chat(v.AsString(), s)
		}
	case "boolean":
		found = v.True()
	case "integer", "number":
		found = number(v.AsBigFloat())
		if n, float := found.(float64); float && math.IsInf(n, 0) {
			f.refuse(s, "is too large a number")
			return nil
		}
	}
	f.judge(found, node, secret, s)
	return found
}

// chatFormat is the format, in a schema, of a text that names a chat as session keys do.
const chatFormat = "chat"

// chat refuses a chat that the plugin cannot reach. Whether the text names one at all is for the plugin to say.
func (f *fit) chat(text string, s spot) {
	channel, _, found := strings.Cut(text, ":")
	report := func(summary, detail string) {
		f.problems = append(f.problems, f.plugin.problem(s.at(f.plugin), summary, detail))
	}
	switch {
	case !found || channel == f.plugin.Label:
	case !slices.Contains(f.plugin.channels, channel):
		report("Unknown channel", fmt.Sprintf("%s names %q, and no plugin block has this label.%s", s.title(), channel, suggestion(channel, f.plugin.channels)))
	case !slices.Contains(f.plugin.Grants, channel):
		report("Missing grant", fmt.Sprintf("%s names a chat of %q, which the plugin may not reach: add grants = [%q] to its block.", s.title(), channel, channel))
	}
}

// object converts an object. Null counts as missing.
func (f *fit) object(fields map[string]cty.Value, node *jsonschema.Schema, secret bool, s spot) any {
	found := map[string]any{}
	known := slices.Sorted(maps.Keys(node.Properties))
	for name, v := range fields {
		property, named := node.Properties[name]
		switch {
		case v.IsNull():
		case named:
			found[name] = f.value(v, property, s.step(name))
		case node.AdditionalProperties == nil && len(known) == 0:
			found[name] = f.value(v, &jsonschema.Schema{}, s.step(name))
		case node.AdditionalProperties == nil || isFalse(node.AdditionalProperties):
			f.refuseUnknown(s, name, known)
		default:
			found[name] = f.value(v, node.AdditionalProperties, s.step(name))
		}
	}
	for _, name := range known {
		if v, given := fields[name]; given && !v.IsNull() {
			continue
		}
		if property := node.Properties[name]; property.Default != nil {
			found[name] = f.standard(property, s.step(name))
		}
	}
	for _, name := range node.Required {
		if _, there := found[name]; !there {
			f.problems = append(f.problems, f.plugin.problem(s.at(f.plugin), "Missing argument",
				fmt.Sprintf("%s needs the argument %q.", s.title(), name)))
		} else if property := node.Properties[name]; property != nil && found[name] == "" {
			if _, secret := f.schema.follow(property); secret {
				f.refuse(s.step(name), "must not be empty")
			}
		}
	}
	f.judge(found, node, secret, s)
	return found
}

// standard converts a default of the schema, and fills in the defaults within it. The cost limit ends the recursion of a
// schema that refers to itself.
func (f *fit) standard(node *jsonschema.Schema, s spot) any {
	f.depth++
	defer func() { f.depth-- }()
	f.filled += len(node.Default) + defaultCost
	if f.depth > maxSchemaDepth || f.filled > maxDefaults {
		if !f.endless {
			f.problems = append(f.problems, f.plugin.problem(f.plugin.header(), "Unsuitable schema",
				"The plugin's author must fix the schema of its config: its defaults are too large."))
		}
		f.endless = true
		return nil
	}
	var v ctyjson.SimpleJSONValue
	if err := json.Unmarshal(node.Default, &v); err != nil {
		f.refuse(s, "has a default that cannot be read")
		return nil
	}
	return f.value(v.Value, node, s)
}

func (f *fit) refuseUnknown(s spot, name string, known []string) {
	at := s.step(name).at(f.plugin)
	if a := f.plugin.configBlock.Body.Attributes[name]; len(s.path) == 0 && a != nil {
		at = a.NameRange
	}
	detail := fmt.Sprintf("%s has no argument %q.%s", s.title(), name, suggestion(name, known))
	if len(s.path) == 0 && len(known) == 0 {
		detail = "The plugin takes no config."
	}
	f.problems = append(f.problems, f.plugin.problem(at, "Unknown argument", detail))
}

// judge applies the rules that check a single value.
func (f *fit) judge(v any, node *jsonschema.Schema, secret bool, s spot) {
	for _, r := range rules(node, secret) {
		if !r.admits(v) {
			f.refuse(s, "%s", r.complaint)
		}
	}
}

// kind is the value's type in JSON Schema.
func kind(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.Bool:
		return "boolean"
	case t == cty.String:
		return "string"
	case t == cty.Number && v.AsBigFloat().IsInt():
		return "integer"
	case t == cty.Number:
		return "number"
	case t.IsObjectType() || t.IsMapType():
		return "object"
	}
	return "array"
}

// toTypes converts a value to one of the types, if it has none of them: text to a number or boolean, and these to text.
func toTypes(v cty.Value, allowed []string) (cty.Value, bool) {
	k := kind(v)
	if len(allowed) == 0 || slices.Contains(allowed, k) || k == "integer" && slices.Contains(allowed, "number") {
		return v, true
	}
	if k == "null" || k == "array" || k == "object" {
		return v, false
	}
	for _, t := range typeNames {
		if !slices.Contains(allowed, t.name) {
			continue
		}
		var to cty.Type
		switch t.name {
		case "integer", "number":
			to = cty.Number
		case "boolean":
			to = cty.Bool
		case "string":
			to = cty.String
		default:
			continue
		}
		converted, err := convert.Convert(v, to)
		if err == nil && (t.name != "integer" || kind(converted) == "integer") {
			return converted, true
		}
	}
	return v, false
}

// number returns the Go number with the best JSON representation.
func number(n *big.Float) any {
	if n.IsInt() { // Uint64 reports truncated fractions as exact
		if i, accuracy := n.Int64(); accuracy == big.Exact {
			return i
		}
		if u, accuracy := n.Uint64(); accuracy == big.Exact {
			return u
		}
	}
	f, _ := n.Float64()
	return f
}

// titles returns types for error messages.
func titles(allowed []string) string {
	var names []string
	for _, t := range typeNames {
		if slices.Contains(allowed, t.name) && t.title != "" {
			names = append(names, t.title)
		}
	}
	if len(names) == 0 {
		return "left out"
	}
	return strings.Join(names, " or ")
}

package support

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/docs"
)

// documented matches the values that the manual of the config has.
var documented = lazyregexp.New("`\"([a-z][a-z0-9_-]*)\"`")

// shape writes a config file without what stands in it: the names of its blocks and attributes, numbers, and the values that the manual has.
type shape struct {
	*disguise
	values map[string]bool // that the manual has
	out    strings.Builder
}

// configOf returns the shape of a config file.
func (d *disguise) configOf(text []byte) string {
	file, problems := hclsyntax.ParseConfig(text, "config.hcl", hcl.InitialPos)
	body, ok := file.Body.(*hclsyntax.Body)
	if problems.HasErrors() || !ok {
		return "The file cannot be read.\n"
	}
	s := &shape{disguise: d, values: map[string]bool{}}
	manual, _ := docs.Pages.ReadFile("configuration.md") // it is embedded
	for _, found := range documented().FindAllSubmatch(manual, -1) {
		s.values[string(found[1])] = true
	}
	s.body(body, "", false)
	return s.out.String()
}

// body writes a body. In the config of a plugin, only its names are known to be nobody's.
func (s *shape) body(body *hclsyntax.Body, indent string, plugin bool) {
	attributes := make([]*hclsyntax.Attribute, 0, len(body.Attributes))
	for _, a := range body.Attributes {
		attributes = append(attributes, a)
	}
	slices.SortFunc(attributes, func(a, b *hclsyntax.Attribute) int { return cmp.Compare(a.SrcRange.Start.Byte, b.SrcRange.Start.Byte) })
	for _, a := range attributes {
		fmt.Fprintf(&s.out, "%s%s = %s\n", indent, a.Name, s.value(a.Expr, plugin))
	}
	for _, b := range body.Blocks {
		fmt.Fprintf(&s.out, "%s%s", indent, b.Type)
		for _, label := range b.Labels {
			called := s.name(b.Type, label)
			if b.Type == "plugin" || b.Type == "channel" {
				called = s.label(label)
			}
			fmt.Fprintf(&s.out, " %q", called)
		}
		s.out.WriteString(" {\n")
		s.body(b.Body, indent+"  ", plugin || b.Type == "config")
		s.out.WriteString(indent + "}\n")
	}
}

// value describes the value of an attribute.
func (s *shape) value(e hclsyntax.Expression, plugin bool) string {
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		return fmt.Sprintf("list of %d", len(e.Exprs))
	case *hclsyntax.ObjectConsExpr:
		return fmt.Sprintf("map of %d", len(e.Items))
	case *hclsyntax.FunctionCallExpr:
		return "from outside"
	}
	value, problems := e.Value(nil)
	switch {
	case problems.HasErrors() || !value.IsWhollyKnown() || value.IsNull():
		return "computed"
	case value.Type() == cty.Bool:
		return fmt.Sprint(value.True())
	case value.Type() == cty.Number && !plugin:
		return value.AsBigFloat().Text('f', -1)
	case value.Type() == cty.String && !plugin && (s.values[value.AsString()] || span().MatchString(value.AsString())):
		return fmt.Sprintf("%q", value.AsString())
	}
	return value.Type().FriendlyName()
}

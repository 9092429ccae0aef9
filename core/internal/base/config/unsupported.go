package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A gap is a documented argument or block that this host does not support yet, or not with every value. It is refused rather than
// ignored. When it becomes supported, its line is removed.
type gap struct {
	name string
	// is lists the supported values, as written in the file.
	is []string
	// later lists the words that are refused for now. If it is set, any other value is checked as if there were no gap, or,
	// if nothing reads the argument yet, is invalid.
	later []string
}

// unsupported lists all gaps.
var unsupported = []gap{
	{name: "store.driver", is: []string{`"sqlite"`}, later: []string{"postgres"}},
	{name: "store.dsn"},
}

// gapAt returns the gap of an argument, if it has one.
func gapAt(path, name string) *gap {
	for i := range unsupported {
		if unsupported[i].name == dotted(path, name) {
			return &unsupported[i]
		}
	}
	return nil
}

// admits reports whether the value is supported, and if not reports an error.
func (g *gap) admits(v value) bool {
	written := literal(v.Value)
	if slices.Contains(g.is, written) {
		return true
	}
	word := strings.Trim(written, `"`)
	if g.later != nil && !slices.Contains(g.later, word) {
		if g.is == nil {
			return true
		}
		v.refuse("must be %s", strings.Join(g.is, " or "))
		return false
	}
	instead := ""
	if len(g.is) > 0 {
		instead = " or write " + g.is[0]
	}
	v.d.refuseUnsupported(v.at(), "this value of "+v.name, instead)
	return false
}

// refuseUnsupported reports an unsupported name, or an unsupported value of a name.
func (d *decoder) refuseUnsupported(at hcl.Range, name string, instead string) {
	d.report(at, "Not supported yet", fmt.Sprintf("This version does not support %s; remove it%s.", name, instead))
}

// literal formats a simple value as in the file.
func literal(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.String:
		return `"` + v.AsString() + `"`
	case t == cty.Number:
		return v.AsBigFloat().Text('g', -1)
	case (t.IsTupleType() || t.IsListType()) && v.LengthInt() == 0:
		return "[]"
	case (t.IsObjectType() || t.IsMapType()) && v.LengthInt() == 0:
		return "{}"
	}
	return ""
}

func dotted(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func undotted(name string) (path, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

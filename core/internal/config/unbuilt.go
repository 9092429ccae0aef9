package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A gap is an argument of the file's contract that this host does not support yet, or not with every value. It is refused
// rather than ignored, and its line goes when it is built.
type gap struct {
	name string
	// is holds the values, as the file writes them, that say what is so anyway and are accepted.
	is []string
	// later holds the words that are refused for now. Where it is given, any other value is judged as if there were no gap,
	// or, if nothing reads the argument yet, is no value at all.
	later []string
}

// unbuilt is all that is not built yet.
var unbuilt = []gap{
	{name: "store.driver", is: []string{`"sqlite"`}, later: []string{"postgres"}},
	{name: "store.dsn"},
}

// unbuiltBlocks are refused as a whole.
var unbuiltBlocks = []string{"admin"}

// gapAt returns the gap of an argument, if it has one.
func gapAt(path, name string) *gap {
	for i := range unbuilt {
		if unbuilt[i].name == dotted(path, name) {
			return &unbuilt[i]
		}
	}
	return nil
}

// admits reports whether the value may be used, and if not says why.
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
	v.d.refuseUnbuilt(v.at(), "this value of "+v.name, instead)
	return false
}

// refuseUnbuilt reports a name that is not built yet, or the value of one that takes other values.
func (d *decoder) refuseUnbuilt(at hcl.Range, name string, instead string) {
	d.report(at, "Not supported yet", fmt.Sprintf("This version does not support %s; remove it%s.", name, instead))
}

// literal writes a simple value as the file would.
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

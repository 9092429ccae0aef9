package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A block describes the content of a block in the file and where it is stored.
type block struct {
	path     string // dotted, as in the table of unsupported arguments; empty for the file's top level
	attrs    []attr // in the order in which they are read
	blocks   []child
	needs    []string          // required attributes
	either   []string          // exactly one of these attributes is required
	some     []string          // at least one of these attributes is required
	misnamed string            // what is wrong with its label
	requires map[string]string // attributes that are valid only together with another one
	// elsewhere are names that only another block takes, with what to do instead.
	elsewhere map[string]string
}

// An attr is an attribute of a block.
type attr struct {
	name string
	set  setter
}

// A child is a block within a block.
type child struct {
	name string
	// labelled blocks have one label each; others have none. A block may appear once, a labelled one once per label.
	labelled   bool
	unlabelled bool     // a labelled block may also appear once without a label
	labels     []string // the valid labels; empty: any
	repeated   bool     // the block may appear several times
	// holds returns the description of the block for a label.
	holds func(label string) block
	// read, if set, reads the block instead of holds.
	read func(b *hclsyntax.Block)
}

// decoder reads blocks and collects errors.
type decoder struct {
	place
	*source
	eval     *hcl.EvalContext
	channels []string // the labels of the plugin blocks, and webchat
	agents   []string // the labels of the agents
	problems Problems

	readAt    time.Time
	overrides map[string]Override // by their sources
}

func (d *decoder) report(at hcl.Range, summary, detail string) {
	d.problems = append(d.problems, d.problem(at, summary, detail))
}

// decode reads a body according to its description.
func (d *decoder) decode(body *hclsyntax.Body, b block) {
	d.refuseUnknown(body, b)
	for _, a := range b.attrs {
		if found := body.Attributes[a.name]; found != nil {
			d.attribute(found, b.path, a.set)
		}
	}
	for _, name := range b.needs {
		if d.leftOut(body.Attributes[name]) {
			d.report(body.MissingItemRange(), "Missing argument", fmt.Sprintf("%s needs the argument %q.", b.title(), name))
		}
	}
	if b.some != nil && !slices.ContainsFunc(b.some, func(name string) bool { return !d.leftOut(body.Attributes[name]) }) {
		d.report(body.MissingItemRange(), "Missing argument", fmt.Sprintf("%s needs %s.", b.title(), alternatives(b.some)))
	}
	d.checkEither(body, b)
	for _, c := range b.blocks {
		d.children(body, c)
	}
}

// checkEither reports that none, or more than one, of the attributes is there of which there must be one, and those that lack
// the attribute that they belong to.
func (d *decoder) checkEither(body *hclsyntax.Body, b block) {
	for name, other := range b.requires {
		if found := body.Attributes[name]; !d.leftOut(found) && d.leftOut(body.Attributes[other]) {
			d.report(found.NameRange, "Unsuitable argument", fmt.Sprintf("%s takes %q only with %q.", b.title(), name, other))
		}
	}
	var set []string
	for _, name := range b.either {
		if !d.leftOut(body.Attributes[name]) {
			set = append(set, name)
		}
	}
	switch {
	case b.either == nil || len(set) == 1:
	case len(set) == 0:
		d.report(body.MissingItemRange(), "Missing argument", fmt.Sprintf("%s needs one of %s.", b.title(), alternatives(b.either)))
	default:
		d.report(body.Attributes[set[1]].NameRange, "Unsuitable argument",
			fmt.Sprintf("%s takes only one of %s.", b.title(), alternatives(b.either)))
	}
}

// attribute evaluates and stores an attribute.
func (d *decoder) attribute(a *hclsyntax.Attribute, path string, set setter) {
	found, ok := d.evaluate(a.Expr)
	if !ok || found.IsNull() {
		return
	}
	set(value{Value: found, d: d, name: dotted(path, a.Name), expr: a.Expr})
}

// evaluate returns the value of an expression, or reports why it has none.
func (d *decoder) evaluate(expr hclsyntax.Expression) (cty.Value, bool) {
	found, diagnostics := expr.Value(d.eval)
	problems := append(d.fromHCL(diagnostics), d.shellVariables(expr)...)
	d.problems = append(d.problems, problems...)
	return found, len(problems) == 0
}

// leftOut reports whether an attribute is missing or null.
func (d *decoder) leftOut(a *hclsyntax.Attribute) bool {
	if a == nil {
		return true
	}
	found, diagnostics := a.Expr.Value(d.eval)
	return !diagnostics.HasErrors() && found.IsNull()
}

// children reads the blocks of one kind.
func (d *decoder) children(body *hclsyntax.Body, c child) {
	first := map[string]hcl.Range{}
	for _, b := range body.Blocks {
		if b.Type != c.name {
			continue
		}
		label, ok := d.label(b, c)
		if !ok {
			continue
		}
		if earlier, twice := first[label]; twice && !c.repeated {
			header := b.Type
			if label != "" {
				header = fmt.Sprintf("%s %q", b.Type, label)
			}
			d.report(b.DefRange(), "Duplicate block", fmt.Sprintf("There is a block %s at %s:%d:%d already.",
				header, d.name, earlier.Start.Line, earlier.Start.Column))
			continue
		}
		first[label] = b.DefRange()
		if c.read != nil {
			c.read(b)
			continue
		}
		held := c.holds(label)
		if held.misnamed != "" {
			d.report(b.LabelRanges[0], "Unsuitable label", held.misnamed)
		}
		d.decode(b.Body, held)
	}
}

// label returns the block's label, if the number of labels is right and the label is valid.
func (d *decoder) label(b *hclsyntax.Block, c child) (string, bool) {
	switch {
	case (!c.labelled || c.unlabelled) && len(b.Labels) == 0:
		return "", true
	case !c.labelled:
		d.report(b.LabelRanges[0], "Unexpected label", fmt.Sprintf("The block %s has no label.", b.Type))
	case len(b.Labels) == 1 && c.labels != nil && !slices.Contains(c.labels, b.Labels[0]):
		d.report(b.LabelRanges[0], "Unsuitable label", fmt.Sprintf("The label of the block %s must be %s.", b.Type, alternatives(c.labels)))
	case len(b.Labels) == 1:
		return b.Labels[0], true
	default:
		d.report(b.DefRange(), "Wrong number of labels", fmt.Sprintf("The block %s has one label: %s \"name\" { … }.", b.Type, b.Type))
	}
	return "", false
}

// refuseUnknown reports unknown names.
func (d *decoder) refuseUnknown(body *hclsyntax.Body, b block) {
	attrs, blocks := b.attrNames(), b.blockNames()
	for name, found := range body.Attributes {
		if slices.Contains(attrs, name) {
			continue
		}
		hint := suggestion(name, attrs)
		if instead := b.elsewhere[name]; instead != "" {
			hint = " " + instead
		}
		if slices.Contains(blocks, name) {
			hint = fmt.Sprintf(" It is a block: write %s { … }.", name)
		}
		d.problems = append(d.problems, d.nameProblem(found.NameRange, "Unknown argument",
			fmt.Sprintf("%s has no argument %q.%s", b.title(), name, hint)))
	}
	for _, found := range body.Blocks {
		if slices.Contains(blocks, found.Type) {
			continue
		}
		hint := suggestion(found.Type, blocks)
		if instead := b.elsewhere[found.Type]; instead != "" {
			hint = " " + instead
		}
		if slices.Contains(attrs, found.Type) {
			hint = fmt.Sprintf(" It is an argument: write %s = ….", found.Type)
		}
		d.problems = append(d.problems, d.nameProblem(found.TypeRange, "Unknown block",
			fmt.Sprintf("%s has no block %q.%s", b.title(), found.Type, hint)))
	}
}

// title returns the block's name for error messages.
func (b block) title() string {
	if b.path == "" {
		return "The file"
	}
	return "The block " + b.path
}

func (b block) hasAttr(name string) bool {
	return slices.ContainsFunc(b.attrs, func(a attr) bool { return a.name == name })
}

// attrNames returns the block's attributes.
func (b block) attrNames() []string {
	var names []string
	for _, a := range b.attrs {
		names = append(names, a.name)
	}
	return names
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

// blockNames returns the block's child blocks.
func (b block) blockNames() []string {
	var names []string
	for _, c := range b.blocks {
		names = append(names, c.name)
	}
	return names
}

// maxName is the length in bytes from which on names are not compared with others.
const maxName = 64

// suggestion returns a hint with the known name that is closest to a misspelt one, if one is close.
func suggestion(name string, known []string) string {
	best, least := "", maxName
	for _, k := range known {
		if len(name) >= maxName {
			break
		}
		n := distance(name, k)
		shorter := min(len(name), len(k))
		near := n <= max(1, shorter/4) && n < shorter || len(k) > 2 && (strings.HasPrefix(name, k) || strings.HasSuffix(name, k))
		if near && n < least {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", best)
}

// distance returns the number of bytes to insert, delete, replace or swap with the next one to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range b {
		rows[0][j+1] = j + 1
	}
	for i := range len(a) {
		for j := range len(b) {
			replaced := rows[i][j]
			if a[i] != b[j] {
				replaced++
			}
			n := min(replaced, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = n
		}
	}
	return rows[len(a)][len(b)]
}

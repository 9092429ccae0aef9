package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

const (
	// MaxOverrides limits the overrides of a host.
	MaxOverrides = 200
	// maxOverride limits the name and the value of an override, each in bytes.
	maxOverride = 4096
)

// ofTheMachine are names that give access to files or run a program. An owner in a chat does not have what they give; who can write the
// file has.
var ofTheMachine = []string{"agent.context_files", "agent.folders", "agent.worktree_setup"}

// Override is a value that an owner has set while the host ran. It takes precedence over the file.
type Override struct {
	Name  string    `json:"name"`  // such as "access.dm", or "plugin.telegram.access.dm"
	Value string    `json:"value"` // in HCL, without functions; a text may lack its quotes
	By    string    `json:"by"`    // who has set it, as channel:user
	At    time.Time `json:"at"`
}

// Overrides returns the overrides that the config was read with, also those that did not fit.
func (c *Config) Overrides() []Override { return slices.Clone(c.set) }

// SameValues reports whether overrides set the same names to the same values, in any order. Each name occurs once.
func SameValues(one, other []Override) bool {
	return len(one) == len(other) && !slices.ContainsFunc(one, func(o Override) bool {
		return !slices.ContainsFunc(other, func(p Override) bool { return p.Name == o.Name && p.Value == o.Value })
	})
}

// source names the override as the place of a problem.
func (o Override) source() string { return overrideSource + printable(o.Name) }

// overrideSource begins the name of an override as the place of a problem.
const overrideSource = "/config set "

// Canonical returns the override with the name that is its key: one spelling for each name. The error says why there can be no such
// override; whether the value fits, [LoadWith] says.
func (o Override) Canonical() (Override, error) {
	if len(o.Name) > maxOverride || len(o.Value) > maxOverride {
		return o, fmt.Errorf("a name or a value has at most %d bytes", maxOverride)
	}
	steps, err := steps(o.Name)
	if err != nil {
		return o, err
	}
	t, err := locateName(defaults().fileBlock(nil), steps)
	if err != nil {
		return o, err
	}
	o.Name = strings.Join(t.shown, ".")
	switch effect := EffectOf(t.documented); {
	case slices.Contains(ofTheMachine, t.documented):
		return o, fmt.Errorf("%s reaches files or runs a program: write it into the file", o.Name)
	case slices.Contains(secretNames, steps[len(steps)-1]):
		return o, fmt.Errorf("%s may hold a secret: write it into the file", o.Name)
	case effect == EffectPlugin:
		return o, fmt.Errorf("%s is set in the file only; `/reload` then restarts the plugin", o.Name)
	case effect == EffectRestart:
		return o, fmt.Errorf("%s needs a restart of the host: write it into the file", o.Name)
	}
	_, err = o.expression()
	return o, err
}

// expression parses the value.
func (o Override) expression() (hclsyntax.Expression, error) {
	value := strings.TrimSpace(o.Value)
	at := hcl.Range{Filename: o.source(), Start: hcl.InitialPos, End: hcl.InitialPos}
	expr, diagnostics := hclsyntax.ParseExpression([]byte(value), o.source(), hcl.InitialPos)
	structured := value != "" && strings.ContainsRune("\"[{", rune(value[0]))
	switch {
	case diagnostics.HasErrors() && structured:
		return nil, fmt.Errorf("the value cannot be read: %s", printable(diagnostics.Error()))
	case diagnostics.HasErrors():
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(value), SrcRange: at}, nil
	}
	variables := len(expr.Variables()) > 0
	calls := false
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		_, call := node.(*hclsyntax.FunctionCallExpr)
		calls = calls || call
		return nil
	})
	switch {
	case calls:
		return nil, fmt.Errorf("functions work in the file only: write the value itself")
	case variables && structured:
		return nil, fmt.Errorf(`the value cannot be read: quote text, as in ["a", "b"]`)
	case variables:
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(value), SrcRange: at}, nil
	}
	return expr, nil
}

// apply sets the override in a parsed file.
func (o Override) apply(body *hclsyntax.Body) error {
	steps, err := steps(o.Name)
	if err != nil {
		return err
	}
	t, err := locateName(defaults().fileBlock(nil), steps)
	if err != nil {
		return err
	}
	expr, err := o.expression()
	if err != nil {
		return err
	}
	at := hcl.Range{Filename: o.source(), Start: hcl.InitialPos, End: hcl.InitialPos}
	for _, b := range t.blocks {
		inner := b.in(body)
		if inner == nil {
			if b.kind == "plugin" || b.kind == "agent" {
				return fmt.Errorf("the file has no %s %q", b.kind, b.label)
			}
			inner = &hclsyntax.Block{
				Type: b.kind, TypeRange: at, OpenBraceRange: at, CloseBraceRange: at,
				Body: &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: at, EndRange: at},
			}
			if b.label != "" {
				inner.Labels, inner.LabelRanges = []string{b.label}, []hcl.Range{at}
			}
			body.Blocks = append(body.Blocks, inner)
		}
		body = inner.Body
	}
	body.Attributes[t.name] = &hclsyntax.Attribute{Name: t.name, Expr: expr, SrcRange: at, NameRange: at, EqualsRange: at}
	return nil
}

// argument is the one that a name means.
type argument struct {
	blocks     []step
	name       string
	shown      []string // the steps of the name
	documented string   // the name as the documentation has it
}

type step struct{ kind, label string }

// in returns the block in a body, or nil.
func (s step) in(body *hclsyntax.Body) *hclsyntax.Block {
	for _, b := range body.Blocks {
		if b.Type == s.kind && (s.label == "" && len(b.Labels) == 0 || len(b.Labels) == 1 && b.Labels[0] == s.label) {
			return b
		}
	}
	return nil
}

// locateName finds the argument that the steps of a name lead to.
func locateName(b block, steps []string) (t argument, err error) {
	for len(steps) > 1 {
		i := slices.IndexFunc(b.blocks, func(c child) bool { return c.name == steps[0] })
		switch {
		case i < 0:
			return t, fmt.Errorf("%s has no block %q.%s", b.title(), steps[0], suggestion(steps[0], b.blockNames()))
		case b.blocks[i].repeated:
			return t, fmt.Errorf("there may be several blocks %s: write them into the file", steps[0])
		}
		c, found := b.blocks[i], step{kind: steps[0]}
		t.shown, steps = append(t.shown, steps[0]), steps[1:]
		if c.labelled && !(c.unlabelled && len(steps) == 1) {
			if len(steps) == 1 {
				return t, fmt.Errorf("the block %s has a label: write %s.LABEL.%s", c.name, strings.Join(t.shown, "."), steps[0])
			}
			found.label = steps[0]
			t.shown, steps = append(t.shown, shownStep(steps[0])), steps[1:]
		}
		t.blocks = append(t.blocks, found)
		b = c.holds(found.label)
	}
	t.name, t.shown, t.documented = steps[0], append(t.shown, shownStep(steps[0])), dotted(b.path, steps[0])
	switch {
	case b.path == "plugin.config": // only the plugin knows its arguments
	case slices.Contains(b.blockNames(), t.name):
		return t, fmt.Errorf("%s is a block: write %s.NAME", strings.Join(t.shown, "."), strings.Join(t.shown, "."))
	case !b.hasAttr(t.name):
		return t, fmt.Errorf("%s has no argument %q.%s", b.title(), t.name, suggestion(t.name, b.attrNames()))
	}
	return t, nil
}

// shownStep writes a step of a name: in quotes if it holds more than letters, digits, - and _.
func shownStep(s string) string {
	if letterForm().MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// steps splits a name at its dots. A step in quotes may contain dots.
func steps(name string) (list []string, err error) {
	for rest := name; ; {
		var s string
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("the name %s has a quote without an end", printable(name))
			}
			s, _ = strconv.Unquote(quoted)
			rest = rest[len(quoted):]
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			s, rest = rest[:end], rest[end:]
		}
		if s == "" {
			return nil, fmt.Errorf("%s is no name of a setting, such as access.dm", strconv.Quote(printable(name)))
		}
		list = append(list, s)
		if rest == "" {
			return list, nil
		}
		if rest[0] != '.' {
			return nil, fmt.Errorf("%s is no name of a setting, such as access.dm", strconv.Quote(printable(name)))
		}
		rest = rest[1:]
	}
}

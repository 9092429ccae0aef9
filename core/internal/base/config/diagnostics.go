package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// A rewording says in plain words what an error of the HCL library means. It quotes nothing of the file, so it may stand next to
// a secret.
type rewording struct {
	summary, detail string // HCL's, of which the detail may be only the beginning; empty: any
	line            string // a regular expression for the line; empty: any line
	problem, hint   string // what is said instead
}

const doubleQuotes = `Use double quotes, as in "text".`

// rewordings are tried in this order.
var rewordings = []rewording{
	{summary: "Invalid multi-line string", problem: "Missing quote", hint: `The text has no closing " in its line. A line break in a text is written \n.`},
	{
		summary: "Unterminated template string", problem: "Text without an end",
		hint: `A text ends with ", and one that begins with <<NAME ends with the line NAME.`,
	},
	{summary: "Invalid character", detail: "Single quotes", problem: "Wrong quotes", hint: doubleQuotes},
	{summary: "Invalid character", detail: `"Curly quotes"`, problem: "Wrong quotes", hint: doubleQuotes},
	{summary: "Invalid character", detail: "The \"`\" character", problem: "Wrong quotes", hint: doubleQuotes},
	{line: `^\s*[a-z_]+\s+[^\s"={]+\s*\{`, problem: "Missing quotes", hint: `Write the label in double quotes, as in group "-100123" { … }.`},
	{line: `^\s*[a-z_]+\s*:`, problem: "Colon instead of =", hint: "Write name = value for an argument, and name { … } for a block."},
}

// fits reports whether it is about this error.
func (r rewording) fits(d *hcl.Diagnostic, line string) bool {
	like, _ := regexp.MatchString(r.line, line)
	return like && (r.summary == "" || r.summary == d.Summary) && strings.HasPrefix(d.Detail, r.detail)
}

// fromSyntax converts the errors of a file that cannot be parsed. After an error, the parser misunderstands what follows in the line,
// and the rest of the file if a quote is missing: only what is one mistake is reported.
func (s *source) fromSyntax(diagnostics hcl.Diagnostics) Problems {
	var found Problems
	lines := map[int]bool{}
	slices.SortStableFunc(diagnostics, func(a, b *hcl.Diagnostic) int { return start(a).Byte - start(b).Byte })
	for _, d := range diagnostics {
		if at := start(d); d.Severity == hcl.DiagError && !lines[at.Line] {
			lines[at.Line] = true
			found = append(found, s.reworded(d))
		}
		if d.Summary == "Invalid multi-line string" {
			break
		}
	}
	return found
}

func start(d *hcl.Diagnostic) hcl.Pos {
	if d.Subject == nil {
		return hcl.Pos{}
	}
	return d.Subject.Start
}

// reworded converts an error of the syntax.
func (s *source) reworded(d *hcl.Diagnostic) Problem {
	line := s.line(start(d).Line)
	at := hcl.Range{Start: start(d)}
	if d.Summary == "Unclosed configuration block" {
		p := s.problem(at, "Unclosed block", "The block has no closing brace }, or a block within it has none.")
		if header := blockForm().FindStringSubmatch(line); header != nil {
			p.Detail = fmt.Sprintf("The block %s has no closing brace }, or a block within it has none.", header[1])
			p.Snippet = header[1] + " {" // which contains no secret
		}
		return p
	}
	for _, r := range rewordings {
		if r.fits(d, line) {
			return s.problem(at, r.problem, r.hint)
		}
	}
	if s.isQuiet(at.Start.Line) {
		return s.problem(at, d.Summary, "")
	}
	return s.problem(at, d.Summary, d.Detail)
}

// blockForm matches the beginning of a block.
var blockForm = lazyregexp.New(`^\s*([a-z_]+(?: "[A-Za-z0-9_-]{1,32}")?)\s*\{`)

// line returns a line of the file, counted from 1.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return s.lines[n-1]
}

// tellable are HCL's errors whose details quote names, but no value.
var tellable = []string{"Invalid function argument", "Not enough function arguments", "Too many function arguments"}

// fromHCL converts the errors of evaluating an expression.
func (s *source) fromHCL(diagnostics hcl.Diagnostics) Problems {
	var found Problems
	for _, d := range diagnostics {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := hcl.Range{}
		if d.Subject != nil {
			at = *d.Subject
		}
		quiet := s.isQuiet(at.Start.Line)
		summary, detail := d.Summary, d.Detail
		unknown, isUnknown := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d)
		called, isCall := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
		switch {
		case isUnknown:
			detail = noFunction(unknown.CalledFunctionName(), quiet)
		case isCall && called.FunctionCallError() != nil:
			summary, detail = failedCall(called.CalledFunctionName(), called.FunctionCallError(), at.Filename)
		case d.Summary == "Variables not allowed":
			detail = s.noVariable(at, quiet)
		case quiet && !slices.Contains(tellable, d.Summary):
			detail = ""
		}
		found = append(found, s.problem(at, summary, detail))
	}
	return found
}

// failedCall explains why a function of ours has failed.
func failedCall(function string, err error, path string) (summary, detail string) {
	if unset, is := errors.AsType[unsetError](err); is {
		return "Missing environment variable", fmt.Sprintf("%[1]s is not set. Write a line %[1]s=… into the file %[2]s, which the service reads, too; "+
			"or, in a shell, export %[1]s=… before the host's command.", string(unset), VariablesPath(path))
	}
	return "Unsuitable value", function + ": " + err.Error() + "."
}

// functionForm matches names that are shown next to a secret: they look like those of functions.
var functionForm = lazyregexp.New(`^[a-z_]{1,24}$`)

// noFunction explains that there is no function with this name. Quiet means that a secret is near: then the name is shown only if
// it looks like that of a function.
func noFunction(name string, quiet bool) string {
	known := slices.Sorted(maps.Keys(place{}.functions().Functions))
	there := "The functions are " + strings.Join(known[:len(known)-1], ", ") + " and " + known[len(known)-1] + "."
	if quiet && !functionForm().MatchString(name) {
		return there
	}
	return fmt.Sprintf("There is no function %q.%s %s", name, suggestion(name, known), there)
}

// noVariable explains that names outside quotes, and ${NAME} in a text, do not stand for a value.
func (s *source) noVariable(at hcl.Range, quiet bool) string {
	before := strings.TrimRight(string(s.text[:at.Start.Byte]), " ")
	if !strings.HasSuffix(before, "${") {
		return `Quote text, as in "steer"; for yes or no write true or false.` // a secret without quotes is parsed as a variable
	}
	name := shownVariable(string(s.text[at.Start.Byte:at.End.Byte]), quiet)
	return fmt.Sprintf("Write ${env(%q)} for the environment variable, and $${ for the characters ${.", name)
}

// shownForm matches names that are shown next to a secret: they look like those of environment variables.
var shownForm = lazyregexp.New(`^[A-Z]{1,32}(_[A-Z]{1,32}){1,8}$`)

// shownVariable returns the name of an environment variable, or the word NAME if it may be a secret.
func shownVariable(name string, quiet bool) string {
	if !variableName(name) || quiet && !shownForm().MatchString(name) {
		return "NAME"
	}
	return name
}

// dollarForm matches a text that is an environment variable as in a shell.
var dollarForm = lazyregexp.New(`^\$([A-Z_][A-Z0-9_]*)$`)

// shellVariables reports texts such as "$NAME" in an expression, which nothing replaces.
func (s *source) shellVariables(expr hclsyntax.Expression) (found Problems) {
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		text, ok := node.(*hclsyntax.TemplateExpr)
		if !ok || !text.IsStringLiteral() {
			return nil
		}
		written, _ := text.Value(nil)
		if variable := dollarForm().FindStringSubmatch(written.AsString()); variable != nil {
			at := text.SrcRange
			name := shownVariable(variable[1], s.isQuiet(at.Start.Line))
			found = append(found, s.problem(at, "Unsuitable value", fmt.Sprintf("Nothing replaces $ in a text. Write env(%q) for the environment variable.", name)))
		}
		return nil
	})
	return found
}

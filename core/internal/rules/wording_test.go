package rules_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The texts of the host that people read in a chat are in core/internal/base/wording. Elsewhere in core no literal reads like one, but for
// what these lists say.

// notChat are the packages and folders whose sentences are for others, with whom they are for.
var notChat = map[string]string{
	"core/bench":                                "figures",
	"core/cmd":                                  "the operator at the command line: usage and errors stand beside the flags",
	"core/e2e":                                  "tests",
	"core/internal/base/agent":                  "the model: the system prompt",
	"core/internal/claude/client":               "the model, and the CLI",
	"core/internal/claude/exchange":             "words of the CLI that are looked for",
	"core/internal/claude/recordings":           "tests",
	"core/internal/claude/stub":                 "the stand-in for Claude, which plays what a model writes",
	"core/internal/claude/transcript":           "the model",
	"core/internal/base/domain":                 "the model: hints about the previous turn",
	"core/internal/base/metrics":                "the operator: what a metric means",
	"core/internal/operate/exposition":          "the operator: what a metric means",
	"core/internal/base/config":                 "the author of the config file: errors that name file, line and column",
	"core/internal/text/envelope":               "the model",
	"core/internal/media/mediatest":             "tests",
	"core/internal/claude/messagesapi":          "tests",
	"core/internal/operate/page":                "the operator: headers of the page's answers",
	"core/internal/operate/doctor":              "the operator at the command line",
	"core/internal/operate/setup":               "the operator: a config with comments",
	"core/internal/operate/support":             "those who help the operator",
	"core/internal/operate/service":             "the operator at the command line",
	"core/internal/claude/jobs":                 "the model: what has become of its jobs",
	"core/internal/claude/tools":                "the model: tools, and what they return",
	"core/internal/store/postgres/postgrestest": "tests",
	"core/internal/base/wording":                "people in chats: here they are",
	"core/scripts":                              "tests",
	"core/testdata":                             "tests",
}

// notSaid are literals that read like a text for people and are none, with the reason.
var notSaid = map[string]string{
	"[Current message - respond to this]":                                 "a mark that the model is not to forge",
	"[Chat messages since your last reply - for context]":                 "a mark that the model is not to forge",
	"No conversation found":                                               "words of the CLI that are looked for",
	"Model switched to ":                                                  "the model reads about a command",
	"Thinking effort switched to %s.":                                     "the model reads about a command",
	"Permission mode switched to %s.":                                     "the model reads about a command",
	"Files were restored as they were before your last changes: ":         "the model reads about a command",
	". Read them again before you change them.":                           "the model reads about a command",
	`\ No newline at end of file`:                                         "a line of a diff",
	"Use the skill %q (%s)":                                               "the model reads about a command",
	"Go on from where you left off.":                                      "the model reads an answer",
	"This machine has no space for files at the moment. Try again later.": "what a tool returns to the model",
	"Plugin does not start":                                               "the summary of an error in the config",
	"The network cannot be asked":                                         "the summary of an error in the config",
	"Plugin's config cannot be checked":                                   "the summary of an error in the config",
}

// errorCalls and logCalls are the functions whose literals are errors, or lines of the log.
var (
	errorCalls = []string{"errors.New", "fmt.Errorf", "panic", "regexp.MustCompile", "status.Error", "status.Errorf"}
	logCalls   = []string{"Trace", "Debug", "Info", "Warn", "Error"}
)

// forModel are the types whose texts the model reads.
var forModel = []string{"agent.Decision", "verdict"}

// forPeople is the type whose texts people read, as a part of a sentence that may begin anywhere.
const forPeople = "wording.Reason"

var (
	wordPattern = regexp.MustCompile(`[\p{L}]{2,}|\bI\b`)
	sqlPattern  = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|PRAGMA|BEGIN|ATTACH|VACUUM|EXISTS|NOT EXISTS|ORDER|FROM|WHERE|AND|JOIN|LEFT)\b`)
	fullStop    = regexp.MustCompile(`[a-z)][.?](\s|$)`)
)

// isSentence reports whether a text reads like one for people: three words or more of which the first is capitalised, behind a symbol
// perhaps, or four and a full stop. What has no space is none.
func isSentence(text string) bool {
	words := len(wordPattern.FindAllString(text, -1))
	if words < 3 || !strings.Contains(text, " ") || sqlPattern.MatchString(text) {
		return false
	}
	first := strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	capital := first != "" && unicode.IsUpper([]rune(first)[0]) && !strings.HasPrefix(first, strings.ToUpper(strings.Fields(first)[0]))
	return capital || first != "" && strings.HasPrefix(first, "I ") || words >= 4 && fullStop.MatchString(text)
}

// sentences lists the literals of a file that read like texts for people, each as "line: text", but for those that are said to others.
func sentences(file string, source []byte, other func(string) bool) []string {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			if typeName(n.Fun) == forPeople {
				found = append(found, literals(set, n)...)
				return false
			}
			return !callsForOthers(n)
		case *ast.CompositeLit:
			return n.Type == nil || !slices.Contains(forModel, typeName(n.Type))
		case *ast.StructType, *ast.ImportSpec:
			return false
		case *ast.ValueSpec:
			if n.Type != nil && typeName(n.Type) == forPeople {
				found = append(found, literals(set, n)...)
				return false
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && isSentence(text) && !other(text) {
				found = append(found, fmt.Sprintf("%d: %q", set.Position(n.Pos()).Line, text))
			}
		}
		return true
	})
	return found
}

// literals lists the texts of several words within a node.
func literals(set *token.FileSet, node ast.Node) (found []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && len(wordPattern.FindAllString(text, -1)) > 1 {
			found = append(found, fmt.Sprintf("%d: %q", set.Position(lit.Pos()).Line, text))
		}
		return true
	})
	return found
}

// callsForOthers reports whether a call makes an error, or a line of the log.
func callsForOthers(call *ast.CallExpr) bool {
	name := typeName(call.Fun)
	method := name[strings.LastIndexByte(name, '.')+1:]
	return slices.Contains(errorCalls, name) || slices.Contains(logCalls, method) && strings.Contains(name, ".")
}

// typeName is the name of a type or a function as it is written, and that of its last part where the rest is no name.
func typeName(of ast.Expr) string {
	switch x := of.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return typeName(x.X) + "." + x.Sel.Name
	case *ast.CallExpr:
		return typeName(x.Fun)
	default:
		return "?"
	}
}

func TestTextsForPeople(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	other := func(text string) bool {
		used[text] = notSaid[text] != ""
		return used[text]
	}
	goFiles(t, func(name string, source []byte) {
		if !strings.HasPrefix(name, "core/") || strings.HasSuffix(name, "_test.go") {
			return
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if notChat[dir] != "" {
				return
			}
		}
		for _, found := range sentences(name, source, other) {
			t.Errorf("%s:%s is a text for people: give it a name in core/internal/base/wording, or say here why it is none", name, found)
		}
	})
	for text := range notSaid {
		if !used[text] {
			t.Errorf("%q is listed and is in no file", text)
		}
	}
}

// The rule itself, so that a hole in it is seen while the tree happens to be clean.
func TestSentences(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		`var x = "Nothing is running."`:                                1,
		`var x = "✅ Allowed once by "`:                                 1,
		`var x = "**Who may write**\n"`:                                1,
		`var x = " Send it again, then wait for it."`:                  1,
		`func f() { say(fmt.Sprintf("I answer %s in a moment.", n)) }`: 1,
		`var x = errors.New("Nothing is running here")`:                0,
		`func f() { log.Warn("Nothing is running here.") }`:            0,
		`var x = agent.Decision{Message: "It was not allowed."}`:       0,
		`var x = "SELECT id FROM messages WHERE id = ?"`:               0,
		`var x = "the group is not listed"`:                            0,
		`var x = "POST /v1/plugins/restart"`:                           0,
		`const x wording.Reason = wording.PathNoFile`:                  0,
		`const x wording.Reason = "is not a file"`:                     1,
		`var x = wording.Reason(fmt.Sprintf("took %d tries", 3))`:      1,
	} {
		if got := sentences("x.go", []byte("package x\n"+code), func(string) bool { return false }); len(got) != want {
			t.Errorf("%s: found %q, want %d", code, got, want)
		}
	}
}

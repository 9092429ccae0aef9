package wording_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file")

const golden = "testdata/messages.golden"

// All messages stand in one file, for a reviewer to read in one go.
func TestMessages(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, group := range groups {
		b.WriteString("# " + group.name + "\n\n")
		for _, m := range group.messages {
			b.WriteString(m.name + "\n\t" + strings.ReplaceAll(m.text, "\n", "\n\t") + "\n\n")
		}
	}
	got := strings.ReplaceAll(b.String(), "\t\n", "\n")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run the test with -update if this is meant: %s", diff)
	}
}

// Every message is among the samples, so that each one is reviewed.
func TestEveryMessageHasASample(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, group := range groups {
		for _, m := range group.messages {
			shown[m.name] = true
		}
	}
	declared := exported(t)
	for name := range declared {
		if !shown[name] {
			t.Errorf("%s has no sample", name)
		}
	}
	for name := range shown {
		if !declared[name] {
			t.Errorf("the sample %s is of no message", name)
		}
	}
}

// exported are the exported messages of the package: its constants, and its functions and types that make a text.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") || file.Name() == "format.go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			maps.Copy(names, messages(d))
		}
	}
	for _, part := range []string{"", "Asked", "Error"} { // of others
		delete(names, part)
	}
	return names
}

// messages are those that a declaration is of.
func messages(d ast.Decl) map[string]bool {
	names := map[string]bool{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && name == "String" {
			name = d.Recv.List[0].Type.(*ast.Ident).Name
		} else if !returnsText(d) {
			name = ""
		}
		names[exportedName(name)] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || value.Type != nil && !isText(value.Type) || len(value.Values) == 0 {
				continue
			}
			if literal, ok := value.Values[0].(*ast.BasicLit); d.Tok == token.CONST && ok && literal.Kind != token.STRING {
				continue
			}
			for _, name := range value.Names {
				names[exportedName(name.Name)] = true
			}
		}
	}
	return names
}

func exportedName(name string) string {
	if ast.IsExported(name) {
		return name
	}
	return ""
}

func returnsText(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	return isText(f.Type.Results.List[0].Type)
}

func isText(of ast.Expr) bool {
	name, ok := of.(*ast.Ident)
	return ok && (name.Name == "string" || name.Name == "Reason")
}

// unwelcome are words that the messages do without: archaic or unclear ones, and those that stand for what has another name.
var unwelcome = regexp.MustCompile(`(?i)\b(whom|whoever|whomever|whosoever|heed|mend|in vain|unasked|shall|thereof|anew|perhaps|pieces?|(need|for|'s) leave|taken up|let be|life|forthwith|hitherto|henceforth|upon)\b|!`)

const (
	mostWords  = 32  // of a sentence
	mostLetter = 900 // of a message of one paragraph
)

var (
	codeBlock = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\"[^\"]*\"")
	sentence  = regexp.MustCompile(`[.?:;](\s|$)|\n`)
	ended     = regexp.MustCompile("[.?:`\"_…)*]$")
)

// The messages are in one voice: in short sentences, which end, and in plain words.
func TestVoice(t *testing.T) {
	t.Parallel()
	for _, group := range groups {
		for _, m := range group.messages {
			plain := codeBlock.ReplaceAllString(m.text, "X")
			if found := unwelcome.FindString(plain); found != "" {
				t.Errorf("%s says %q: %s", m.name, found, m.text)
			}
			for _, s := range sentence.Split(plain, -1) {
				if words := len(strings.Fields(s)); words > mostWords {
					t.Errorf("%s has a sentence of %d words, more than %d: %s", m.name, words, mostWords, s)
				}
			}
			if strings.Count(plain, "log says") != strings.Count(plain, "The host's log says why.") {
				t.Errorf("%s sends to the log in other words than the rest: %s", m.name, m.text)
			}
			first := []rune(m.text)[:1]
			isSentence := len(strings.Fields(m.text)) > 6 && !strings.Contains(m.text, ": ") && !strings.Contains(m.text, "\n") && strings.ToUpper(string(first)) == string(first)
			if isSentence && !ended.MatchString(m.text) {
				t.Errorf("%s does not end: %s", m.name, m.text)
			}
			if !strings.Contains(m.text, "\n") && len(m.text) > mostLetter {
				t.Errorf("%s is longer than %d: %s", m.name, mostLetter, m.text)
			}
		}
	}
}

// The rules of the voice themselves, so that a hole in them is seen while the messages happen to be good.
func TestUnwelcome(t *testing.T) {
	t.Parallel()
	bad := []string{"Whoever runs clawhost has to look.", "I need an owner's leave.", "Claude runs it unasked.", "Done!", "perhaps later"}
	good := []string{"Leave it.", "I leave the group.", "Ask the operator."}
	if i := slices.IndexFunc(bad, func(s string) bool { return !unwelcome.MatchString(s) }); i >= 0 {
		t.Errorf("not found: %s", bad[i])
	}
	if i := slices.IndexFunc(good, unwelcome.MatchString); i >= 0 {
		t.Errorf("found: %s", good[i])
	}
}

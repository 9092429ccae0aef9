package rules_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vague are package names that say nothing of the package's job.
var vague = []string{"base", "common", "constants", "core", "helper", "helpers", "interfaces", "manager", "misc", "models", "shared", "types", "util", "utils"}

// unfinished are the marks of work left for later.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|HACK)\b`)

// firstWord is the first word of a comment.
var firstWord = regexp.MustCompile(`^\w*`)

// files calls visit for all files of the repository with one of some extensions.
func files(t *testing.T, extensions []string, visit func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir():
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		case !slices.Contains(extensions, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		visit(strings.TrimPrefix(path, root+"/"), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goFiles calls visit for all Go files of the repository that people wrote.
func goFiles(t *testing.T, visit func(path string, source []byte)) {
	t.Helper()
	files(t, []string{".go"}, func(path string, source []byte) {
		if !bytes.HasPrefix(source, []byte("// Code generated")) {
			visit(path, source)
		}
	})
}

// broken lists the house rules that a file breaks, each as "line: what".
func broken(path string, source []byte) []string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	report := func(at token.Pos, what string, args ...any) {
		found = append(found, fmt.Sprintf("%d: %s", files.Position(at).Line, fmt.Sprintf(what, args...)))
	}
	if name := strings.TrimSuffix(file.Name.Name, "_test"); slices.Contains(vague, name) && filepath.ToSlash(filepath.Dir(path)) != name {
		report(file.Name.Pos(), "the package name %q says nothing of its job", name)
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if mark := unfinished.FindString(comment.Text); mark != "" {
				report(comment.Pos(), "a comment says %s: do it or leave it", mark)
			}
		}
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
			report(function.Pos(), "func init is not permitted: construct explicitly")
		}
	}
	if !strings.HasSuffix(path, "_test.go") {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Doc.Text() == "" {
				continue
			}
			if first := firstWord.FindString(function.Doc.Text()); first != function.Name.Name {
				report(function.Pos(), "the comment of %s begins with %q and not with its name", function.Name.Name, first)
			}
		}
	}
	if file.Name.Name != "main" && !strings.HasSuffix(path, "_test.go") {
		undocumented(file, func(name *ast.Ident) { report(name.Pos(), "exported %s has no doc comment", name.Name) })
	}
	clock := importName(file, "time")
	if importName(file, "testing/synctest") != "" {
		return found // in its bubble a sleep is an event of a clock that no one waits for
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "Sleep" {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == clock {
			report(selector.Pos(), "time.Sleep waits for nothing: wait for what happens")
		}
		return true
	})
	return found
}

// undocumented reports the exported names of a file's top level that have no comment of their own or of their group.
func undocumented(file *ast.File, report func(*ast.Ident)) {
	check := func(name *ast.Ident, comments ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil }) {
			report(name)
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
				check(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					check(s.Name, d.Doc, s.Doc)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						check(name, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
}

// receiver is the name of a method's type, without pointer and type parameters.
func receiver(of ast.Expr) *ast.Ident {
	switch x := of.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x
	}
	return ast.NewIdent("_")
}

// importName is the name that a file imports a package by, or "".
func importName(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != `"`+path+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path
	}
	return ""
}

func TestHouseRules(t *testing.T) {
	t.Parallel()
	seen := 0
	goFiles(t, func(path string, source []byte) {
		seen++
		for _, what := range broken(path, source) {
			t.Errorf("%s:%s", path, what)
		}
	})
	if seen < 20 {
		t.Errorf("only %d files were seen", seen)
	}
}

// The rules themselves, so that a hole in them is seen while the tree happens to be clean.
func TestHouseRulesFindWhatTheyForbid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path, source string
		broken       int
	}{
		"clean":           {"core/x/x.go", "package x\n\nimport \"time\"\n\nfunc f() { time.AfterFunc(1, f) }\n", 0},
		"package core":    {"core/core.go", "package core\n", 0},
		"its test":        {"core/core_test.go", "package core_test\n", 0},
		"vague":           {"core/internal/util/util.go", "package util\n", 1},
		"vague test":      {"core/internal/util/util_test.go", "package util_test\n", 1},
		"init":            {"x.go", "package x\n\nfunc init() {}\n", 1},
		"a method init":   {"x.go", "package x\n\ntype y int\n\nfunc (y) init() {}\n", 0},
		"sleep":           {"x.go", "package x\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", 1},
		"renamed sleep":   {"x.go", "package x\n\nimport clock \"time\"\n\nvar f = clock.Sleep\n", 1},
		"a bubble's":      {"x_test.go", "package x\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\nfunc f() { synctest.Wait(); time.Sleep(1) }\n", 0},
		"another's Sleep": {"x.go", "package x\n\nimport \"x/bed\"\n\nfunc f() { bed.Sleep(1) }\n", 0},
		"a mark":          {"x.go", "package x\n\n// " + "TO" + "DO: later.\n", 1},
		"mktemp":          {"x.go", "package x\n\n// like /tmp/x.TODOS\n", 0},
		"undocumented":    {"x.go", "package x\n\nfunc F() {}\n\ntype T struct{}\n\nfunc (*T) M() {}\n\nvar V, W int\n", 5},
		"documented":      {"x.go", "package x\n\n// F.\nfunc F() {}\n\n// T.\ntype T[A any] struct{}\n\n// M.\nfunc (*T[A]) M() {}\n\nvar V int // V.\n", 0},
		"unexported type": {"x.go", "package x\n\ntype t struct{}\n\nfunc (t) M() {}\n", 0},
		"a main package":  {"x.go", "package main\n\nfunc F() {}\n", 0},
		"another's name":  {"x.go", "package x\n\n// g does it.\nfunc f() {}\n", 1},
		"its own name":    {"x.go", "package x\n\n// f does it.\nfunc f() {}\n", 0},
		"a test's words":  {"x_test.go", "package x\n\n// What is, is.\nfunc f() {}\n", 0},
		"no Go":           {"x.go", "pakage x\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := broken(tc.path, []byte(tc.source)); len(got) != tc.broken {
				t.Errorf("broken rules = %q, want %d", got, tc.broken)
			}
		})
	}
}

// TestRegularExpressions compiles what is otherwise compiled when it is first used, and shows that no expression of core is compiled
// at start.
func TestRegularExpressions(t *testing.T) {
	lazy := 0
	goFiles(t, func(path string, source []byte) {
		if !strings.HasPrefix(path, "core/") || strings.HasPrefix(path, "core/bench/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			variables, ok := declaration.(*ast.GenDecl)
			if !ok || variables.Tok != token.VAR {
				continue
			}
			ast.Inspect(variables, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch name := types.ExprString(call.Fun); name {
				case "regexp.MustCompile":
					t.Errorf("%s compiles an expression at start; use lazyregexp.New", path)
				case "lazyregexp.New":
					lazy++
					literal, ok := call.Args[0].(*ast.BasicLit)
					if !ok {
						t.Errorf("%s gives lazyregexp.New something other than a literal", path)
						return false
					}
					expression, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := regexp.Compile(expression); err != nil {
						t.Errorf("%s: %v", path, err)
					}
				}
				return true
			})
		}
	})
	if lazy == 0 {
		t.Error("no expression was found")
	}
}

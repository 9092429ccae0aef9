package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// functions are the names of the functions in the Go files of a folder.
func functions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

// The tests that the README names are in the folders or files that it names.
func TestClaimsAreProven(t *testing.T) {
	t.Parallel()
	proof := regexp.MustCompile("((?:`Test[A-Za-z]+`(?: and )?)+)[^`]*? in ((?:\\[[a-z0-9/]+\\]\\([a-z0-9/_.]+\\)(?: and in )?)+)")
	link := regexp.MustCompile(`\(([^)]+)\)`)
	seen := 0
	for _, r := range rows(readPage(t, "README.md")) {
		for _, found := range proof.FindAllStringSubmatch(r.cells[len(r.cells)-1], -1) {
			for _, test := range span.FindAllStringSubmatch(found[1], -1) {
				for _, in := range link.FindAllStringSubmatch(found[2], -1) {
					seen++
					dir := strings.TrimSuffix(in[1], "/"+filepath.Base(in[1]))
					if filepath.Ext(in[1]) == "" {
						dir = in[1]
					}
					if !functions(t, dir)[test[1]] {
						t.Errorf("README.md:%d: %s has no %s", r.line, in[1], test[1])
					}
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d tests were seen", seen)
	}
}

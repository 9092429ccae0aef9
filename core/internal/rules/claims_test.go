package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// functions are the names of the functions in the Go files of a folder.
func functions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, file := range parsed(t, dir) {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

// declared are the names of the functions, types and methods of a folder, a method with its type: "Handler.Handle".
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := functions(t, dir)
	for _, file := range parsed(t, dir) {
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					found[receiver(d.Recv.List[0].Type).Name+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						found[s.Name.Name] = true
					}
				}
			}
		}
	}
	return found
}

// parsed are the Go files of a folder.
func parsed(t *testing.T, dir string) (found []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, file)
	}
	return found
}

var (
	proof   = regexp.MustCompile("((?:`(?:Test|Fuzz)[A-Za-z]+`(?:, | and )?)+)[^`|]*? in ((?:\\[[a-z0-9/]+\\]\\([a-z0-9/_.]+\\)(?: and in )?)+)")
	aProof  = regexp.MustCompile("`(Test|Fuzz)[A-Za-z]+`")
	address = regexp.MustCompile(`\(([^)]+)\)`)
)

// The tests that the tables of pages name are in the folders or files that they name. Each attack of the page about security has a
// test or a script.
func TestClaimsAreProven(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"README.md": 10, "docs/security.md": 40} {
		text := readPage(t, page)
		if page == "docs/security.md" {
			_, after, found := strings.Cut(text, "\n## What the tests attack\n")
			if text = after; !found {
				t.Fatalf("%s has no table of attacks", page)
			}
		}
		seen := 0
		for _, r := range rows(text) {
			cell := r.cells[len(r.cells)-1]
			if page == "docs/security.md" && r.cells[0] != "attack" && !aProof.MatchString(cell) && !strings.Contains(cell, ".txtar)") {
				t.Errorf("%s: nothing tries %q", page, r.cells[0])
			}
			proven := 0
			for _, found := range proof.FindAllStringSubmatch(cell, -1) {
				for _, test := range span.FindAllStringSubmatch(found[1], -1) {
					proven++
					for _, in := range address.FindAllStringSubmatch(found[2], -1) {
						seen++
						dir := filepath.Join(filepath.Dir(page), in[1])
						if filepath.Ext(dir) != "" {
							dir = filepath.Dir(dir)
						}
						if !functions(t, dir)[test[1]] {
							t.Errorf("%s: %s has no %s", page, in[1], test[1])
						}
					}
				}
			}
			if named := len(aProof.FindAllString(cell, -1)); page == "docs/security.md" && named != proven {
				t.Errorf("%s: %d of %d tests of %q have a place", page, proven, named, r.cells[0])
			}
		}
		if seen < least {
			t.Errorf("%s: only %d tests were seen", page, seen)
		}
	}
}

// The tests that the list of the CLI's faults names exist: on the left those of the end-to-end tests, on the right those with the
// stub.
func TestFaultsAreTested(t *testing.T) {
	t.Parallel()
	real, stub := functions(t, "core/e2e"), map[string]bool{}
	for _, dir := range []string{"", "/cli", "/client", "/exchange", "/protocol", "/stub", "/transcript"} {
		maps.Copy(stub, functions(t, "core/internal/claude"+dir))
	}
	data, err := os.ReadFile(filepath.Join(root, "core/e2e/doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(line, "|")
		if len(columns) != 3 {
			continue
		}
		rows++
		for i, tests := range []map[string]bool{real, stub} {
			for _, name := range strings.FieldsFunc(columns[i+1], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
				if !tests[name] {
					t.Errorf("there is no %s: %s", name, columns[0])
				}
			}
		}
	}
	if rows == 0 {
		t.Error("no fault is listed")
	}
}

// The functions that the page about the architecture names on the way of a message exist.
func TestTheLifeOfAMessageIsTrue(t *testing.T) {
	t.Parallel()
	const page = "docs/architecture.md"
	_, text, found := strings.Cut(readPage(t, page), "\n## Life of a message\n")
	text, _, ends := strings.Cut(text, "\n## ")
	if !found || !ends {
		t.Fatalf("%s has no section about the life of a message", page)
	}
	seen := 0
	for _, found := range regexp.MustCompile("`([a-z]+(?:/[a-z]+)*)\\.([A-Za-z]+(?:\\.[A-Za-z]+)?)`").FindAllStringSubmatch(text, -1) {
		dir := found[1]
		if at := slices.IndexFunc(layers, func(layer string) bool { return strings.HasSuffix("/"+layer, "/"+dir) }); at >= 0 {
			dir = "core/internal/" + layers[at]
		}
		if seen++; !declared(t, dir)[found[2]] {
			t.Errorf("%s: the package %s has no %s", page, found[1], found[2])
		}
	}
	if seen < 20 {
		t.Errorf("only %d functions were seen", seen)
	}
}

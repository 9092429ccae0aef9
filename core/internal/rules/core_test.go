package rules_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The bounds of package core, which constructs the host and orders its steps, and decides nothing; and of callbacks in all of core,
// where an interface or a return value is better. They may be lowered, never raised.
const (
	maxCoreLines   = 700 // of core/*.go without tests
	maxHostMethods = 16
	maxFuncFields  = 34 // fields of structs of the type of a function, without tests and what only tests use
)

func TestCoreConstructs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/core/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	lines, methods := 0, 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
		methods += methodsOf(parse(t, path), "Host")
	}
	if lines > maxCoreLines {
		t.Errorf("core/*.go has %d lines, at most %d are allowed: what decides belongs into a package of core/internal", lines, maxCoreLines)
	}
	if methods > maxHostMethods {
		t.Errorf("core.Host has %d methods, at most %d are allowed", methods, maxHostMethods)
	}
}

func TestCallbacksAreFew(t *testing.T) {
	t.Parallel()
	var fields []string
	skipped := []string{"bench", "internal/claude/stub"}
	for _, name := range testSupport {
		skipped = append(skipped, "internal/"+name)
	}
	err := filepath.WalkDir(root+"/core", func(path string, entry fs.DirEntry, err error) error {
		below, _ := filepath.Rel(root+"/core", path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || slices.Contains(skipped, filepath.ToSlash(below))):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			for _, field := range funcFields(parse(t, path)) {
				fields = append(fields, below+": "+field)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(fields) > maxFuncFields {
		t.Errorf("%d fields hold functions, at most %d are allowed: declare an interface where it is used, or return a value\n%s",
			len(fields), maxFuncFields, strings.Join(fields, "\n"))
	}
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// methodsOf counts the methods of a type in a file.
func methodsOf(file *ast.File, name string) (n int) {
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil && receiver(f.Recv.List[0].Type).Name == name {
			n++
		}
	}
	return n
}

// funcFields are the names of the fields of a file's structs that hold functions.
func funcFields(file *ast.File) (names []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		fields, ok := node.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range fields.Fields.List {
			if _, ok := field.Type.(*ast.FuncType); !ok {
				continue
			}
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}

// The rules themselves, so that a hole in them is seen.
func TestCoreIsCounted(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "host.go", `package core
type Host struct { a, b func(); c func(int) error; d []func(); e struct{ f func() } }
func (h *Host) one() {}
func (Host) two() {}
func (other) three() {}
func four() {}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if n := methodsOf(file, "Host"); n != 2 {
		t.Errorf("%d methods were counted, want 2", n)
	}
	if got := funcFields(file); !slices.Equal(got, []string{"a", "b", "c", "f"}) {
		t.Errorf("fields %q were found", got)
	}
}

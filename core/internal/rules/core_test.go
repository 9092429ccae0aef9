package rules_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
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
	maxFuncFields  = 21 // fields of structs that hold functions, without tests, what only tests use, and the ends of contexts
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
	files := map[string]*ast.File{} // by their paths
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
			files[filepath.ToSlash(below)] = parse(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range files {
		for _, name := range funcTypes(file) {
			named[file.Name.Name+"."+name] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for _, field := range funcFields(files[path], named) {
			fields = append(fields, path+": "+field)
		}
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

// funcTypes are the names of a file's types that are functions.
func funcTypes(file *ast.File) (names []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.FuncType); ok {
				names = append(names, spec.Name.Name)
			}
		}
		return true
	})
	return names
}

// funcFields are the names of the fields of a file's structs that hold functions, also in lists and maps. Named are the types that are
// functions, with their packages.
func funcFields(file *ast.File, named map[string]bool) (names []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		fields, ok := node.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range fields.Fields.List {
			if !holdsFunc(field.Type, file.Name.Name, named) {
				continue
			}
			if len(field.Names) == 0 {
				names = append(names, "embedded")
			}
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}

func holdsFunc(of ast.Expr, pkg string, named map[string]bool) (found bool) {
	ast.Inspect(of, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.StructType, *ast.InterfaceType:
			return false // its fields are counted by themselves; its methods are none
		case *ast.FuncType:
			found = true
			return false
		case *ast.Ident:
			found = found || named[pkg+"."+node.Name]
		case *ast.SelectorExpr:
			of, _ := node.X.(*ast.Ident)
			found = found || of != nil && named[of.Name+"."+node.Sel.Name]
			return false
		}
		return true
	})
	return found
}

// The rules themselves, so that a hole in them is seen.
func TestCoreIsCounted(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "host.go", `package core
type Host struct { a, b func(); c func(int) error; d []func(); e struct{ f func() }; g named; h map[string]named; i context.CancelFunc; k other.Named; j interface{ l(func()) } }
type named func()
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
	if got := funcTypes(file); !slices.Equal(got, []string{"named"}) {
		t.Errorf("types %q were found", got)
	}
	named := map[string]bool{"core.named": true, "other.Named": true}
	if got := funcFields(file, named); !slices.Equal(got, []string{"a", "b", "c", "d", "g", "h", "k", "f"}) {
		t.Errorf("fields %q were found", got)
	}
}

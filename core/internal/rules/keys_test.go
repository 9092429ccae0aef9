package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// keyFile declares the kinds of keys and is the only file that converts a text to the id of an event.
const keyFile = "core/internal/base/domain/key.go"

// keyKinds lists the kinds of keys.
func keyKinds(t *testing.T) (kinds []string) {
	t.Helper()
	for _, declaration := range parse(t, root+"/"+keyFile).Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name != "_" {
					kinds = append(kinds, name.Name)
				}
			}
		}
	}
	return kinds
}

// keyUses lists the kinds of keys that a file names, each once, and how it makes keys without one.
func keyUses(file *ast.File, kinds []string) (used, made []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			name, found := strings.CutPrefix(types.ExprString(x), "domain.")
			if found && slices.Contains(kinds, name) && !slices.Contains(used, name) {
				used = append(used, name)
			}
		case *ast.CallExpr:
			if to := types.ExprString(x.Fun); to == "chat.EventID" || to == "domain.KeyKind" {
				made = append(made, types.ExprString(x))
			}
		}
		return true
	})
	return used, made
}

// Each kind of key has one user, and whatever is done once has a key of some kind.
func TestKeysHaveOneUser(t *testing.T) {
	t.Parallel()
	kinds := keyKinds(t)
	users := map[string][]string{}
	goFiles(t, func(path string, source []byte) {
		if !strings.HasPrefix(path, "core/internal/") || strings.HasSuffix(path, "_test.go") || path == keyFile {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		used, made := keyUses(file, kinds)
		for _, kind := range used {
			users[kind] = append(users[kind], path)
		}
		for _, what := range made {
			t.Errorf("%s has %s: make a domain.Key of a kind in %s", path, what, keyFile)
		}
	})
	for _, kind := range kinds {
		if len(users[kind]) != 1 {
			t.Errorf("%s is used by %v, want one file", kind, users[kind])
		}
	}
	if len(kinds) < 20 {
		t.Errorf("only %d kinds of keys were found", len(kinds))
	}
}

func TestUsesOfKeysAreFound(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
var a, b = domain.KeyOne.Of(1), domain.KeyOne.Of(2)
var c = domain.KeyOther
var d = chat.EventID("one:" + a)
var e = domain.KeyKind(7).Of(1)`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	used, made := keyUses(file, []string{"KeyOne", "KeyTwo"})
	if !slices.Equal(used, []string{"KeyOne"}) || !slices.Equal(made, []string{`chat.EventID("one:" + a)`, "domain.KeyKind(7)"}) {
		t.Errorf("found %q and %q", used, made)
	}
}

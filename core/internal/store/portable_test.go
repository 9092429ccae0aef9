package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What SQL selects by is a column, and so it is found by an index, and in PostgreSQL by the same words: no pattern looks into the
// JSON of a row, or into several values that are packed in one.
func TestNoQueryLooksIntoAText(t *testing.T) {
	t.Parallel()
	here, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`(?i)\b(LIKE|ILIKE|GLOB|REGEXP|MATCH|SIMILAR|SUBSTR|SUBSTRING|INSTR|POSITION)\b|json|->`)
	statement := regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND|CASE)\b`)
	looked := 0
	for _, path := range append(here, below...) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "sqlite/") || strings.HasPrefix(path, "storetest/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING || !statement.MatchString(text.Value) {
				return true
			}
			looked++
			if found := pattern.FindString(text.Value); found != "" {
				t.Errorf("%s: %s in %s", path, found, text.Value)
			}
			return true
		})
	}
	if looked < 100 {
		t.Errorf("only %d texts of SQL were looked at", looked)
	}
}

package store_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/store"
)

var update = flag.Bool("update", false, "write testdata/schema.txt")

// The migrations together make the schema that testdata/schema.txt shows on one page.
func TestSchema(t *testing.T) {
	t.Parallel()
	store.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, path)
	defer db.Close()
	rows, err := db.Query(`SELECT m.name, c.name, c.type, c."notnull", c.pk, COALESCE(c.dflt_value, '')
		FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT IN ('sqlite_sequence') ORDER BY m.name, c.cid`)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	columns := map[string][]string{}
	for rows.Next() {
		var table, name, kind, value string
		var required bool
		var key int
		if err := rows.Scan(&table, &name, &kind, &required, &key, &value); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("  %-15s %-7s", name, kind)
		if !required && key == 0 {
			line += " null"
		}
		if value != "" {
			line += " default " + value
		}
		if key > 0 {
			line += fmt.Sprintf(" key %d", key)
		}
		if len(columns[table]) == 0 {
			tables = append(tables, table)
		}
		columns[table] = append(columns[table], strings.TrimRight(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString("The schema of the database, as the migrations make it. `go test ./core/internal/store -run TestSchema -update` writes it.\n")
	for _, table := range tables {
		fmt.Fprintf(&page, "\n%s\n%s\n", table, strings.Join(columns[table], "\n"))
		indexes, err := db.Query(`SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL ORDER BY name`, table)
		if err != nil {
			t.Fatal(err)
		}
		for indexes.Next() {
			var index string
			if err := indexes.Scan(&index); err != nil {
				t.Fatal(err)
			}
			page.WriteString("  " + strings.TrimPrefix(strings.Join(strings.Fields(index), " "), "CREATE ") + "\n")
		}
		if err := indexes.Err(); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/schema.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page.String()); diff != "" {
		t.Errorf("%s is not current; -update writes it:\n%s", golden, diff)
	}
}

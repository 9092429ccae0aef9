package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// Table describes a table of the database.
type Table struct {
	Name    string
	Columns []Column
	Key     []string // the columns of its primary key, in order; empty: it has none
}

// Column is a column of a table. Kind is TEXT, BIGINT, or BYTES.
type Column struct{ Name, Kind string }

// The kinds of columns.
const (
	Text   = "TEXT"
	Number = "BIGINT"
	Bytes  = "BYTES"
)

// ReadTables implements the method Tables of an engine: query returns the name of a table, that of a column, its type, and its place in the
// primary key, from one on, or zero, in order. A type that is not among the kinds is a number.
func ReadTables(read Querier, query string, kinds map[string]string) (tables []Table, schema int, err error) {
	if err := read.Row("SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &schema); err != nil {
		return nil, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	places := map[string]int{} // of the columns of the last table in its key
	err = read.Each(query, nil, func(rows Rows) error {
		var table, column, kind string
		var place int
		if err := rows.Scan(&table, &column, &kind, &place); err != nil {
			return err
		}
		if len(tables) == 0 || tables[len(tables)-1].Name != table {
			tables = append(tables, Table{Name: table})
			clear(places)
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, Column{Name: column, Kind: cmp.Or(kinds[kind], Number)})
		if place > 0 {
			places[column] = place
			last.Key = append(last.Key, column)
			slices.SortFunc(last.Key, func(a, b string) int { return cmp.Compare(places[a], places[b]) })
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list the tables: %w", err)
	}
	return tables, schema, nil
}

package engine

import (
	"cmp"
	"fmt"
)

// Table describes a table of the database.
type Table struct {
	Name    string
	Columns []Column
}

// Column is a column of a table. Kind is TEXT, BIGINT, or BYTES.
type Column struct{ Name, Kind string }

// The kinds of columns.
const (
	Text   = "TEXT"
	Number = "BIGINT"
	Bytes  = "BYTES"
)

// ReadTables implements the method Tables of an engine: query returns the name of a table, that of a column and its type, in order. A type
// that is not among the kinds is a number.
func ReadTables(read Querier, query string, kinds map[string]string) (tables []Table, schema int, err error) {
	if err := read.Row("SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &schema); err != nil {
		return nil, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	err = read.Each(query, nil, func(rows Rows) error {
		var table, column, kind string
		if err := rows.Scan(&table, &column, &kind); err != nil {
			return err
		}
		if len(tables) == 0 || tables[len(tables)-1].Name != table {
			tables = append(tables, Table{Name: table})
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, Column{Name: column, Kind: cmp.Or(kinds[kind], Number)})
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list the tables: %w", err)
	}
	return tables, schema, nil
}

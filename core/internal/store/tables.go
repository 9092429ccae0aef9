package store

import (
	"context"
	"fmt"
)

// maxTables bounds the tables that are counted.
const maxTables = 200

// Table is a table of the database, without its content.
type Table struct {
	Name   string `json:"name"`
	Schema string `json:"schema"`
	Rows   int64  `json:"rows"`
}

// Tables returns the tables with their numbers of rows, and the version of the schema. It counts until ctx ends.
func (s *Store) Tables(ctx context.Context) (tables []Table, version int, err error) {
	read := s.view(ctx)
	if err := read.row("SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &version); err != nil {
		return nil, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	err = read.each("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'sqlite_stat1') ORDER BY name LIMIT ?1 + 0",
		[]any{maxTables}, func(rows rows) error {
			var t Table
			err := rows.Scan(&t.Name, &t.Schema)
			tables = append(tables, t)
			return err
		})
	if err != nil {
		return nil, 0, fmt.Errorf("list the tables: %w", err)
	}
	for i := range tables {
		if err := read.row(`SELECT COUNT(*) FROM "`+tables[i].Name+`"`, nil, &tables[i].Rows); err != nil {
			return nil, 0, fmt.Errorf("count the rows of a table: %w", err)
		}
	}
	return tables, version, nil
}

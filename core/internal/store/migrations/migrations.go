// Package migrations has the schema of the store: numbered SQL files, each of which runs once. A released file never changes.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql postgres/*.sql
var files embed.FS

// SQLite returns the steps from an empty database of SQLite to the current schema, in the order of the numbers at the beginning of their
// names: 1, 2, 3 and so on.
func SQLite() fs.FS { return files }

// Postgres returns the steps from an empty database of PostgreSQL to the same schema. They begin with the schema of one number.
func Postgres() fs.FS {
	folder, err := fs.Sub(files, "postgres")
	if err != nil {
		panic(err) // the name is right
	}
	return folder
}

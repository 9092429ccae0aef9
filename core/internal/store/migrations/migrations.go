// Package migrations has the schema of the store: numbered SQL files, each of which runs once. A released file never changes.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql postgres/*.sql
var files embed.FS

// SQLite returns the migrations from an empty database of SQLite to the current schema. The numbers at the beginning of their names are
// their order: 1, 2, 3 and so on.
func SQLite() fs.FS { return files }

// Postgres returns the migrations from an empty database of PostgreSQL to the same schema. The first one makes the schema that its number
// stands for as a whole.
func Postgres() fs.FS {
	folder, err := fs.Sub(files, "postgres")
	if err != nil {
		panic(err) // the name is right
	}
	return folder
}

// Current returns the number of the schema to which the migrations lead.
func Current() (number int) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, e := range entries {
		if !e.IsDir() {
			number++
		}
	}
	return number
}
